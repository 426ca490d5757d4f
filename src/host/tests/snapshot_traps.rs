//! What an unprivileged user may leave in a saved folder: links, pipes, endless files. Nothing is
//! read or written through them.

#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;
mod kubelet_state;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use disk::{content, upgrade_id};
use host::snapshot;
use kubelet_state::{Node, node};

/// A node whose operator lists a folder that another user may write.
fn with_a_folder_of_somebody_else() -> Node {
    let node = node();
    node.write(
        "etc/careen/snapshot.d/app",
        "/var/lib/app\n/var/lib/app/../../../etc/shadow\n",
    );
    node.write("etc/shadow", "secret");
    node.write("var/lib/app/state", "the app's");
    node
}

#[test]
fn save_does_not_follow_links_inside_a_listed_folder() {
    let node = with_a_folder_of_somebody_else();
    symlink(node.path("etc/shadow"), node.path("var/lib/app/link")).unwrap();
    symlink(node.path("etc"), node.path("var/lib/app/folder")).unwrap();
    node.save();
    let saved = content(&node.places.state());
    let holds = |word: &str| {
        saved.iter().any(|(_, bytes)| {
            bytes
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        })
    };
    assert!(holds("the app's") && !holds("secret"));
}

#[test]
fn restore_replaces_a_link_with_the_file_and_spares_its_target() {
    let node = with_a_folder_of_somebody_else();
    node.save();
    let state = node.path("var/lib/app/state");
    fs::remove_file(&state).unwrap();
    symlink(node.path("etc/shadow"), &state).unwrap();
    node.restore();
    assert!(state.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read_to_string(state).unwrap(), "the app's");
    assert_eq!(
        fs::read_to_string(node.path("etc/shadow")).unwrap(),
        "secret"
    );
}

#[test]
fn restore_does_not_write_through_a_link_at_its_temporary_name() {
    let node = with_a_folder_of_somebody_else();
    node.save();
    node.write("var/lib/app/state", "changed");
    // The name of the file before it is renamed.
    symlink(
        node.path("etc/shadow"),
        node.path("var/lib/app/state.careen-new"),
    )
    .unwrap();
    node.restore();
    let text = |path: &str| fs::read_to_string(node.path(path)).unwrap();
    assert_eq!(text("etc/shadow"), "secret");
    assert_eq!(text("var/lib/app/state"), "the app's");
}

#[test]
fn a_folder_that_became_a_link_is_not_written_through() {
    let node = with_a_folder_of_somebody_else();
    node.write("var/lib/app/conf/passwd", "the app's");
    node.write("etc/passwd", "the system's");
    node.save();
    fs::remove_dir_all(node.path("var/lib/app/conf")).unwrap();
    symlink(node.path("etc"), node.path("var/lib/app/conf")).unwrap();
    let error = snapshot::restore(&node.places, &upgrade_id("one")).unwrap_err();
    assert!(
        error.to_string().contains("there is a link on the path"),
        "{error}"
    );
    let text = |path: &str| fs::read_to_string(node.path(path)).unwrap();
    assert_eq!(text("etc/passwd"), "the system's");
    assert!(!node.path("etc/passwd.careen-new").exists());
}

#[test]
fn a_folder_that_is_a_link_is_not_removed_from() {
    let node = with_a_folder_of_somebody_else();
    node.write("etc/careen/snapshot.d/more", "/var/lib/app/late/*\n");
    node.save();
    symlink(node.path("etc"), node.path("var/lib/app/late")).unwrap();
    node.restore();
    assert!(node.path("etc/shadow").exists());
}

fn pipe(path: &Path) {
    let mode = nix::sys::stat::Mode::S_IRWXU;
    nix::unistd::mkfifo(path, mode).unwrap();
}

/// Runs `act` in a thread, so that a hang does not block the test.
fn in_time<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(act()));
    let limit = std::time::Duration::from_secs(20);
    done.recv_timeout(limit).unwrap()
}

#[test]
fn a_pipe_in_place_of_a_file_holds_nobody_up() {
    let node = with_a_folder_of_somebody_else();
    pipe(&node.path("var/lib/app/pipe"));
    let places = node.places.clone();
    in_time(move || snapshot::save(&places, &upgrade_id("one"))).unwrap();
    let state = node.path("var/lib/app/state");
    fs::remove_file(&state).unwrap();
    pipe(&state);
    let places = node.places.clone();
    in_time(move || snapshot::restore(&places, &upgrade_id("one"))).unwrap();
    assert_eq!(fs::read_to_string(state).unwrap(), "the app's");
}

