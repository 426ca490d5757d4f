//! Limits what a workload cluster's API server may send: an answer, a list and each line of a
//! watch. Otherwise a server that never ends one would exhaust the memory. It also records signs of
//! life. [`Pace`] limits how often a watch may restart. The lines of a watch are its documents, in
//! any format; see [`Documents`].

use std::collections::HashMap;
use std::error::Error;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, Uri};
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::{Layer, Service};

use super::documents::Documents;
use super::pace::Pace;
use super::pulse::Pulse;
use crate::clock::now;
use crate::too_long::TooLong;

/// The longest answer, in bytes. Lists come in pages of 100 objects, and a Node with all its images
/// has 30 KiB.
const ANSWER: usize = 16 << 20;

/// The longest line of a watch, which is one object. etcd accepts none over 1.5 MiB, and JSON is
/// longer.
const LINE: usize = 8 << 20;

/// The longest list, in bytes, over all its pages: 17,000 Nodes of 30 KiB.
const LIST: usize = 512 << 20;

/// The approximate maximum of values in one answer or line. A page of Nodes with all fields has
/// 300,000. A parser takes up to 64 bytes for each.
const VALUES: usize = 1_000_000;

/// The maximum of objects in one answer, because a server may send more than it is asked for.
const OBJECTS: usize = 10_000;

/// The bytes of an answer that each cluster may have in progress without a reservation. A page of
/// Nodes takes 3 MiB.
const FREE: usize = 4 << 20;

/// The unit of reservation, in bytes.
const PIECE: usize = 1 << 20;

/// The memory for answers longer than [`FREE`]. All clusters share it, no matter how many servers
/// lie at once.
#[derive(Clone, Debug)]
pub(super) struct Room(Arc<Semaphore>);

impl Room {
    /// A pool of this many units.
    fn of(pieces: usize) -> Self {
        Self(Arc::new(Semaphore::new(pieces)))
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::of(64)
    }
}

/// Limits every answer, and counts each piece of one as a sign of life.
#[derive(Clone, Debug)]
pub(super) struct Cap {
    pulse: Arc<Pulse>,
    pace: Arc<Pace>,
    lists: Arc<Lists>,
    room: Room,
}

impl Cap {
    /// All clusters share the pool.
    pub(super) fn new(pulse: Arc<Pulse>, room: Room) -> Self {
        Self {
            pulse,
            pace: Arc::default(),
            lists: Arc::default(),
            room,
        }
    }
}

/// How many bytes each list has taken since its first page, by its path.
#[derive(Debug, Default)]
struct Lists(Mutex<HashMap<String, Arc<AtomicUsize>>>);

impl Lists {
    /// The list whose page a request asks for. Other requests have none.
    fn of(&self, uri: &Uri) -> Option<Arc<AtomicUsize>> {
        let query = uri.query().unwrap_or_default();
        let has = |key: &str| query.split('&').any(|pair| pair.starts_with(key));
        let is_first = !has("continue=");
        let is_page = has("limit=") || !is_first;
        is_page.then(|| {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let list = all.entry(uri.path().to_owned()).or_default();
            if is_first {
                *list = Arc::default();
            }
            Arc::clone(list)
        })
    }
}

impl<S> Layer<S> for Cap {
    type Service = Capped<S>;

    fn layer(&self, inner: S) -> Capped<S> {
        Capped {
            inner,
            cap: self.clone(),
        }
    }
}

/// A service whose answers are limited.
#[derive(Clone, Debug)]
pub(super) struct Capped<S> {
    inner: S,
    cap: Cap,
}

impl<S, A, B> Service<Request<A>> for Capped<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: 'static,
    B: 'static,
{
    type Response = Response<CappedBody<B>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let rule = Rule::of(request.uri());
        let wait = match rule {
            Rule::Whole => Duration::ZERO,
            Rule::Lines => self.cap.pace.wait(request.uri().path(), Instant::now()),
        };
        let cap = self.cap.clone();
        let list = match rule {
            Rule::Whole => cap.lists.of(request.uri()),
            Rule::Lines => None,
        };
        // The request is sent only when this is awaited.
        let answer = self.inner.call(request);
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            let answer = answer.await?;
            cap.pulse.beat(now());
            Ok(answer.map(|body| CappedBody::new(body, rule, list, &cap)))
        })
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The whole answer.
    Whole,
    /// Each line.
    Lines,
}

