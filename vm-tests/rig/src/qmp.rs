//! QEMU's monitor protocol: one command, one answer. Events are skipped.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// A connection to a monitor, ready for commands.
#[derive(Debug)]
pub struct Qmp {
    lines: Lines<BufReader<OwnedReadHalf>>,
    out: OwnedWriteHalf,
}

impl Qmp {
    /// Connects and leaves negotiation mode.
    ///
    /// # Errors
    ///
    /// Fails when nothing listens (yet).
    pub async fn connect(socket: &Path) -> Result<Self> {
        let (read, out) = UnixStream::connect(socket).await?.into_split();
        let mut this = Self {
            lines: BufReader::new(read).lines(),
            out,
        };
        this.execute("qmp_capabilities", None).await?;
        Ok(this)
    }

    /// Runs one command and returns its result.
    ///
    /// # Errors
    ///
    /// Fails when QEMU refuses it or is gone.
    pub async fn execute(&mut self, command: &str, arguments: Option<Value>) -> Result<Value> {
        let mut request = json!({"execute": command});
        if let Some(arguments) = arguments {
            request["arguments"] = arguments;
        }
        self.out
            .write_all(format!("{request}\n").as_bytes())
            .await?;
        loop {
            let line = self
                .lines
                .next_line()
                .await?
                .context("QEMU closed its monitor")?;
            let mut answer: Value = serde_json::from_str(&line)?;
            if let Some(error) = answer.get("error") {
                bail!("QEMU refused {command}: {error}");
            }
            if answer.get("return").is_some() {
                return Ok(answer["return"].take());
            }
        }
    }
}
