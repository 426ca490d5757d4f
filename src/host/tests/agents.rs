//! Agents that a pod installs: each is complete or absent, and the choice depends on what is really
//! there.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::Path;

use host::agents::{AgentId, Agents, Bundle, Launched, PROGRAMS, Role, Tried};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use upgrade::launch::STARTS;

/// A bundle as a pod brings it.
fn brought(version: &str) -> (TempDir, Bundle) {
    brought_with(&PROGRAMS, version)
}

fn brought_with(programs: &[&str], version: &str) -> (TempDir, Bundle) {
    let folder = tempfile::tempdir().unwrap();
    let mut sums = String::new();
    for program in programs {
        let content = format!("{program} of {version}");
        sums += &format!("{}  {program}\n", hex::encode(Sha256::digest(&content)));
        fs::write(folder.path().join(program), content).unwrap();
    }
    fs::write(folder.path().join("SHA256SUMS"), sums).unwrap();
    fs::write(folder.path().join("VERSION"), format!("{version}\n")).unwrap();
    let bundle = Bundle::open(folder.path()).unwrap();
    (folder, bundle)
}

struct Node {
    root: TempDir,
    agents: Agents,
}

fn node() -> Node {
    let root = tempfile::tempdir().unwrap();
    let agents = Agents::below(root.path());
    Node { root, agents }
}

impl Node {
    fn with(role: Role, version: &str) -> (Self, AgentId) {
        let node = node();
        let (_folder, bundle) = brought(version);
        node.agents.take(&bundle).unwrap();
        node.agents.appoint(role, &bundle.id).unwrap();
        (node, bundle.id)
    }

    fn has(&self, id: &AgentId) -> bool {
        self.agents.folder().join(id.as_str()).is_dir()
    }
}

fn spoil(folder: &Path, name: &str) {
    fs::write(folder.join(name), "something else").unwrap();
}

#[test]
fn where_nothing_was_installed_there_is_nothing_to_choose() {
    let found = node().agents.find();
    assert_eq!((found.wanted, found.proven), (None, None));
    assert!(found.damage.is_empty(), "{:?}", found.damage);
}

#[test]
fn what_was_taken_is_what_was_brought() {
    let (node, id) = Node::with(Role::Wanted, "0.1.1");
    let bundle = node.agents.bundle(&id).unwrap();
    assert_eq!(bundle.release.to_string(), "0.1.1");
    let agent = fs::read_to_string(bundle.program("careen-agent")).unwrap();
    assert_eq!(agent, "careen-agent of 0.1.1");
}

#[test]
fn a_bundle_with_a_wrong_digest_is_not_taken() {
    let (folder, bundle) = brought("0.1.1");
    spoil(folder.path(), "careen-deploy");
    let node = node();
    let error = node.agents.take(&bundle).unwrap_err().to_string();
    assert!(
        error.contains("careen-deploy") && error.contains("SHA256SUMS"),
        "{error}"
    );
    assert!(!node.has(&bundle.id));
    let left = fs::read_dir(node.agents.folder()).unwrap();
    assert_eq!(left.count(), 0, "nothing is left of the copy");
}

#[test]
fn bundle_with_missing_program_or_invalid_version_is_rejected() {
    let (folder, _) = brought("0.1.1");
    spoil(folder.path(), "VERSION");
    assert!(
        Bundle::open(folder.path())
            .unwrap_err()
            .to_string()
            .contains("VERSION")
    );
    let (folder, _) = brought("0.1.1");
    fs::remove_file(folder.path().join("careen-grub")).unwrap();
    assert!(
        Bundle::open(folder.path())
            .unwrap_err()
            .to_string()
            .contains("careen-grub")
    );
}

/// The pod of an earlier version has brought it, and a node may have no other agent.
#[test]
fn bundle_from_before_careen_control_is_taken_and_stays_whole() {
    let mut of_before = PROGRAMS.to_vec();
    of_before.retain(|name| *name != "careen-control");
    let (_folder, bundle) = brought_with(&of_before, "0.1.0");
    let node = node();
    node.agents.take(&bundle).unwrap();
    node.agents.appoint(Role::Proven, &bundle.id).unwrap();
    let found = node.agents.find();
    assert_eq!(found.proven.unwrap().id, bundle.id);
    assert!(!bundle.program("careen-control").exists());
}

#[test]
fn bundle_whose_digests_name_careen_control_must_have_it() {
    let (node, id) = Node::with(Role::Wanted, "0.1.1");
    let folder = node.agents.folder().join(id.as_str());
    spoil(&folder, "careen-control");
    assert_eq!(node.agents.find().wanted, None);
    fs::remove_file(folder.join("careen-control")).unwrap();
    let found = node.agents.find();
    assert_eq!(found.wanted, None);
    let damage = found.damage[0].to_string();
    assert!(damage.contains("careen-control"), "{damage}");
}

#[test]
fn what_was_spoilt_on_the_disk_is_no_candidate_and_is_told() {
    let (node, id) = Node::with(Role::Wanted, "0.1.1");
    spoil(&node.agents.folder().join(id.as_str()), "careen-agent");
    let found = node.agents.find();
    assert_eq!(found.wanted, None);
    assert_eq!(found.damage.len(), 1, "{:?}", found.damage);
}

