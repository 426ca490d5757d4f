use super::*;
use http_body_util::{BodyExt, Full, StreamBody};

fn cap() -> Cap {
    Cap::new(Arc::default(), Room::default())
}

fn capped<B>(body: B, rule: Rule) -> CappedBody<B> {
    CappedBody::new(body, rule, None, &cap())
}

/// Reads this many bytes, in pieces with this ending.
async fn read(rule: Rule, bytes: usize, end: &'static str) -> Result<usize, String> {
    let piece = format!("{}{end}", "x".repeat((1 << 20) - end.len()));
    let pieces = std::iter::repeat_n(Bytes::from(piece), bytes >> 20);
    let frames = pieces.map(|piece| Ok::<_, TooLong>(Frame::data(piece)));
    let stream = StreamBody::new(futures::stream::iter(frames));
    let mut body = capped(stream, rule);
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        read += frame.data_ref().map_or(0, Bytes::len);
    }
    Ok(read)
}

#[tokio::test]
async fn capped_body_is_read_to_its_limit_and_fails_past_it() {
    assert_eq!(read(Rule::Whole, ANSWER, "").await, Ok(ANSWER));
    for end in ["", "\n"] {
        let error = read(Rule::Whole, ANSWER + (1 << 20), end).await;
        assert_eq!(
            error,
            Err(format!("its answer is longer than {ANSWER} bytes"))
        );
    }
}

#[tokio::test]
async fn a_watch_may_go_on_for_as_long_as_its_lines_end() {
    assert_eq!(
        read(Rule::Lines, ANSWER + (1 << 20), "\n").await,
        Ok(ANSWER + (1 << 20))
    );
    assert!(read(Rule::Lines, 2 * LINE, "").await.is_err());
}

#[tokio::test]
async fn capped_body_splits_watches_into_lines_and_copies_the_rest() {
    for (rule, out) in [(Rule::Lines, "{}\n[]\n"), (Rule::Whole, "{\n}[\n]")] {
        let indented = Full::from(Bytes::from_static(b"{\n}[\n]"));
        let body = capped(indented, rule);
        let read = body.collect().await.expect("it is short").to_bytes();
        assert_eq!(read, out);
    }
}

#[tokio::test]
async fn each_piece_of_an_answer_is_a_sign_of_life() {
    let (pulse, begun) = (Arc::new(Pulse::default()), now());
    let piece = Full::from(Bytes::from_static(b"{}"));
    let cap = Cap::new(Arc::clone(&pulse), Room::default());
    let mut body = CappedBody::new(piece, Rule::Lines, None, &cap);
    assert_eq!(pulse.last(), None);
    assert!(body.frame().await.is_some());
    assert!(pulse.last() >= Some(begun));
}

/// Why a text is rejected, when it comes in pieces of 1 KiB.
async fn refused(
    text: String,
    rule: Rule,
    list: Option<Arc<AtomicUsize>>,
    cap: &Cap,
) -> Option<TooLong> {
    let pieces: Vec<Bytes> = text
        .as_bytes()
        .chunks(1024)
        .map(Bytes::copy_from_slice)
        .collect();
    let frames = pieces
        .into_iter()
        .map(|piece| Ok::<_, TooLong>(Frame::data(piece)));
    let mut body = CappedBody::new(
        StreamBody::new(futures::stream::iter(frames)),
        rule,
        list,
        cap,
    );
    while let Some(frame) = body.frame().await {
        if let Err(error) = frame {
            return TooLong::among(&*error).copied();
        }
    }
    None
}

#[tokio::test]
async fn small_values_without_end_are_given_up() {
    for rule in [Rule::Whole, Rule::Lines] {
        let text = format!("{{\"a\": [{}", "0,".repeat(VALUES));
        let why = refused(text, rule, None, &cap()).await;
        assert_eq!(why, Some(TooLong::Values(VALUES)), "{rule:?}");
    }
}

#[tokio::test]
async fn a_page_of_small_objects_without_end_is_given_up() {
    let text = format!("{{\"items\": [{}", "{},".repeat(OBJECTS + 1));
    let why = refused(text, Rule::Whole, None, &cap()).await;
    assert_eq!(why, Some(TooLong::Objects(OBJECTS)));
}

#[tokio::test]
async fn endless_pages_are_refused_and_a_new_list_starts_at_zero() {
    let (cap, page) = (cap(), "x".repeat(FREE));
    let list = |query: &str| {
        let uri = format!("/api/v1/nodes?{query}");
        cap.lists.of(&uri.parse().expect("it is one"))
    };
    assert!(list("watch=1").is_none(), "it is no list");
    let mut why = refused(page.clone(), Rule::Whole, list("limit=1"), &cap).await;
    let mut pages = 1;
    while why.is_none() {
        let next = list("limit=1&continue=x");
        why = refused(page.clone(), Rule::Whole, next, &cap).await;
        pages += 1;
    }
    assert_eq!((why, pages), (Some(TooLong::List(LIST)), LIST / FREE + 1));
    let first_page = list("limit=1");
    assert_eq!(refused(page, Rule::Whole, first_page, &cap).await, None);
}

#[tokio::test]
async fn long_answers_share_the_room_and_usual_ones_need_none() {
    let cap = Cap::new(Arc::default(), Room::of(1));
    let long = |bytes: usize| refused("x".repeat(bytes), Rule::Whole, None, &cap);
    assert_eq!(long(FREE + PIECE).await, None);
    assert_eq!(long(FREE + PIECE + 1).await, Some(TooLong::Room));
    let _others = cap.room.0.acquire().await.expect("it is never closed");
    assert_eq!(long(FREE).await, None);
    assert_eq!(long(FREE + 1).await, Some(TooLong::Room));
}

#[tokio::test]
async fn a_line_gives_its_room_back_with_its_end() {
    let cap = Cap::new(Arc::default(), Room::of(1));
    let line = "x".repeat(FREE + PIECE) + "\n";
    assert_eq!(refused(line.repeat(3), Rule::Lines, None, &cap).await, None);
}

#[test]
fn a_watch_is_known_by_its_query() {
    let rule = |uri: &'static str| Rule::of(&Uri::from_static(uri));
    assert_eq!(
        rule("/api/v1/nodes?&watch=true&timeoutSeconds=1"),
        Rule::Lines
    );
    assert_eq!(rule("/api/v1/nodes?&limit=500"), Rule::Whole);
    assert_eq!(rule("/api/v1/nodes/watch"), Rule::Whole);
}