impl Rule {
    fn of(uri: &Uri) -> Self {
        let mut pairs = uri.query().unwrap_or_default().split('&');
        if pairs.any(|pair| matches!(pair, "watch=true" | "watch=1")) {
            Self::Lines
        } else {
            Self::Whole
        }
    }

    const fn limit(self) -> usize {
        match self {
            Self::Whole => ANSWER,
            Self::Lines => LINE,
        }
    }
}

/// A body of limited length.
#[derive(Debug)]
pub(super) struct CappedBody<B> {
    inner: B,
    rule: Rule,
    read: usize,
    documents: Documents,
    list: Option<Arc<AtomicUsize>>,
    room: Room,
    taken: Option<OwnedSemaphorePermit>,
    pulse: Arc<Pulse>,
}

impl<B> CappedBody<B> {
    fn new(inner: B, rule: Rule, list: Option<Arc<AtomicUsize>>, cap: &Cap) -> Self {
        Self {
            inner,
            rule,
            read: 0,
            documents: Documents::default(),
            list,
            room: cap.room.clone(),
            taken: None,
            pulse: Arc::clone(&cap.pulse),
        }
    }

    fn laid_out(&mut self, data: Bytes) -> Bytes {
        match self.rule {
            Rule::Whole => {
                self.documents.look(&data);
                data
            }
            Rule::Lines => self.documents.lines(&data).into(),
        }
    }

    fn count(&mut self, data: &[u8]) -> Result<(), TooLong> {
        match (self.rule, data.iter().rposition(|byte| *byte == b'\n')) {
            (Rule::Lines, Some(end)) => {
                self.read = data.len() - end - 1;
                self.taken = None;
            }
            (Rule::Lines, None) | (Rule::Whole, _) => self.read += data.len(),
        }
        self.judge()?;
        self.count_list(data.len())?;
        self.take_room()
    }

    const fn judge(&self) -> Result<(), TooLong> {
        let (limit, held) = (self.rule.limit(), self.documents.held());
        if self.read > limit {
            return Err(TooLong::Bytes(limit));
        }
        if held.values > VALUES {
            return Err(TooLong::Values(VALUES));
        }
        if held.objects > OBJECTS && matches!(self.rule, Rule::Whole) {
            return Err(TooLong::Objects(OBJECTS));
        }
        Ok(())
    }

    fn count_list(&self, more: usize) -> Result<(), TooLong> {
        let list = self.list.as_ref();
        let before = list.map_or(0, |list| list.fetch_add(more, Ordering::Relaxed));
        if before.saturating_add(more) > LIST {
            return Err(TooLong::List(LIST));
        }
        Ok(())
    }

    /// Reserves memory for what exceeds [`FREE`], and releases it at the end of the answer or line.
    fn take_room(&mut self) -> Result<(), TooLong> {
        let wanted = self.read.saturating_sub(FREE).div_ceil(PIECE);
        let taken = self
            .taken
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let more = u32::try_from(wanted.saturating_sub(taken)).unwrap_or(u32::MAX);
        if more == 0 {
            return Ok(());
        }
        let room = Arc::clone(&self.room.0).try_acquire_many_owned(more);
        let room = room.map_err(|_| TooLong::Room)?;
        match &mut self.taken {
            Some(taken) => taken.merge(room),
            none => *none = Some(room),
        }
        Ok(())
    }
}

impl<B> Body for CappedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        polled.map(|frame| {
            let frame = match frame? {
                Ok(frame) => frame,
                Err(error) => return Some(Err(error.into())),
            };
            self.pulse.beat(now());
            let frame = frame.map_data(|data| self.laid_out(data));
            let data = frame.data_ref().map_or(&[][..], |data| &data[..]);
            Some(match self.count(data) {
                Ok(()) => Ok(frame),
                Err(error) => Err(error.into()),
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.rule {
            Rule::Whole => self.inner.size_hint(),
            Rule::Lines => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
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
}
