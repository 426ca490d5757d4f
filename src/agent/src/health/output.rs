//! Running one of the operator's programs, whatever it writes: of each stream the end is kept, where the reason stands, and the rest is
//! read and let go. A program that writes without end would take the agent's memory, and be run again by the next agent.

use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::said::last_line;

/// How much of the end of a stream is kept, in bytes: many times the line that is shown.
const KEPT: usize = 16 * 1024;

/// One read: what a pipe holds.
const PIECE: usize = 64 * 1024;

/// The rest between two reads of what is let go. The node's own work goes before a program that only writes.
const REST: Duration = Duration::from_millis(1);

/// How a run ended.
#[derive(Debug)]
pub enum Run {
    /// By itself.
    Ended(Said),
    /// At its time limit, having written so many bytes.
    Late(u64),
    /// It did not begin.
    Not(std::io::Error),
}

/// What a program has said.
#[derive(Debug)]
pub struct Said {
    /// How it ended, and the end of what it wrote.
    pub output: Output,
    /// How much it wrote, in bytes.
    written: u64,
}

impl Said {
    /// Why it has failed, for a person.
    #[must_use]
    pub fn why(&self) -> String {
        let line = last_line(&self.output);
        too_much(self.written).map_or_else(|| line.clone(), |much| format!("{line} (it {much})"))
    }
}

/// Why a program has failed that had not ended in its time.
#[must_use]
pub fn late(seconds: u64, written: u64) -> String {
    let late = format!("no answer in {seconds} s");
    too_much(written).map_or_else(|| late.clone(), |much| format!("{late}; it {much}"))
}

/// Runs it for no longer than this. Dropped before its end it is killed, so that it does not go on beside what follows.
pub async fn within(limit: Duration, command: &mut Command) -> Run {
    let written = AtomicU64::new(0);
    match tokio::time::timeout(limit, output(command, &written)).await {
        Ok(Ok(said)) => Run::Ended(said),
        Ok(Err(error)) => Run::Not(error),
        Err(_) => Run::Late(written.load(Ordering::Relaxed)),
    }
}

/// How much was written, for a person, where only the end of it was kept.
fn too_much(written: u64) -> Option<String> {
    (written > 2 * KEPT as u64)
        .then(|| format!("wrote {written} bytes, of which only the end is kept"))
}

async fn output(command: &mut Command, written: &AtomicU64) -> std::io::Result<Said> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let ends = tokio::try_join!(end(out, written), end(err, written), child.wait());
    let (stdout, stderr, status) = ends?;
    let output = Output {
        status,
        stdout,
        stderr,
    };
    Ok(Said {
        output,
        written: written.load(Ordering::Relaxed),
    })
}

/// The end of a stream, once it has one.
async fn end(
    stream: Option<impl AsyncRead + Unpin>,
    written: &AtomicU64,
) -> std::io::Result<Vec<u8>> {
    let (mut kept, mut piece) = (Vec::new(), vec![0; PIECE]);
    let Some(mut stream) = stream else {
        return Ok(kept);
    };
    loop {
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            return Ok(kept);
        }
        written.fetch_add(read as u64, Ordering::Relaxed);
        kept.extend_from_slice(&piece[..read]);
        let surplus = kept.len().saturating_sub(KEPT);
        if surplus > 0 {
            kept.drain(..surplus);
            tokio::time::sleep(REST).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[tokio::test]
    async fn a_program_that_writes_without_end_is_ended_at_its_limit_and_nothing_piles_up() {
        let run = within(Duration::from_secs(1), &mut shell("exec yes")).await;
        let Run::Late(written) = run else {
            panic!("{run:?}")
        };
        assert!(too_much(written).is_some(), "{written}");
    }

    #[tokio::test]
    async fn of_much_that_was_written_the_end_is_kept_and_its_end_is_seen() {
        let script =
            "head -c 3000000 /dev/zero | tr '\\0' a; echo; echo 'no disk' >&2; echo last; exit 3";
        let run = within(Duration::from_secs(60), &mut shell(script)).await;
        let Run::Ended(said) = run else {
            panic!("{run:?}")
        };
        let (code, kept) = (said.output.status.code(), &said.output.stdout);
        assert_eq!(code, Some(3));
        assert!(kept.len() <= KEPT && kept.ends_with(b"a\nlast\n"));
        assert_eq!(said.output.stderr, b"no disk\n");
        let why = said.why();
        assert!(why.starts_with("last (it wrote 3000014 bytes"), "{why}");
        assert_eq!(said.written, 3_000_000 + 1 + 5 + 8);
    }

    #[tokio::test]
    async fn a_program_that_is_none_is_told_from_one_that_fails() {
        let run = within(Duration::from_secs(60), &mut Command::new("/nowhere")).await;
        assert!(matches!(run, Run::Not(_)), "{run:?}");
    }
}
