//! Somebody else uses `ostree` between our steps.

use std::process::Command;

use host::{Error, Places, boot};
use nix::mount::{MsFlags, mount};
use upgrade::Reason;
use upgrade::id::Digest;
use upgrade::image::Deployment;

use crate::generator::generator;
use crate::image::Image;
use crate::keys::keys;
use crate::menu::{armed, with_one_shot};
use crate::run::succeed;
use crate::running::running;
use crate::world::{World, fetching};

/// Another image, deployed by hand. `ostree` finds the generator as on a node whose administrator
/// has set it for all.
fn deploy_by_hand(world: &World, version: u32, flags: &[&str]) -> String {
    let commit = world.fetched(&Image::new(version));
    let mut command = Command::new("ostree");
    command
        .args(["admin", "deploy", "--os=node"])
        .arg(format!("--sysroot={}", world.root().display()))
        .args(flags)
        .arg(commit.as_str())
        .env("OSTREE_SYSROOT_DEBUG", "mutable-deployments")
        .env("OSTREE_GRUB2_EXEC", generator());
    succeed(&mut command);
    commit.to_string()
}

fn deployed(world: &World) -> (Digest, Deployment) {
    let commit = world.fetched(&Image::new(2));
    let made = world.verb("deploy", &commit).deployed();
    assert_eq!(armed(world, &made).unwrap(), 1);
    (commit, made)
}

#[test]
fn menu_position_follows_ours_after_another_is_deployed() {
    let world = with_one_shot();
    let (commit, made) = deployed(&world);
    let theirs = deploy_by_hand(&world, 3, &["--not-as-default", "--retain"]);
    let order = world.order();
    assert!(order[0] == world.installed.as_str() && order.contains(&theirs));
    let at = order.iter().position(|one| one == commit.as_str());
    assert_eq!(Some(armed(&world, &made).unwrap()), at);
}

#[test]
fn foreign_default_is_seen_and_survives_our_undo() {
    let world = with_one_shot();
    let (commit, made) = deployed(&world);
    let theirs = deploy_by_hand(&world, 3, &[]);
    let seen = boot::default_first(&Places::physical(&world.root())).unwrap();
    assert_eq!(seen[0].digest.as_str(), theirs, "the brain halts at that");
    // `ostree admin deploy` keeps the default and the new one, and takes ours away.
    let armed = armed(&world, &made);
    let vanished = matches!(&armed, Err(Error::Reason(Reason::TargetVanished { .. })));
    assert!(vanished, "{armed:?}");
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.order(), [theirs.as_str(), world.installed.as_str()]);
}

#[test]
fn deploy_drops_a_deployment_staged_by_others() {
    let node = running();
    let theirs = node.world.publish(&Image::new(3), Some(&keys().trusted));
    node.run(&fetching(&theirs)).fetched();
    let writable = MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    let (none, sysroot) = (None::<&str>, node.live.join("sysroot"));
    mount(none, &sysroot, none, writable, none).unwrap();
    // Its own process 1 and /proc: libostree compares its mounts with those of process 1, which may
    // be closed to a test.
    let mut stage = Command::new("unshare");
    stage
        .args(["--pid", "--fork"])
        .arg(format!("--mount-proc={}", node.live.join("proc").display()))
        .arg("chroot")
        .arg(&node.live)
        .args(["ostree", "admin", "deploy", "--stage", theirs.as_str()])
        .env(
            "OSTREE_SYSROOT_DEBUG",
            "mutable-deployments,test-staged-path",
        );
    succeed(&mut stage);
    let staged = node.live.join("run/ostree/staged-deployment");
    assert!(staged.exists());
    let commit = node.deployed(&Image::new(2));
    assert!(!staged.exists(), "the shutdown would finish it");
    let installed = node.world.installed.as_str();
    assert_eq!(node.world.order(), [installed, commit.as_str()]);
}
