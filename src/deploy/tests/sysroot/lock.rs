use std::fs::{self, File};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use upgrade::Reason;

use crate::image::Image;
use crate::world::{World, world};

/// Takes the lock as libostree does: for an open file, not for a process (fcntl(2), F_OFD_SETLK).
fn take(lock: &File) {
    let whole = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(lock, FcntlArg::F_OFD_SETLK(&whole)).unwrap();
}

fn lock(world: &World) -> File {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    let lock = options.open(world.root().join("ostree/lock")).unwrap();
    take(&lock);
    lock
}

#[test]
fn every_verb_that_writes_the_menu_waits_for_the_lock() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let before = (world.disk(), world.menu());
    let lock = lock(&world);
    for verb in ["deploy", "bless", "undo", "clean"] {
        let mut arguments = vec!["--lock-seconds", "1", verb];
        if verb != "clean" {
            arguments.extend(["--commit", commit.as_str()]);
        }
        let reason = world.run(&arguments).reason();
        let held = matches!(reason, Reason::LockHeld { seconds: 1, .. });
        assert!(held, "{verb}: {reason}");
    }
    assert_eq!((world.disk(), world.menu()), before);
    drop(lock);
    world.verb("bless", &commit).verdict.unwrap();
}

#[test]
fn who_holds_the_lock_is_named_when_the_wait_is_over() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let lock = lock(&world);
    let answer = world.run(&["--lock-seconds", "1", "deploy", "--commit", commit.as_str()]);
    assert!(
        answer.progress[0]
            .doing
            .starts_with("waiting for the OSTree lock, held by "),
        "{:?}",
        answer.progress
    );
    let name = fs::read_to_string("/proc/self/comm").unwrap();
    let holder = format!("{} (pid {})", name.trim(), std::process::id());
    assert_eq!(answer.reason(), Reason::LockHeld { holder, seconds: 1 });
    drop(lock);
    world.verb("deploy", &commit).deployed();
}
