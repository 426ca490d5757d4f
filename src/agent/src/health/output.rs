//! Running one of the operator's programs, whatever it writes: of each stream the end is kept, where the reason stands, and the rest is
//! read and let go. A program that writes without end would take the agent's memory, and be run again by the next agent.

use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

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
    /// How it ended.
    pub status: ExitStatus,
    /// The end of its standard output.
    pub out: Vec<u8>,
    /// The end of its standard error.
    pub err: Vec<u8>,
    /// How much it wrote, in bytes.
    pub written: u64,
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
#[must_use]
pub fn too_much(written: u64) -> Option<String> {
    (written > 2 * KEPT as u64).then(|| format!("wrote {written} bytes, of which only the end is kept"))
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
    let (out, err, status) = ends?;
    Ok(Said {
        status,
        out,
        err,
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
        let script = "head -c 3000000 /dev/zero | tr '\\0' a; echo; echo 'no disk' >&2; echo last; exit 3";
        let run = within(Duration::from_secs(60), &mut shell(script)).await;
        let Run::Ended(said) = run else {
            panic!("{run:?}")
        };
        assert_eq!(said.status.code(), Some(3));
        assert!(said.out.len() <= KEPT && said.out.ends_with(b"a\nlast\n"));
        assert_eq!(said.err, b"no disk\n");
        assert_eq!(said.written, 3_000_000 + 1 + 5 + 8);
    }

    #[tokio::test]
    async fn a_program_that_is_none_is_told_from_one_that_fails() {
        let run = within(Duration::from_secs(60), &mut Command::new("/nowhere")).await;
        assert!(matches!(run, Run::Not(_)), "{run:?}");
    }
}
