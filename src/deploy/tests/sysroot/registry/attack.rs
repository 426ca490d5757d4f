//! A process as a pod is one, in the PID namespace of the host, that reaches for what another
//! process has.

#![expect(
    unsafe_code,
    reason = "nothing safe does what an attacker does; what is passed lives on this stack"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::libc;
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};

/// Whom it runs as. Neither has any capability.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// Of the group of the same number.
    User(u32),
    RootWithoutRights,
}

/// What it reaches for.
pub const ALL: [&str; 7] = [
    "environ",
    "files",
    "pipes",
    "memory to read",
    "memory to write",
    "ptrace",
    "root",
];

/// What it gets of this process.
pub fn on(process: i32, who: Who) -> Vec<&'static str> {
    let (mut reader, writer) = io::pipe().unwrap();
    let mut command = Command::new("true");
    command.stdin(Stdio::null());
    // SAFETY: it becomes another user and makes system calls, in a process of its own that ends
    // then.
    unsafe {
        command.pre_exec(move || {
            become_it(who)?;
            let got: Vec<u8> = ALL
                .iter()
                .map(|what| u8::from(gets(process, what)))
                .collect();
            io::Write::write_all(&mut &writer, &got)
        });
    }
    assert!(command.status().unwrap().success());
    drop(command);
    let mut got = Vec::new();
    io::Read::read_to_end(&mut reader, &mut got).unwrap();
    assert_eq!(got.len(), ALL.len());
    let got = ALL.into_iter().zip(got).filter(|(_, got)| *got == 1);
    got.map(|(what, _)| what).collect()
}

fn become_it(who: Who) -> io::Result<()> {
    match who {
        Who::User(number) => {
            let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
            setgroups(&[])?;
            setresgid(group, group, group)?;
            Ok(setresuid(user, user, user)?)
        }
        Who::RootWithoutRights => drop_rights(),
    }
}

fn drop_rights() -> io::Result<()> {
    // linux/capability.h, `_LINUX_CAPABILITY_VERSION_3`, and this process.
    let header = [0x2008_0522_u32, 0];
    let none = [0_u32; 6];
    // SAFETY: the kernel reads both.
    match unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn gets(process: i32, what: &str) -> bool {
    let path = |name: &str| format!("/proc/{process}/{name}");
    match what {
        "environ" => fs::read(path("environ")).is_ok_and(|text| !text.is_empty()),
        "files" => any_file(&path("fd"), File::options().read(true)),
        "pipes" => any_file(&path("fd"), File::options().write(true)),
        "memory to read" => File::open(path("mem")).is_ok(),
        "memory to write" => OpenOptions::new().write(true).open(path("mem")).is_ok(),
        "ptrace" => seizes(process),
        _ => fs::read_dir(path("root")).is_ok(),
    }
}

/// By number: the list itself may be kept back. A pipe without another end is not waited for.
fn any_file(folder: &str, options: &mut OpenOptions) -> bool {
    options.custom_flags(libc::O_NONBLOCK);
    (0..256).any(|number| options.open(format!("{folder}/{number}")).is_ok())
}

fn seizes(process: i32) -> bool {
    let nowhere = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: nothing is written here.
    unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, nowhere, nowhere) == 0 }
}
