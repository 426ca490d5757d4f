use std::fs::{self, File};
use std::io::{BufRead, BufReader};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use upgrade::Reason;

use crate::crash::with_generator;
use crate::fetch::wait_for;
use crate::image::Image;
use crate::run::Answer;
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

/// A swap that goes on once somebody writes into the pipe; those behind it do not stop.
fn with_a_swap_that_stops(world: World) -> (World, std::path::PathBuf) {
    let (pipe, begun) = (world.path("pipe"), world.path("begun"));
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let stop = format!(
        "#!/bin/sh\nif mkdir {}; then read line <{}; fi\nexec touch \"$2\"\n",
        begun.display(),
        pipe.display()
    );
    fs::write(world.path("generator"), stop).unwrap();
    (world, pipe)
}

#[test]
fn who_has_waited_for_the_lock_sees_what_its_holder_has_made() {
    let world = with_generator("exec touch \"$2\"");
    let [second, third] = [2, 3].map(|version| world.fetched(&Image::new(version)));
    world.verb("deploy", &second).deployed();
    let (world, pipe) = with_a_swap_that_stops(world);
    let holder = world.start(&["deploy", "--commit", third.as_str()]);
    wait_for(|| world.path("begun").exists());
    let mut waiting = world.start(&["bless", "--commit", second.as_str()]);
    let mut line = String::new();
    BufReader::new(waiting.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("waiting for the OSTree lock"), "{line}");
    fs::write(pipe, "on\n").unwrap();
    Answer::of(&holder.wait_with_output().unwrap()).deployed();
    assert!(waiting.wait().unwrap().success());
    let order = [&second, &world.installed, &third].map(|commit| commit.to_string());
    assert_eq!(world.order(), order);
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