#[test]
fn taking_a_damaged_agent_again_repairs_it() {
    let (node, id) = Node::with(Role::Wanted, "0.1.1");
    spoil(&node.agents.folder().join(id.as_str()), "careen-agent");
    let (_folder, bundle) = brought("0.1.1");
    node.agents.take(&bundle).unwrap();
    assert!(node.agents.bundle(&id).is_ok());
}

#[test]
fn what_a_cut_has_left_half_copied_is_in_nobodys_way() {
    let node = node();
    fs::create_dir_all(node.agents.folder().join("taking")).unwrap();
    fs::write(node.agents.folder().join("taking/careen-agent"), "half").unwrap();
    let (_folder, bundle) = brought("0.1.1");
    node.agents.take(&bundle).unwrap();
    assert!(node.agents.bundle(&bundle.id).is_ok());
}

#[test]
fn a_link_out_of_the_folder_is_no_bundle() {
    let (node, _) = Node::with(Role::Wanted, "0.1.1");
    let link = node.agents.folder().join("proven");
    std::os::unix::fs::symlink("/usr/bin", link).unwrap();
    let found = node.agents.find();
    assert!(found.wanted.is_some() && found.proven.is_none());
    assert_eq!(found.damage.len(), 1, "{:?}", found.damage);
}

#[test]
fn start_count_applies_to_the_tried_bundle_until_it_is_proven() {
    let (node, id) = Node::with(Role::Wanted, "0.1.1");
    let (_folder, other) = brought("0.1.0");
    let starts = |tried: &AgentId| {
        let tried = Tried {
            id: tried.clone(),
            starts: 2,
        };
        let there = node.agents.find().candidates(None, Some(&tried), None);
        there.wanted.unwrap().starts
    };
    assert_eq!((starts(&id), starts(&other.id)), (2, 0));
    node.agents.appoint(Role::Proven, &id).unwrap();
    assert_eq!(starts(&id), 0);
}

#[test]
fn proven_agent_out_of_starts_yields_to_the_image_for_this_boot() {
    let (node, id) = Node::with(Role::Wanted, "0.1.1");
    node.agents.appoint(Role::Proven, &id).unwrap();
    let image = "0.1.0".parse().unwrap();
    let picked = || node.agents.pick(Some(&image)).bundle.is_some();
    for start in 1..=STARTS {
        assert!(picked(), "start {start}");
        assert_eq!(node.agents.launched().unwrap().left, None);
    }
    assert!(!picked());
    assert_eq!(node.agents.launched().unwrap().left, Some(id));
    // /run is new after a boot, possibly of another system.
    fs::remove_dir_all(node.root.path().join("run")).unwrap();
    assert!(picked());
    assert_eq!(node.agents.launched().unwrap().left, None);
}

#[test]
fn proven_agent_that_lasts_is_picked_however_often_it_starts() {
    let (node, id) = Node::with(Role::Wanted, "0.1.1");
    node.agents.appoint(Role::Proven, &id).unwrap();
    let image = "0.1.0".parse().unwrap();
    for start in 1..=3 * STARTS {
        let picked = node.agents.pick(Some(&image)).bundle;
        assert!(picked.is_some(), "start {start}");
        node.agents.lasted(&id).unwrap();
    }
}

#[test]
fn where_the_image_has_none_a_proven_one_is_started_for_ever() {
    let (node, id) = Node::with(Role::Wanted, "0.1.1");
    node.agents.appoint(Role::Proven, &id).unwrap();
    for _start in 0..3 * STARTS {
        assert!(node.agents.pick(None).bundle.is_some());
    }
}

#[test]
fn launch_note_round_trips_and_an_invalid_note_reads_as_none() {
    let (node, id) = Node::with(Role::Wanted, "0.1.1");
    let note = Launched {
        ran: Some(id),
        ..Launched::default()
    };
    node.agents.note(&note).unwrap();
    assert_eq!(node.agents.launched(), Some(note));
    spoil(node.agents.folder(), "launched");
    assert_eq!(node.agents.launched(), None);
}

#[test]
fn a_note_with_more_in_it_than_this_version_knows_is_read() {
    let (node, _) = Node::with(Role::Wanted, "0.1.1");
    let newer = r#"{"release":"0.9.0","mood":"good"}"#;
    fs::write(node.agents.folder().join("launched"), newer).unwrap();
    assert_eq!(node.agents.launched().unwrap().release, "0.9.0");
}

#[test]
fn clearing_out_leaves_what_has_a_role_or_runs() {
    let (node, wanted) = Node::with(Role::Wanted, "0.1.3");
    let mut taken = Vec::new();
    for version in ["0.1.0", "0.1.1", "0.1.2"] {
        let (_folder, bundle) = brought(version);
        node.agents.take(&bundle).unwrap();
        taken.push(bundle.id);
    }
    node.agents.appoint(Role::Proven, &taken[2]).unwrap();
    let note = Launched {
        ran: Some(taken[1].clone()),
        ..Launched::default()
    };
    node.agents.note(&note).unwrap();
    node.agents.clear_out().unwrap();
    assert!(node.has(&wanted) && node.has(&taken[1]) && node.has(&taken[2]));
    assert!(!node.has(&taken[0]));
}

#[test]
fn removing_leaves_nothing_and_can_be_done_twice() {
    let (node, _) = Node::with(Role::Wanted, "0.1.1");
    node.agents.remove().unwrap();
    node.agents.remove().unwrap();
    assert!(!node.agents.folder().exists());
}
