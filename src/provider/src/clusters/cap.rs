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
mod tests;
