//! Running one of the operator's programs, whatever it writes: of each stream the end is kept, where the reason stands, and the rest is
//! read and let go. A program that writes without end would take the agent's memory, and be run again by the next agent.

use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::watch;

use super::group::Group;
use super::said::last_line;

/// How much of the end of a stream is kept, in bytes: many times the line that is shown.
const KEPT: usize = 16 * 1024;

/// One read: what a pipe holds.
const PIECE: usize = 64 * 1024;

/// The rest between two reads of what is let go. The node's own work goes before a program that only writes.
const REST: Duration = Duration::from_millis(1);

/// How long a program that has ended is listened to, if others hold its streams: what it wrote itself is in the pipe, and a daemon that it
/// has left behind may hold them for ever.
const ECHO: Duration = Duration::from_millis(500);

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

/// Runs it for no longer than this. At its limit, or dropped before its end, it is killed with all that it has started, so that nothing of it
/// goes on beside what follows. What it leaves behind when it ends by itself is left alone.
pub async fn within(limit: Duration, command: &mut Command) -> Run {
    match output(limit, command).await {
        Ok(said) => Run::Ended(said),
        Err(run) => run,
    }
}

/// How much was written, for a person, where only the end of it was kept.
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

/// The end of a stream, once it has one, or once its program is over.
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
    // The sender lives as long as the run does.
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
