//! The processes that have the lock of a raise open, and those of them that a raise has left.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

/// A process that has the lock open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub id: u32,
    /// The process that started it, or the one that has taken it over since.
    parent: u32,
    /// It has the lock as its standard input, as nothing but the kubeadm of a raise.
    is_kubeadm: bool,
}

impl User {
    /// Kills it, with the programs that it has started.
    pub fn end(&self, lock: &File) {
        // Looked at once more: its number may be another process's by now.
        let (Ok(lock), Ok(id)) = (lock.metadata(), i32::try_from(self.id)) else {
            return;
        };
        if !is_file(&input(self.id), &lock) {
            return;
        }
        let id = Pid::from_raw(id);
        let sent = match getpgid(Some(id)) {
            Ok(group) if group == id => killpg(group, Signal::SIGKILL),
            Ok(_) | Err(_) => kill(id, Signal::SIGKILL),
        };
        // Otherwise it is gone already.
        if sent.is_ok() {
            eprintln!("careen-control: kubeadm (process {id}) of a raise that was killed is ended");
        }
    }
}

/// All processes but this one that have the lock open.
///
/// # Errors
/// The kernel does not list the processes.
pub(super) fn of(lock: &File) -> io::Result<Vec<User>> {
    let lock = lock.metadata()?;
    let ids = fs::read_dir("/proc")?.flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = ids.filter(|id| *id != process::id());
    Ok(others.filter_map(|id| user(id, &lock)).collect())
}

/// The kubeadms whose raise does not run any more: the process that started them is gone, and
/// another one, which does not have the lock, is their parent.
pub(super) fn left(users: &[User]) -> impl Iterator<Item = &User> {
    let is_user = move |id| users.iter().any(|user| user.id == id);
    let kubeadms = users.iter().filter(|user| user.is_kubeadm);
    kubeadms.filter(move |user| !is_user(user.parent))
}

/// A process that ends meanwhile has nothing open.
fn user(id: u32, lock: &Metadata) -> Option<User> {
    let all = fs::read_dir(format!("/proc/{id}/fd")).ok()?.flatten();
    let mut all = all.map(|entry| entry.path());
    let is_open = all.any(|path| is_file(&path, lock));
    is_open.then_some(User {
        id,
        parent: parent(id)?,
        is_kubeadm: is_file(&input(id), lock),
    })
}

fn input(id: u32) -> PathBuf {
    format!("/proc/{id}/fd/0").into()
}

/// The link of an open file leads to the file itself, also where its name is another one.
fn is_file(link: &Path, file: &Metadata) -> bool {
    let found = fs::metadata(link);
    found.is_ok_and(|found| (found.dev(), found.ino()) == (file.dev(), file.ino()))
}

/// The name of a program may have anything in it, so the fields are counted from its end (proc(5)).
fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}
