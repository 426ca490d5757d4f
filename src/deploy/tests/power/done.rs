//! The power fails right after a step, and everything that was not flushed is lost. The agent may
//! have recorded by then that the step is done, and does not repeat it.

use upgrade::id::Digest;

use crate::cut::{Cut, Fate};
use crate::judge::same;
use crate::node::{Node, keep_mounts_private};
use crate::recording::{Recording, Told, record};
use crate::shelf::Shelf;
use crate::story::{self, Act};
use crate::world::World;

/// With a second upgrade, after which there is a system too many: its clean-up takes a kernel off
/// /boot.
fn to_a_third_system(second: &Digest, third: &Digest) -> Vec<Act> {
    let mut acts = story::acts(second, third);
    let new = || third.clone();
    acts.extend([
        Act::Fetch(new()),
        Act::Deploy(new()),
        Act::Bless(new()),
        Act::Clean,
    ]);
    acts
}

/// # Errors
/// What of the step is not there, once the node is on again.
fn stands(shelf: &Shelf, world: &World, recording: &Recording, told: &Told) -> Result<(), String> {
    let cut = Cut {
        index: told.index,
        at: told.end,
        fates: [Fate::Lost, Fate::Lost],
        seed: 0,
    };
    let numbers = cut.disks(recording).map(|disk| shelf.lend(disk, None));
    let node = Node::start(shelf, &world.root(), numbers);
    let seen = node.and_then(|_node| story::observe(world));
    for number in numbers {
        shelf.take(number);
    }
    same(&seen?, &told.after, |_| true)
}

#[test]
fn steps_reported_done_survive_a_power_loss() {
    keep_mounts_private();
    let shelves = tempfile::tempdir().unwrap();
    let shelf = Shelf::at(&shelves.path().join("story"));
    let (world, recording) = record(&shelf, to_a_third_system);
    let lost = recording.told.iter().filter_map(|told| {
        let why = stands(&shelf, &world, &recording, told).err()?;
        Some(format!("{}, step {}: {why}", told.act.name(), told.index))
    });
    assert_eq!(lost.collect::<Vec<_>>(), [""; 0]);
}
