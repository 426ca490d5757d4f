//! Programs that run under a debugger's eyes (ptrace(2)): they stop where it wants to look or to
//! strike.

#![expect(
    unsafe_code,
    reason = "nothing safe traces a process; what is passed lives on this stack"
)]

use std::fs::{self, File};
use std::io::{self, Error};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Output};

use nix::libc::{self, c_int, c_long, pid_t};
use tempfile::TempDir;

/// A program that was started so.
pub struct Traced {
    pub id: pid_t,
    /// How it goes on after each stop.
    way: Way,
    /// What it says, in files: nobody need read along.
    said: TempDir,
}

/// Where it stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Before and behind each system call.
    EachCall,
    /// When it is about to end, its memory still there.
    AtItsEnd,
}

/// A stop, or the end of a thread.
pub struct Stop {
    pub thread: pid_t,
    status: c_int,
}

/// A system call that is about to be made.
pub struct Call {
    pub number: c_long,
    /// The path that it opens, where it opens one.
    pub opens: Option<String>,
}

impl Traced {
    // It is waited for as its debugger waits, by its number.
    #[allow(clippy::zombie_processes)]
    pub fn start(mut command: Command, way: Way) -> Self {
        let said = tempfile::tempdir().unwrap();
        let file = |name| File::create(said.path().join(name)).unwrap();
        command.stdout(file("out")).stderr(file("err"));
        // SAFETY: one system call, which is safe between fork and exec.
        unsafe { command.pre_exec(|| ask(libc::PTRACE_TRACEME, 0, 0)) };
        let id = command.spawn().unwrap().id().try_into().unwrap();
        let options = libc::PTRACE_O_EXITKILL
            | match way {
                Way::EachCall => libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE,
                Way::AtItsEnd => libc::PTRACE_O_TRACEEXIT,
            };
        // It stops first when it has become the program.
        let begun = wait(id);
        assert!(libc::WIFSTOPPED(begun.status), "it did not start");
        ask(libc::PTRACE_SETOPTIONS, id, options.into()).unwrap();
        let this = Self { id, way, said };
        this.resume(id, 0);
        this
    }

    /// The next stop; the exit status when it is over.
    pub fn next(&self) -> Result<Stop, ExitStatus> {
        loop {
            let stop = wait(-1);
            if libc::WIFSTOPPED(stop.status) {
                return Ok(stop);
            }
            if stop.thread == self.id {
                return Err(ExitStatus::from_raw(stop.status));
            }
        }
    }

    /// One that has been killed meanwhile goes no further, and its end is waited for.
    pub fn resume(&self, thread: pid_t, signal: c_int) {
        let request = match self.way {
            Way::EachCall => libc::PTRACE_SYSCALL,
            Way::AtItsEnd => libc::PTRACE_CONT,
        };
        let _ = ask(request, thread, signal.into());
    }

    pub fn threads(&self) -> usize {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id));
        tasks.map_or(0, Iterator::count)
    }

    pub fn output(&self, status: ExitStatus) -> Output {
        let [stdout, stderr] =
            ["out", "err"].map(|name| fs::read(self.said.path().join(name)).unwrap());
        Output {
            status,
            stdout,
            stderr,
        }
    }
}

impl Stop {
    /// The signal that it is to have, where it stopped for one: neither a new thread's stop nor
    /// what the debugger asked to be told of is any.
    pub fn signal(&self) -> c_int {
        let signal = libc::WSTOPSIG(self.status);
        let ours = [libc::SIGTRAP, libc::SIGTRAP | 0x80, libc::SIGSTOP];
        if ours.contains(&signal) { 0 } else { signal }
    }

    /// Whether it is about to end.
    pub const fn is_the_last(&self) -> bool {
        self.status >> 16 == libc::PTRACE_EVENT_EXIT
    }

    /// The call before which it has stopped.
    pub fn call(&self) -> Option<Call> {
        /// linux/ptrace.h, `PTRACE_SYSCALL_INFO_ENTRY`.
        const ENTRY: u8 = 1;
        if libc::WSTOPSIG(self.status) != libc::SIGTRAP | 0x80 {
            return None;
        }
        // SAFETY: the kernel fills as much as it is told that there is, and says of what kind it
        // is.
        let (kind, call) = unsafe {
            let mut facts: libc::ptrace_syscall_info = std::mem::zeroed();
            let room = size_of_val(&facts);
            let request = libc::PTRACE_GET_SYSCALL_INFO;
            let given = libc::ptrace(request, self.thread, room, &raw mut facts);
            // One that is gone is before nothing.
            (if given > 0 { facts.op } else { 0 }, facts.u.entry)
        };
        if kind != ENTRY {
            return None;
        }
        let number = c_long::try_from(call.nr).unwrap();
        let opens = (number == libc::SYS_openat).then(|| self.text(call.args[1]));
        Some(Call { number, opens })
    }

    /// A path in its memory.
    fn text(&self, place: u64) -> String {
        let mut bytes = [0; 256];
        let memory = File::open(format!("/proc/{}/mem", self.thread));
        // As much of it as there is before memory ends.
        let read = memory.and_then(|memory| memory.read_at(&mut bytes, place));
        let known = &bytes[..read.unwrap_or(0)];
        let path = known.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(path).into_owned()
    }
}

/// Waits for something of this thread's own: the other tests have theirs.
fn wait(process: pid_t) -> Stop {
    let mut status = 0;
    // SAFETY: the kernel writes one number.
    let who = unsafe { libc::waitpid(process, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
    assert!(who > 0, "waitpid: {}", Error::last_os_error());
    Stop {
        thread: who,
        status,
    }
}

fn ask(request: libc::c_uint, thread: pid_t, value: c_long) -> io::Result<()> {
    let nowhere = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: none of the requests that are made by this has the kernel write anything here.
    match unsafe { libc::ptrace(request, thread, nowhere, value) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}
