//! An answer that comes in parts.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;

use super::failed::Failed;

/// How long one part of a long answer may take. A member that reads its disk is slower than one
/// that answers from memory.
pub(super) const IDLE: Duration = Duration::from_secs(30);

/// What keeps a connection open.
pub(super) type Sender = SendRequest<Full<Bytes>>;

/// A long answer of a member. Nothing of it is kept here.
pub struct Stream {
    body: Incoming,
    _sender: Sender,
}

impl Stream {
    pub(super) fn new(body: Incoming, sender: Sender) -> Self {
        Self {
            body,
            _sender: sender,
        }
    }

    /// The next bytes, or `None` after the last.
    ///
    /// # Errors
    /// They came too late, or the answer broke off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Failed> {
        loop {
            let frame = tokio::time::timeout(IDLE, self.body.frame()).await;
            match frame.map_err(|_| Failed::Late(IDLE))?.transpose()? {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}
