//! The probe of a trial at a real containerd: a sandbox starts, or it says what is missing.

#![allow(clippy::unwrap_used)]

mod carried;
mod runtime;

use std::path::Path;

use cri::{Outcome, Probe, probe};
use runtime::{Containerd, Network};

/// The image that the rig's pods have as their sandbox.
const PAUSE: &str = "localhost/pause:rig";

async fn asked(containerd: &Containerd, network: bool) -> Outcome {
    let outcome = probe(&containerd.socket(), network, Path::new("/")).await;
    let left = containerd.sandboxes().unwrap();
    assert!(left.is_empty(), "sandboxes are left: {left:?}");
    outcome
}

fn why(outcome: &Outcome) -> &str {
    outcome.told().1
}

#[tokio::test]
async fn sandbox_starts_and_gets_an_address() {
    let containerd = Containerd::start(PAUSE, Network::Bridge).unwrap();
    assert_eq!(asked(&containerd, true).await, Outcome::Starts);
    assert_eq!(asked(&containerd, false).await, Outcome::Starts);
}

#[tokio::test]
async fn sandbox_image_that_cannot_be_pulled_is_named() {
    let containerd = Containerd::start("registry.invalid/pause:9.9", Network::Bridge).unwrap();
    for network in [true, false] {
        let outcome = asked(&containerd, network).await;
        assert!(matches!(outcome, Outcome::No(_)), "{outcome:?}");
        assert!(
            why(&outcome).contains("registry.invalid/pause:9.9"),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn missing_network_is_told_apart_from_the_sandbox() {
    for (network, said) in [(Network::Nothing, "cni"), (Network::WithoutPlugin, "gone")] {
        let containerd = Containerd::start(PAUSE, network).unwrap();
        let outcome = asked(&containerd, true).await;
        assert!(matches!(outcome, Outcome::WithoutNetwork(_)), "{outcome:?}");
        assert!(why(&outcome).contains(said), "{outcome:?}");
        let has_no_program = network == Network::WithoutPlugin;
        assert_eq!(
            cri::lacks_a_plugin(why(&outcome)),
            has_no_program,
            "{outcome:?}"
        );
        assert_eq!(asked(&containerd, false).await, Outcome::Starts);
    }
}

#[tokio::test]
async fn sandbox_of_a_killed_probe_is_removed_by_the_next() {
    let containerd = Containerd::start(PAUSE, Network::Bridge).unwrap();
    let killed = Probe::connect(&containerd.socket(), Path::new("/"))
        .await
        .unwrap();
    let left = killed.start(cri::Network::Own).await.unwrap();
    assert_eq!(containerd.sandboxes().unwrap(), [left]);
    assert_eq!(asked(&containerd, true).await, Outcome::Starts);
}

#[tokio::test]
async fn absent_runtime_says_nothing_about_the_image() {
    let outcome = probe(Path::new("/nowhere/containerd.sock"), true, Path::new("/")).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
}

#[tokio::test]
async fn image_that_the_runtime_lacks_is_named_and_not_pulled() {
    let containerd = Containerd::start(PAUSE, Network::Nothing).unwrap();
    let asked = [PAUSE.to_owned(), "registry.invalid/etcd:3.6.8-0".to_owned()];
    for _ in 0..2 {
        let missing = cri::missing_images(&containerd.socket(), &asked).await;
        assert_eq!(missing.unwrap(), ["registry.invalid/etcd:3.6.8-0"]);
    }
    let nowhere = Path::new("/nowhere/containerd.sock");
    assert!(cri::missing_images(nowhere, &asked).await.is_err());
}
