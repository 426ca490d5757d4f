//! How much a workload cluster's API server may say: an answer has an end, and so has each line of a watch. Whoever never ends it would
//! fill our memory. How often it may have a watch begun: see [`Pace`]. And that it says something at all. A watch's lines are its documents,
//! however they are laid out; see [`Documents`].

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, Uri};
use hyper::body::{Body, Frame, SizeHint};
use thiserror::Error;
use tower::{Layer, Service};

use super::documents::Documents;
use super::pace::Pace;
use super::pulse::Pulse;
use crate::world::now;

/// The longest answer, in bytes. Lists come in pages of 500 objects, and a Node is 30 KiB with all its images.
const ANSWER: usize = 64 << 20;

/// The longest line of a watch, which is one object: etcd takes none over 1.5 MiB, and JSON is longer.
const LINE: usize = 8 << 20;

/// Why an answer was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("its answer is longer than {limit} bytes")]
pub(super) struct TooLong {
    limit: usize,
}

/// Caps every answer, and takes each piece of one for a sign of life.
#[derive(Clone, Debug)]
pub(super) struct Cap {
    pulse: Arc<Pulse>,
    pace: Arc<Pace>,
}

impl Cap {
    pub(super) fn new(pulse: Arc<Pulse>) -> Self {
        Self {
            pulse,
            pace: Arc::default(),
        }
    }
}

impl<S> Layer<S> for Cap {
    type Service = Capped<S>;

    fn layer(&self, inner: S) -> Capped<S> {
        Capped {
            inner,
            pulse: Arc::clone(&self.pulse),
            pace: Arc::clone(&self.pace),
        }
    }
}

/// A service whose answers are capped.
#[derive(Clone, Debug)]
pub(super) struct Capped<S> {
    inner: S,
    pulse: Arc<Pulse>,
    pace: Arc<Pace>,
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
            Rule::Lines => self.pace.wait(request.uri().path(), Instant::now()),
        };
        // Nothing is sent before this is awaited.
        let (answer, pulse) = (self.inner.call(request), Arc::clone(&self.pulse));
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            let answer = answer.await?;
            pulse.beat(now());
            Ok(answer.map(|body| CappedBody::new(body, rule, pulse)))
        })
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// All of it.
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

/// A body with an end.
#[derive(Debug)]
pub(super) struct CappedBody<B> {
    inner: B,
    rule: Rule,
    read: usize,
    documents: Documents,
    pulse: Arc<Pulse>,
}

impl<B> CappedBody<B> {
    fn new(inner: B, rule: Rule, pulse: Arc<Pulse>) -> Self {
        Self {
            inner,
            rule,
            read: 0,
            documents: Documents::default(),
            pulse,
        }
    }

    fn laid_out(&mut self, data: Bytes) -> Bytes {
        match self.rule {
            Rule::Whole => data,
            Rule::Lines => self.documents.lines(&data).into(),
        }
    }

    fn count(&mut self, data: &[u8]) -> Result<(), TooLong> {
        let limit = self.rule.limit();
        match (self.rule, data.iter().rposition(|byte| *byte == b'\n')) {
            (Rule::Lines, Some(end)) => self.read = data.len() - end - 1,
            (Rule::Lines, None) | (Rule::Whole, _) => self.read += data.len(),
        }
        if self.read > limit {
            return Err(TooLong { limit });
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

    /// So many bytes, in pieces that each end so.
    async fn read(rule: Rule, bytes: usize, end: &'static str) -> Result<usize, String> {
        let piece = format!("{}{end}", "x".repeat((1 << 20) - end.len()));
        let pieces = std::iter::repeat_n(Bytes::from(piece), bytes >> 20);
        let frames = pieces.map(|piece| Ok::<_, TooLong>(Frame::data(piece)));
        let stream = StreamBody::new(futures::stream::iter(frames));
        let mut body = CappedBody::new(stream, rule, Arc::default());
        let mut read = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| error.to_string())?;
            read += frame.data_ref().map_or(0, Bytes::len);
        }
        Ok(read)
    }

    #[tokio::test]
    async fn an_answer_is_read_up_to_its_limit_and_one_without_end_is_given_up() {
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
    async fn a_watch_comes_out_one_document_a_line_and_any_other_answer_as_it_is() {
        for (rule, out) in [(Rule::Lines, "{}\n[]\n"), (Rule::Whole, "{\n}[\n]")] {
            let indented = Full::from(Bytes::from_static(b"{\n}[\n]"));
            let body = CappedBody::new(indented, rule, Arc::default());
            let read = body.collect().await.expect("it is short").to_bytes();
            assert_eq!(read, out);
        }
    }

    #[tokio::test]
    async fn each_piece_of_an_answer_is_a_sign_of_life() {
        let (pulse, begun) = (Arc::new(Pulse::default()), now());
        let piece = Full::from(Bytes::from_static(b"{}"));
        let mut body = CappedBody::new(piece, Rule::Lines, Arc::clone(&pulse));
        assert_eq!(pulse.last(), None);
        assert!(body.frame().await.is_some());
        assert!(pulse.last() >= Some(begun));
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
