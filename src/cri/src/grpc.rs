//! One gRPC call at a time over HTTP/2 on a Unix socket (grpc/grpc, doc/PROTOCOL-HTTP2.md).

use std::path::Path;

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::{ResponseFuture, SendRequest};
use http::{HeaderMap, Request};
use percent_encoding::percent_decode_str;
use prost::Message;
use thiserror::Error;
use tokio::net::UnixStream;

/// The longest answer, in bytes: the kubelet's own limit (kubernetes,
/// staging/src/k8s.io/cri-client/pkg/utils, `maxMsgSize`).
const LONGEST: usize = 16 * 1024 * 1024;

/// In front of each message: a byte that says "not compressed", and the length in four bytes.
const PREFIX: usize = 5;

/// gRPC's code for an object that does not exist (grpc/grpc, doc/statuscodes.md).
const NOT_FOUND: u16 = 5;

/// Why a call has no answer.
#[derive(Debug, Error)]
pub enum Error {
    /// The runtime answered with an error.
    #[error("{message}")]
    Refused {
        /// The status code of gRPC.
        code: u16,
        /// The words of the runtime.
        message: String,
    },
    /// Nobody listens.
    #[error("cannot connect: {0}")]
    Connect(#[from] std::io::Error),
    /// The connection broke, or what came is not HTTP/2.
    #[error("the connection failed: {0}")]
    Connection(#[from] h2::Error),
    /// What came is not an answer of gRPC.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

impl Error {
    /// Whether the runtime has answered, with an error.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    /// Whether the runtime does not know the object.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == NOT_FOUND)
    }
}

/// A connection to a container runtime.
pub struct Client {
    send: SendRequest<Bytes>,
}

impl Client {
    /// Connects to this socket. The connection ends with the process.
    ///
    /// # Errors
    /// Nobody listens, or does not speak HTTP/2.
    pub async fn connect(socket: &Path) -> Result<Self, Error> {
        let stream = UnixStream::connect(socket).await?;
        let (send, connection) = h2::client::handshake(stream).await?;
        // A connection that breaks ends the call that waits for it.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self { send })
    }

    /// Calls this method of `runtime.v1.RuntimeService`.
    ///
    /// # Errors
    /// The runtime refuses, or does not answer as gRPC demands.
    pub async fn call<Answer: Message + Default>(
        &self,
        method: &str,
        message: &impl Message,
    ) -> Result<Answer, Error> {
        self.call_service("RuntimeService", method, message).await
    }

    /// Calls this method of `runtime.v1.ImageService`.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn images<Answer: Message + Default>(
        &self,
        method: &str,
        message: &impl Message,
    ) -> Result<Answer, Error> {
        self.call_service("ImageService", method, message).await
    }

    async fn call_service<Answer: Message + Default>(
        &self,
        service: &str,
        method: &str,
        message: &impl Message,
    ) -> Result<Answer, Error> {
        let uri = format!("http://localhost/runtime.v1.{service}/{method}");
        let request = Request::post(uri)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .map_err(|error| Error::Unreadable(error.to_string()))?;
        let mut send = self.send.clone().ready().await?;
        let (answer, mut body) = send.send_request(request, false)?;
        body.send_data(framed(message), true)?;
        let bytes = received(answer).await?;
        Answer::decode(bytes).map_err(|error| Error::Unreadable(error.to_string()))
    }
}

fn framed(message: &impl Message) -> Bytes {
    let bytes = message.encode_to_vec();
    let mut framed = BytesMut::with_capacity(PREFIX + bytes.len());
    framed.put_u8(0);
    // A request of ours has a few hundred bytes.
    framed.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    framed.put_slice(&bytes);
    framed.freeze()
}

/// The message of the answer, if its status is good.
async fn received(answer: ResponseFuture) -> Result<Bytes, Error> {
    let (head, mut body) = answer.await?.into_parts();
    let mut bytes = BytesMut::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        if bytes.len() + piece.len() > LONGEST {
            return Err(Error::Unreadable(format!("it is over {LONGEST} bytes")));
        }
        body.flow_control().release_capacity(piece.len())?;
        bytes.extend_from_slice(&piece);
    }
    let trailers = body.trailers().await?;
    // An answer without a message has its status among the headers.
    status(trailers.as_ref().unwrap_or(&head.headers))?;
    if bytes.len() < PREFIX || bytes[0] != 0 {
        return Err(Error::Unreadable("it has no plain message".to_owned()));
    }
    Ok(bytes.split_off(PREFIX).freeze())
}

fn status(headers: &HeaderMap) -> Result<(), Error> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let code = text("grpc-status").and_then(|code| code.parse().ok());
    let Some(code) = code else {
        return Err(Error::Unreadable("it has no status of gRPC".to_owned()));
    };
    if code == 0 {
        return Ok(());
    }
    let message = percent_decode_str(text("grpc-message").unwrap_or_default());
    let message = message.decode_utf8_lossy().into_owned();
    Err(Error::Refused { code, message })
}
