//! Separates skopeo from every other process of the node. skopeo reads untrusted input, so it has
//! its own user, without privileges. That is not enough: a pod may run as any user, in the host's
//! PID namespace. The kernel lets a process read the memory, the environment and the open files of
//! another process with the same user and group. So skopeo runs in its own user namespace. A
//! process outside needs CAP_SYS_PTRACE in that namespace to read them (security/commoncap.c,
//! `cap_ptrace_access_check`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use host::programs::Program;
use nix::libc;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use upgrade::container::SKOPEO;

/// The owner of a user namespace has all privileges in it, so root does not own it: root without
/// capabilities gets none there. Each namespace has a random owner, from numbers that no pod may
/// request.
const OWNERS: u32 = 0x9000_0000;
const MANY: u32 = 0x0fff_ffff;

/// The group that certificate keys needed when skopeo ran as nobody. skopeo still reads such keys,
/// but its own files never have this group.
const FORMER: u32 = 65_534;

/// systemd sets this variable for its children.
const UNDER_SYSTEMD: &str = "INVOCATION_ID";

/// Whether skopeo runs as its own user, separate from all others.
pub fn is_due() -> bool {
    std::env::var_os(UNDER_SYSTEMD).is_some()
}

/// Runs a command in the namespace.
///
/// # Errors
/// The kernel creates no user namespace.
pub fn run_there(command: &mut Command) -> io::Result<()> {
    let there = namespace()?;
    run_before(command, move || enter(&there));
    Ok(())
}

/// A user namespace with one user, skopeo's, and the groups that let skopeo read the necessary
/// files.
fn namespace() -> io::Result<File> {
    let mut holder = holder(random()?)?;
    let there = describe(&holder);
    // Nothing else waits for it, and the open file keeps the namespace.
    let _ = holder.kill();
    holder.wait()?;
    there
}

fn describe(holder: &Child) -> io::Result<File> {
    let of = |name: &str| format!("/proc/{}/{name}", holder.id());
    let own = format!("{SKOPEO} {SKOPEO} 1\n");
    fs::write(of("uid_map"), &own)?;
    fs::write(of("gid_map"), format!("{own}{FORMER} {FORMER} 1\n"))?;
    File::open(of("ns/user"))
}

/// A process in a new user namespace. It waits to be ended.
fn holder(owner: u32) -> io::Result<Child> {
    let mut holder = Program::Cat.command()?;
    holder.stdin(Stdio::piped()).stdout(Stdio::null());
    run_before(&mut holder, move || {
        keep_rights()?;
        setresuid(
            Uid::from_raw(u32::MAX),
            Uid::from_raw(owner),
            Uid::from_raw(u32::MAX),
        )?;
        Ok(unshare(CloneFlags::CLONE_NEWUSER)?)
    });
    holder.spawn()
}

fn random() -> io::Result<u32> {
    let mut bytes = [0; 4];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(OWNERS + (u32::from_ne_bytes(bytes) & MANY))
}

/// From here on, privileges are those of this namespace, and end with the next exec.
fn enter(there: &File) -> io::Result<()> {
    setns(there.as_fd(), CloneFlags::CLONE_NEWUSER)?;
    setgroups(&[Gid::from_raw(FORMER)])?;
    let (user, group) = (Uid::from_raw(SKOPEO), Gid::from_raw(SKOPEO));
    setresgid(group, group, group)?;
    Ok(setresuid(user, user, user)?)
}

/// For what the user of a process is changed to. The kernel takes this back in a new user
/// namespace.
#[allow(unsafe_code)]
fn keep_rights() -> io::Result<()> {
    // SAFETY: plain numbers.
    match unsafe { libc::prctl(libc::PR_SET_SECUREBITS, libc::SECBIT_NO_SETUID_FIXUP) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[allow(unsafe_code)]
fn run_before(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: between fork and exec, the closure only makes system calls, on data prepared before.
    unsafe { command.pre_exec(prepare) };
}