#[test]
fn what_is_too_large_to_be_state_is_named_and_not_taken_in() {
    let node = with_a_folder_of_somebody_else();
    let large = node.path("var/lib/app/large");
    // The file takes no room itself; a copy of it would take all there is.
    fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    let error = snapshot::save(&node.places, &upgrade_id("one")).unwrap_err();
    let told = error.to_string();
    assert!(
        told.contains("large") && told.contains("67108864"),
        "{told}"
    );
    fs::remove_file(&large).unwrap();
    for number in 0..5000 {
        node.write(&format!("var/lib/app/many/{number}"), "");
    }
    let error = snapshot::save(&node.places, &upgrade_id("one")).unwrap_err();
    assert!(error.to_string().contains("4096"), "{error}");
}

/// A listed folder with a state in the innermost of so many folders, the listed one among them.
fn nested(levels: usize) -> Node {
    let node = with_a_folder_of_somebody_else();
    node.write(
        &format!("var/lib/app{}/state", "/d".repeat(levels - 1)),
        "deep",
    );
    node
}

#[test]
fn folders_are_saved_64_deep_and_named_when_they_are_deeper() {
    nested(64).save();
    let error = snapshot::save(&nested(65).places, &upgrade_id("one")).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("/var/lib/app/d/d/"), "{told}");
    assert!(told.contains("64 folders deep"), "{told}");
}

/// What is found only after the drain costs the node's users the drain.
#[test]
fn limits_of_a_snapshot_are_met_in_its_rehearsal() {
    let rehearsed = |node: &Node| snapshot::rehearse(&node.places).map_err(|e| e.to_string());
    assert_eq!(rehearsed(&nested(64)), Ok(()));
    let told = rehearsed(&nested(65)).unwrap_err();
    assert!(told.contains("64 folders deep"), "{told}");
    let node = with_a_folder_of_somebody_else();
    let grow = |name: &str, length| {
        let file = fs::File::create(node.path(&format!("var/lib/app/{name}"))).unwrap();
        file.set_len(length).unwrap();
    };
    grow("large", 65 << 20);
    let told = rehearsed(&node).unwrap_err();
    assert!(told.contains("it is larger than"), "{told}");
    grow("large", 0);
    (0..5).for_each(|number| grow(&format!("part{number}"), 60 << 20));
    let told = rehearsed(&node).unwrap_err();
    assert!(told.contains("the snapshot is larger than"), "{told}");
    let saved = snapshot::save(&node.places, &upgrade_id("one")).unwrap_err();
    assert_eq!(saved.to_string(), told, "as the save says it");
}

#[test]
fn folders_of_any_depth_take_no_more_of_the_stack() {
    let node = nested(600);
    // The walk that called itself for each level took more than 500 bytes a level.
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let saved = small.spawn(move || snapshot::save(&node.places, &upgrade_id("one")));
    let error = saved.unwrap().join().unwrap().unwrap_err();
    assert!(error.to_string().contains("64 folders deep"), "{error}");
}

#[test]
fn folder_that_became_deep_loses_no_saved_file() {
    let node = with_a_folder_of_somebody_else();
    node.save();
    node.write("var/lib/app/state", "changed");
    node.write(&format!("var/lib/app{}/state", "/d".repeat(100)), "deep");
    let error = snapshot::restore(&node.places, &upgrade_id("one")).unwrap_err();
    assert!(error.to_string().contains("64 folders deep"), "{error}");
    let text = fs::read_to_string(node.path("var/lib/app/state")).unwrap();
    assert_eq!(text, "the app's");
}

#[test]
fn a_file_that_grew_without_end_is_put_back_as_it_was() {
    let node = with_a_folder_of_somebody_else();
    node.save();
    let state = fs::File::options()
        .write(true)
        .open(node.path("var/lib/app/state"));
    state.unwrap().set_len(1 << 40).unwrap();
    assert_eq!(node.restore(), 1);
    let text = fs::read_to_string(node.path("var/lib/app/state")).unwrap();
    assert_eq!(text, "the app's");
}
