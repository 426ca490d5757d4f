//! The channel into a running guest: commands over a virtio port that a small service in the image
//! answers.
//!
//! `images/files/usr/libexec/careen-rig/shell` documents the wire format. The channel needs no
//! network, works in a system that is only partly up, and survives reboots of the guest.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::patience::within;

/// The limit for a quick command on a busy machine.
const SOON: Duration = Duration::from_secs(120);

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; above 128 for a signal.
    pub code: i32,
    /// Standard output and standard error together.
    pub text: String,
}

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<Output>>>>;

/// A connection to the guest's test channel.
#[derive(Debug)]
pub struct Guest {
    out: OwnedWriteHalf,
    waiting: Waiting,
    boot: watch::Receiver<Option<String>>,
    reader: JoinHandle<()>,
    next: u64,
}

impl Guest {
    /// Connects to the machine's end of the channel. The guest need not be up yet.
    ///
    /// # Errors
    ///
    /// Fails when the socket does not exist.
    pub async fn connect(socket: &Path) -> Result<Self> {
        let (read, mut out) = UnixStream::connect(socket).await?.into_split();
        out.write_all(b"\n").await?;
        let waiting = Waiting::default();
        let (tell, boot) = watch::channel(None);
        let reader = tokio::spawn(read_lines(read, waiting.clone(), tell));
        Ok(Self {
            out,
            waiting,
            boot,
            reader,
            next: 0,
        })
    }

    /// Runs a shell script as root, at most `limit` long.
    ///
    /// # Errors
    ///
    /// Fails when the guest does not answer in time. A failed script is not an error: check `code`.
    pub async fn try_run(&mut self, script: &str, limit: Duration) -> Result<Output> {
        self.next += 1;
        // The process id distinguishes the ids of two rigs on one restored guest.
        let id = format!("c{}-{}", std::process::id(), self.next);
        let (send, receive) = oneshot::channel();
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.clone(), send);
        let line = format!("{id} {}\n", BASE64_STANDARD.encode(script));
        let answer = async {
            self.out.write_all(line.as_bytes()).await?;
            receive.await.context("the guest's channel closed")
        };
        match within(limit, answer).await {
            Some(output) => output,
            None => bail!("no answer from the guest within {limit:?} to: {script}"),
        }
    }

    /// Runs a script that must succeed soon. Returns its output without the last newline.
    ///
    /// # Errors
    ///
    /// Fails when the script fails or the guest does not answer.
    pub async fn run(&mut self, script: &str) -> Result<String> {
        self.run_within(script, SOON).await
    }

    /// Like [`Guest::run`], with another time limit.
    ///
    /// # Errors
    ///
    /// Fails when the script fails or the guest does not answer.
    pub async fn run_within(&mut self, script: &str, limit: Duration) -> Result<String> {
        let output = self.try_run(script, limit).await?;
        ensure!(
            output.code == 0,
            "in the guest, {script:?} ended with {}: {}",
            output.code,
            output.text
        );
        Ok(output.text.trim_end().to_owned())
    }

    /// Waits until the guest's channel is up in a boot other than `old`. Returns that boot's id.
    ///
    /// # Errors
    ///
    /// Fails when that does not happen in time.
    pub async fn wait_for_boot_other_than(
        &mut self,
        old: Option<&str>,
        limit: Duration,
    ) -> Result<String> {
        let up = self
            .boot
            .wait_for(|boot| boot.is_some() && boot.as_deref() != old);
        let Some(seen) = within(limit, up).await else {
            bail!("the guest's test channel did not come up within {limit:?}");
        };
        seen?.clone().context("the guest did not name its boot")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn read_lines(read: OwnedReadHalf, waiting: Waiting, boot: watch::Sender<Option<String>>) {
    let mut lines = BufReader::new(read).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line).into_owned();
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["ready", id] = words[..] {
            boot.send_replace(Some(id.to_owned()));
        } else if let Some((id, output)) = parse(&words)
            && let Some(waiter) = waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(id)
        {
            // The receiver is gone if the caller's time is up.
            let _ = waiter.send(output);
        }
    }
}

/// `<id> <code> <base64 output>`. A script without output has no third word.
fn parse<'a>(words: &[&'a str]) -> Option<(&'a str, Output)> {
    let (&id, rest) = words.split_first()?;
    let (code, output) = rest.split_first()?;
    let output = BASE64_STANDARD.decode(output.first().unwrap_or(&"")).ok()?;
    Some((
        id,
        Output {
            code: code.parse().ok()?,
            text: String::from_utf8_lossy(&output).into_owned(),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_apart() {
        let output = Output {
            code: 3,
            text: "no\n".into(),
        };
        assert_eq!(parse(&["c1-1", "3", "bm8K"]), Some(("c1-1", output)));
    }

    #[test]
    fn an_answer_without_output_counts() {
        assert_eq!(
            parse(&["c1-1", "0"]),
            Some((
                "c1-1",
                Output {
                    code: 0,
                    text: String::new()
                }
            ))
        );
    }

    #[test]
    fn noise_is_no_answer() {
        assert_eq!(parse(&["Welcome", "to", "Debian"]), None);
        assert_eq!(parse(&[]), None);
    }
}
