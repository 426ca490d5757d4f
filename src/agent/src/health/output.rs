//! Runs one of the operator's programs, whatever it writes. The agent keeps the end of each stream,
//! which has the reason, and discards the rest. Otherwise a program that writes without end would
//! use up the agent's memory, and the next agent would run it again.

use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::watch;

use super::group::Group;
use super::said::last_line;

/// How much of the end of a stream is kept, in bytes: many times the length of the line that is
/// shown.
const KEPT: usize = 16 * 1024;

/// One read: the capacity of a pipe.
const PIECE: usize = 64 * 1024;

/// The pause between two reads of discarded output. The node's own work takes precedence over a
/// program that only writes.
const REST: Duration = Duration::from_millis(1);

/// How long the agent reads the streams of a program that has ended, if other processes hold them.
/// The program's own output is in the pipe, and a daemon that it left may hold the streams forever.
const ECHO: Duration = Duration::from_millis(500);

/// How a run ended.
#[derive(Debug)]
pub enum Run {
    /// It ended on its own.
    Ended(Said),
    /// It reached its time limit, after it wrote this many bytes.
    Late(u64),
    /// It did not start.
    Not(std::io::Error),
}

/// The output of a program.
#[derive(Debug)]
pub struct Said {
    /// How it ended, and the end of what it wrote.
    pub output: Output,
    /// How much it wrote, in bytes.
    written: u64,
}

impl Said {
    /// Why it failed, for a person.
    #[must_use]
    pub fn why(&self) -> String {
        let line = last_line(&self.output);
        too_much(self.written).map_or_else(|| line.clone(), |much| format!("{line} (it {much})"))
    }
}

/// Why a program failed that did not end in time.
#[must_use]
pub fn late(seconds: u64, written: u64) -> String {
    let late = format!("no answer in {seconds} s");
    too_much(written).map_or_else(|| late.clone(), |much| format!("{late}; it {much}"))
}

/// Runs the program for at most this long. At the limit, or when dropped early, the agent kills the
/// program and all its children, so that none of them continues. If the program ends on its own,
/// the agent does not touch what it leaves.
pub async fn within(limit: Duration, command: &mut Command) -> Run {
    match output(limit, command).await {
        Ok(said) => Run::Ended(said),
        Err(run) => run,
    }
}

/// How much was written, for a person, if only the end of it was kept.
fn too_much(written: u64) -> Option<String> {
    (written > 2 * KEPT as u64).then(|| format!("wrote {written} bytes; only the end is kept"))
}

async fn output(limit: Duration, command: &mut Command) -> Result<Said, Run> {
    let written = AtomicU64::new(0);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut group = Group::spawn(command).map_err(Run::Not)?;
    let (out, err) = group.streams();
    let over = watch::Sender::new(false);
    let end = async {
        let ended = tokio::time::timeout(limit, group.wait()).await;
        over.send_replace(true);
        ended
            .map_err(|_| Run::Late(written.load(Ordering::Relaxed)))?
            .map_err(Run::Not)
    };
    let (status, stdout, stderr) = tokio::try_join!(
        end,
        said(out, &written, over.subscribe()),
        said(err, &written, over.subscribe()),
    )?;
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

/// The end of a stream, once the stream or its program ends.
async fn said(
    stream: Option<impl AsyncRead + Unpin>,
    written: &AtomicU64,
    mut over: watch::Receiver<bool>,
) -> Result<Vec<u8>, Run> {
    let mut kept = Vec::new();
    if let Some(stream) = stream {
        tokio::select! {
            heard = hear(stream, &mut kept, written) => heard.map_err(Run::Not)?,
            () = echo(&mut over) => {}
        }
    }
    Ok(kept)
}

async fn echo(over: &mut watch::Receiver<bool>) {
    // The sender lives as long as the run.
    let _ = over.wait_for(|over| *over).await;
    tokio::time::sleep(ECHO).await;
}

async fn hear(
    mut stream: impl AsyncRead + Unpin,
    kept: &mut Vec<u8>,
    written: &AtomicU64,
) -> std::io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            return Ok(());
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
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use super::super::group::seen;
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[tokio::test]
    async fn program_with_endless_output_ends_at_its_limit() {
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
        assert!(
            why.starts_with("no disk (exit status 3) (it wrote 3000014 bytes"),
            "{why}"
        );
        assert_eq!(said.written, 3_000_000 + 1 + 5 + 8);
    }

    #[tokio::test]
    async fn program_leaving_a_daemon_ends_and_the_daemon_survives() {
        let folder = tempfile::tempdir().unwrap();
        let id = folder.path().join("id");
        let script = format!("{}; echo started", seen::leaves_a_child(&id));
        let run = within(Duration::from_secs(60), &mut shell(&script)).await;
        let Run::Ended(said) = run else {
            panic!("{run:?}")
        };
        assert!(said.output.status.success());
        assert_eq!(said.output.stdout, b"started\n");
        let daemon = seen::child(&id).await;
        assert!(seen::lives(daemon), "it may have been started on purpose");
        kill(Pid::from_raw(daemon.cast_signed()), Signal::SIGKILL).unwrap();
    }

    #[tokio::test]
    async fn of_a_program_that_is_late_nothing_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let id = folder.path().join("id");
        let mut shell = shell(&seen::hangs_in_a_child(&id));
        let run = within(Duration::from_secs(1), &mut shell).await;
        assert!(matches!(run, Run::Late(_)), "{run:?}");
        assert!(seen::ends(seen::child(&id).await).await);
    }

    #[tokio::test]
    async fn a_program_that_is_none_is_told_from_one_that_fails() {
        let run = within(Duration::from_secs(60), &mut Command::new("/nowhere")).await;
        assert!(matches!(run, Run::Not(_)), "{run:?}");
    }
}
