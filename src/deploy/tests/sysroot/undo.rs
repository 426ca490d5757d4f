use std::fs::{self, File};
use std::path::PathBuf;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use upgrade::deploy::Done;

use crate::fetch::wait_for;
use crate::image::{Image, noise};
use crate::keys::keys;
use crate::listing::{Change, Listing};
use crate::world::{BRANCH, REMOTE, World, world};

const UNPINNED: [&str; 5] = ["fetch", "--remote", REMOTE, "--ref", BRANCH];

#[test]
fn undo_leaves_the_disk_as_it_was() {
    let world = world();
    let before = (world.disk(), world.order());
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert_eq!(world.verb("undo", &commit).verdict, Ok(Done::Undone));
    assert_eq!((world.disk(), world.order()), before);
}

#[test]
fn undo_takes_back_a_fetch_alone() {
    let world = world();
    let before = world.disk();
    let commit = world.fetched(&Image::new(2));
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.disk(), before);
}

#[test]
fn undoing_twice_changes_nothing() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("undo", &commit).verdict.unwrap();
    let before = world.disk();
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.disk(), before);
}

#[test]
fn undo_leaves_the_default_alone_whatever_it_is_asked() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    world.verb("bless", &commit).verdict.unwrap();
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.order(), [commit.as_str(), world.installed.as_str()]);
    world.verb("undo", &world.installed).verdict.unwrap();
    assert_eq!(world.order(), [commit.as_str(), world.installed.as_str()]);
}

#[test]
fn undo_leaves_what_another_upgrade_has_fetched() {
    let world = world();
    let first = world.fetched(&Image::new(2));
    let second = world.fetched(&Image::new(3));
    world.verb("undo", &first).verdict.unwrap();
    world.verb("verify", &second).verified();
}

/// What libostree has gathered of a pull that did not end, before it becomes objects.
fn gathered(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.root().join("ostree/repo/tmp")).unwrap();
    let folders = entries.map(|entry| entry.unwrap().path());
    let of_a_pull = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("staging-") && path.is_dir()
    };
    folders.filter(of_a_pull).collect()
}

/// Takes back what no commit is known of, and finds the disk as it was before the fetch.
fn undone_without_a_commit(world: &World, before: &Listing) {
    assert_eq!(world.run(&["undo"]).verdict, Ok(Done::Undone));
    let mut changes = before.changes(&Listing::of(&world.root()));
    // libostree keeps the folders of objects and refs.
    let empty = |path: &PathBuf| {
        fs::read_dir(world.root().join(path)).is_ok_and(|mut entries| entries.next().is_none())
    };
    changes.retain(|change| !matches!(change, Change::New(path) if empty(path)));
    assert_eq!(changes, []);
    let remotes = fs::read_dir(world.root().join("ostree/repo/refs/remotes")).unwrap();
    assert_eq!(remotes.count(), 0, "not even a folder of the branch");
    assert!(gathered(world).is_empty(), "{:?}", gathered(world));
}

#[test]
fn undo_of_an_incomplete_branch_fetch_leaves_nothing() {
    let world = world();
    let image = Image::new(2).with("usr/share/big", &noise(7, 50_000));
    let commit = world.publish(&image, Some(&keys().trusted));
    let repo = format!("--repo={}", world.path("repo").display());
    let listing = world.ostree(&[&repo, "ls", "-C", commit.as_str(), "usr/share/big"]);
    let (first, rest) = listing.split_whitespace().nth(4).unwrap().split_at(2);
    fs::remove_file(world.path(&format!("repo/objects/{first}/{rest}.filez"))).unwrap();
    let before = Listing::of(&world.root());
    world.run(&UNPINNED).reason();
    assert_ne!(
        before.changes(&Listing::of(&world.root())),
        [],
        "it left something"
    );
    undone_without_a_commit(&world, &before);
}

#[test]
fn undo_of_a_branch_with_a_refused_commit_leaves_nothing() {
    let world = world();
    let before = Listing::of(&world.root());
    world.publish(&Image::new(2), Some(&keys().stranger));
    world.run(&UNPINNED).reason();
    undone_without_a_commit(&world, &before);
}

#[test]
fn undo_of_a_branch_fetch_without_its_commit_leaves_nothing() {
    let world = world();
    let before = Listing::of(&world.root());
    world.publish(&Image::new(2), Some(&keys().trusted));
    world.run(&UNPINNED).fetched();
    undone_without_a_commit(&world, &before);
}

