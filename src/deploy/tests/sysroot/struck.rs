//! A run that is struck by a signal at a chosen place: as it is about to make this system call or
//! that. One that is merely sent comes wherever the run happens to be.

use std::process::{Command, ExitStatus, Output};

use nix::libc::{self, c_long};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::traced::{Call, Traced, Way};

/// What the run gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL: the call is not made any more.
    Kill,
    /// SIGTERM, and on at once.
    Term,
    /// SIGTERM, and on once a thread that waits for it has done what it does and sleeps.
    TermHeard,
}

/// How a run went.
pub struct Struck {
    /// How many of the calls in question it was about to make.
    pub calls: usize,
    pub output: Output,
}

/// Runs it to its end. The blow falls at the call of this number, of those in question.
pub fn run(
    command: Command,
    in_question: impl Fn(&Call) -> bool,
    blow: Option<(usize, Blow)>,
) -> Struck {
    let run = Traced::start(command, Way::EachCall);
    let (calls, status) = follow(&run, in_question, blow);
    let output = run.output(status);
    Struck { calls, output }
}

fn follow(
    run: &Traced,
    in_question: impl Fn(&Call) -> bool,
    blow: Option<(usize, Blow)>,
) -> (usize, ExitStatus) {
    let (mut calls, mut held) = (0, None);
    loop {
        let stop = match run.next() {
            Ok(stop) => stop,
            Err(status) => return (calls, status),
        };
        let Some(call) = stop.call() else {
            run.resume(stop.thread, stop.signal());
            continue;
        };
        calls += usize::from(in_question(&call));
        let due = blow.filter(|(at, _)| in_question(&call) && *at == calls);
        if let Some((_, blow)) = due {
            strike(run, blow);
            if blow == Blow::TermHeard && run.threads() > 1 {
                held = Some(stop.thread);
                continue;
            }
        }
        if call.number == libc::SYS_clock_nanosleep
            && let Some(held) = held.take()
        {
            run.resume(held, 0);
        }
        run.resume(stop.thread, 0);
    }
}

fn strike(run: &Traced, blow: Blow) {
    let signal = match blow {
        Blow::Kill => Signal::SIGKILL,
        Blow::Term | Blow::TermHeard => Signal::SIGTERM,
    };
    kill(Pid::from_raw(run.id), signal).unwrap();
}

impl Call {
    /// A change of what is on a disk, but for the content of open files.
    pub fn changes_names(&self) -> bool {
        let calls = [
            libc::SYS_unlinkat,
            libc::SYS_renameat,
            libc::SYS_renameat2,
            libc::SYS_linkat,
            libc::SYS_symlinkat,
            libc::SYS_mkdirat,
            libc::SYS_syncfs,
            libc::SYS_fsync,
            libc::SYS_fdatasync,
        ];
        calls.contains(&self.number) || OLD_CALLS.contains(&self.number)
    }

    /// A file of an image is looked at.
    pub fn opens_an_object(&self) -> bool {
        let path = self.opens.as_deref();
        path.is_some_and(|path| path.ends_with(".file"))
    }
}

/// The older calls of the same kind, where the architecture has them.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: &[c_long] = &[
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: &[c_long] = &[];
