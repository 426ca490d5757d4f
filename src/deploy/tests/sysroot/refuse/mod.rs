//! What careen-deploy refuses: nothing on the disk changes by it, and the sentence names what was
//! wrong.

mod cap;
mod image;
mod name;
mod remote;
mod signature;
mod tree;

use upgrade::Reason;

use crate::listing::{Change, Listing};
use crate::run::Answer;
use crate::world::{BRANCH, REMOTE, World, world};

/// The reason, and nothing but the answer has changed. The sentence for people has all these words
/// in it.
pub fn refused(world: &World, arguments: &[&str], words: &[&str]) -> Reason {
    refused_with(world, arguments, &[], words)
}

/// The same with variables in the environment.
fn refused_with(
    world: &World,
    arguments: &[&str],
    environment: &[(&str, &str)],
    words: &[&str],
) -> Reason {
    let before = Listing::of(&world.root());
    let mut command = world.command(arguments);
    command.envs(environment.iter().copied());
    let reason = Answer::of(&command.output().unwrap()).reason();
    let mut changes = before.changes(&Listing::of(&world.root()));
    changes.retain(|change| !(arguments[0] == "fetch" && is_of_a_pull(change)));
    assert_eq!(changes, [], "{reason}");
    let sentence = reason.to_string();
    for word in words {
        assert!(sentence.contains(word), "no {word:?} in: {sentence}");
    }
    reason
}

/// Objects of a pull that failed half way lie there until the next one or an undo, with a note that
/// the commit is partial. Nothing of it holds an image: a ref would, and is none of these.
fn is_of_a_pull(change: &Change) -> bool {
    let Change::New(path) = change else {
        return false;
    };
    path.starts_with("ostree/repo/objects") || path.starts_with("ostree/repo/state")
}

fn fetch<'a>(remote: &'a str, branch: &'a str) -> Vec<&'a str> {
    vec!["fetch", "--remote", remote, "--ref", branch]
}

fn pinned(commit: &str) -> Vec<&str> {
    [&fetch(REMOTE, BRANCH)[..], &["--commit", commit]].concat()
}

#[test]
fn wrong_usage_is_told_by_its_own_exit_code() {
    let world = world();
    for arguments in [&["fetch"][..], &["verify", "--commit", "abc"], &["sail"]] {
        assert_eq!(
            world.command(arguments).output().unwrap().status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}