#[test]
fn undo_of_a_killed_branch_fetch_leaves_nothing() {
    let world = world();
    let image = (0..40).fold(Image::new(2), |image, n| {
        image.with(&format!("usr/share/{n}"), &noise(n + 50, 50_000))
    });
    world.publish(&image, Some(&keys().trusted));
    let before = Listing::of(&world.root());
    world.server.stall_after(1_200_000);
    let mut child = world.start(&UNPINNED);
    wait_for(|| world.server.is_stalled());
    kill(
        Pid::from_raw(child.id().try_into().unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    child.wait().unwrap();
    assert!(!gathered(&world).is_empty(), "nothing was under way");
    world.server.recover();
    undone_without_a_commit(&world, &before);
}

#[test]
fn a_note_that_a_commit_is_half_here_does_not_outlive_it() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let state = world.root().join("ostree/repo/state");
    let note = state.join(format!("{commit}.commitpartial"));
    let of_the_commit = ["undo", "--commit", commit.as_str()];
    for undo in [&of_the_commit[..], &["undo"]] {
        // As a pull leaves it that is cut off before the commit itself is written.
        fs::create_dir_all(&state).unwrap();
        fs::write(&note, "").unwrap();
        world.run(undo).verdict.unwrap();
        assert!(!note.exists(), "{undo:?}");
    }
}

#[test]
fn undo_removes_refs_and_origins_left_half_written_by_libostree() {
    let world = world();
    let before = world.disk();
    let commit = world.fetched(&Image::new(2));
    // Its name is given it by a rename, before which a run may be killed.
    let held = world.root().join("ostree/repo/refs/heads/careen/target");
    fs::rename(&held, held.with_file_name("tmp.aB3dE6")).unwrap();
    let origin = world.root().join("ostree/deploy/node/deploy/tmp.Zy9xW8");
    fs::write(origin, "[origin]\n").unwrap();
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.disk(), before);
}

#[test]
fn undo_and_clean_remove_half_written_signatures() {
    let world = world();
    let before = world.disk();
    let commit = world.fetched(&Image::new(2));
    let of_the_commit = ["undo", "--commit", commit.as_str()];
    for next in [&of_the_commit[..], &["undo"], &["clean"]] {
        signatures_half_written(&world);
        world.run(next).verdict.unwrap();
        assert_eq!(world.disk(), before, "{next:?}");
    }
}

/// As a pull leaves them that is killed before it gives them their name.
fn signatures_half_written(world: &World) -> PathBuf {
    let folder = world.root().join("ostree/repo/objects/29");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("tmp.1IKcmA");
    fs::write(&file, "a part").unwrap();
    file
}

#[test]
fn what_somebody_else_pulls_at_the_moment_is_left_to_him() {
    let world = world();
    let file = signatures_half_written(&world);
    let folder = world.root().join("ostree/repo/tmp/staging-his-abcdef");
    fs::create_dir(&folder).unwrap();
    let lock = File::create(folder.with_file_name("staging-his-abcdef-lock")).unwrap();
    let mut whole = unlocked();
    whole.l_type = libc::F_WRLCK as libc::c_short;
    fcntl(&lock, FcntlArg::F_OFD_SETLK(&whole)).unwrap();
    world.run(&["undo"]).verdict.unwrap();
    assert!(folder.is_dir() && file.exists());
    fcntl(&lock, FcntlArg::F_OFD_SETLK(&unlocked())).unwrap();
    world.run(&["undo"]).verdict.unwrap();
    assert!(!folder.exists() && !file.exists());
}

#[test]
fn undo_removes_half_assembled_layers_and_no_foreign_files() {
    let world = world();
    let tmp = world.root().join("ostree/repo/tmp");
    let left = tmp.join("6f1c0e52-93a7-4d0b-8a54-2be1f0c7d9aa");
    let [others, named] =
        ["0b9e7c14-55d2-4f6e-9c31-aa07d4e8f213", "cache"].map(|name| tmp.join(name));
    for file in [
        left.join("root/usr/bin/kubelet"),
        others.join("something"),
        named.join("root/file"),
    ] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    world.run(&["undo"]).verdict.unwrap();
    assert!(!left.exists());
    assert!(others.join("something").exists() && named.join("root/file").exists());
}

const fn unlocked() -> libc::flock {
    libc::flock {
        l_type: libc::F_UNLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

#[test]
fn an_undo_without_a_commit_leaves_what_is_deployed() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let order = world.order();
    assert_eq!(world.run(&["undo"]).verdict, Ok(Done::Undone));
    assert_eq!(world.order(), order);
    world.verb("bless", &commit).verdict.unwrap();
}
