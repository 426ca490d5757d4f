//! Images that a system carries come to a real containerd, and stay there.

use std::fs;

use control::carried::{Importer, NotImported};

use crate::PAUSE;
use crate::runtime::{Containerd, Network};

const PINNED: &str = "io.cri-containerd.pinned=pinned";

#[tokio::test]
async fn carried_images_are_imported_once_and_pinned() {
    let containerd = Containerd::start(PAUSE, Network::Nothing).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let importer = |version: &str, running: &str| Importer {
        root: Containerd::root().unwrap(),
        runtime: containerd.socket(),
        version: version.to_owned(),
        running: running.to_owned(),
    };
    let first = importer("v1.36.3", "v1.35.4");
    assert_eq!(first.bring(folder.path()).await, Ok(Vec::new()));

    let archive = folder.path().join("rig.tar");
    fs::copy(Containerd::images().unwrap(), &archive).unwrap();
    containerd.ctr(&["remove", PAUSE]).unwrap();
    let names = [PAUSE, "localhost/busybox:rig"].map(str::to_owned);
    for _ in 0..2 {
        assert_eq!(first.bring(folder.path()).await.unwrap(), names);
        let missing = cri::missing_images(&containerd.socket(), &names).await;
        assert!(missing.unwrap().is_empty());
        let listed = containerd.ctr(&["list"]).unwrap();
        assert_eq!(pinned(&listed), 2, "{listed}");
    }

    // Two upgrades later, another system has brought its own.
    let other = tempfile::tempdir().unwrap();
    let next = importer("v1.38.1", "v1.37.2");
    fs::copy(&archive, other.path().join("rig.tar")).unwrap();
    containerd
        .ctr(&["tag", PAUSE, "localhost/other:rig"])
        .unwrap();
    let labels = [PINNED, "careen.dev/carried=v1.36.3"];
    containerd
        .ctr(&["label", "localhost/other:rig", labels[0], labels[1]])
        .unwrap();
    next.bring(other.path()).await.unwrap();
    let listed = containerd.ctr(&["list"]).unwrap();
    assert_eq!(
        listed.matches("careen.dev/carried=v1.38.1").count(),
        2,
        "{listed}"
    );
    assert_eq!(pinned(&listed), 2, "the kubelet may remove it: {listed}");
}

/// How many names are pinned. The runtime lists each image by its id as well, with the labels that
/// it had at first.
fn pinned(listed: &str) -> usize {
    let named = listed.lines().filter(|line| line.starts_with("localhost/"));
    named.filter(|line| line.contains(PINNED)).count()
}

#[tokio::test]
async fn archive_that_cannot_be_imported_is_named() {
    let containerd = Containerd::start(PAUSE, Network::Nothing).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("torn.tar");
    let whole = fs::read(Containerd::images().unwrap()).unwrap();
    containerd.ctr(&["remove", PAUSE]).unwrap();
    let importer = Importer {
        root: Containerd::root().unwrap(),
        runtime: containerd.socket(),
        version: "v1.36.3".to_owned(),
        running: "v1.35.4".to_owned(),
    };
    fs::write(&archive, &whole[..whole.len() / 2]).unwrap();
    let why = importer.bring(folder.path()).await.unwrap_err();
    assert!(why.to_string().contains("torn.tar"), "{why}");

    fs::write(&archive, &whole).unwrap();
    let nowhere = Importer {
        runtime: "/nowhere/containerd.sock".into(),
        ..importer
    };
    let why = nowhere.bring(folder.path()).await.unwrap_err();
    assert!(matches!(why, NotImported::Refused { .. }), "{why}");
    assert!(why.to_string().contains("/nowhere"), "{why}");
}
