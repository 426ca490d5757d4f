//! The database of a member, as a stream. At most one line of it is in memory.

mod lines;
mod verified;

use std::borrow::Cow;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use thiserror::Error;
use upgrade::Digest;
use upgrade::sanitize;

use super::address::Address;
use super::client::Client;
use super::failed::Failed;
use super::wire;
use lines::{Lines, TooLong};
use verified::Verified;

/// What was received, and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The bytes of the database, without the digest behind it.
    pub bytes: u64,
    /// Their SHA-256.
    pub sha256: Digest,
}

/// Why there is no snapshot.
#[derive(Debug, Error)]
pub enum Broken {
    /// The member did not answer, or broke off.
    #[error("{0}")]
    Member(#[from] Failed),
    /// What it sent is no snapshot.
    #[error("{0}")]
    Content(String),
    /// What it sent could not be written.
    #[error("{0}")]
    Write(#[from] io::Error),
}

impl From<TooLong> for Broken {
    fn from(error: TooLong) -> Self {
        Self::Content(error.to_string())
    }
}

/// One message of the stream, as the gateway writes it.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    result: Option<Part<'a>>,
    error: Option<Complaint>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    blob: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Complaint {
    message: String,
}

/// Writes the database of this member, with etcd's digest behind it, as `etcdctl snapshot save`
/// does.
///
/// # Errors
/// It broke off, could not be written, or is not what the digest says.
pub async fn snapshot(
    client: &Client,
    address: &Address,
    to: &mut impl Write,
) -> Result<Snapshot, Broken> {
    let mut stream = client.stream(address, wire::SNAPSHOT, "{}").await?;
    let (mut lines, mut verified) = (Lines::default(), Verified::new(to));
    let mut take = |line: &[u8]| -> Result<(), Broken> { Ok(verified.take(&blob(line)?)?) };
    while let Some(bytes) = stream.next().await? {
        lines.push(&bytes, &mut take)?;
    }
    lines.end(take)?;
    let (bytes, sha256) = verified.end().map_err(Broken::Content)?;
    Ok(Snapshot { bytes, sha256 })
}

fn blob(line: &[u8]) -> Result<Vec<u8>, Broken> {
    let bad = |what: &str| Broken::Content(format!("a part of its answer {what}"));
    let message: Message = serde_json::from_slice(line).map_err(|_| bad("is no message"))?;
    if let Some(Complaint { message }) = message.error {
        return Err(Broken::Content(sanitize::cut(&message, 200)));
    }
    let blob = message.result.and_then(|part| part.blob);
    let blob = STANDARD.decode(blob.unwrap_or_default().as_bytes());
    blob.map_err(|_| bad("is not base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_base64_and_a_complaint_is_an_error() {
        let part = br#"{"result":{"header":{},"remaining_bytes":"5","blob":"aGVsbG8=","version":"3.6.8"}}"#;
        assert_eq!(blob(part).unwrap(), b"hello");
        assert!(blob(br#"{"result":{}}"#).unwrap().is_empty());
        let why = blob(br#"{"error":{"code":14,"message":"etcdserver: no leader"}}"#);
        assert_eq!(why.unwrap_err().to_string(), "etcdserver: no leader");
        for text in ["", "[]", r#"{"result":{"blob":"%"}}"#, "<html>"] {
            assert!(blob(text.as_bytes()).is_err(), "{text}");
        }
    }
}
