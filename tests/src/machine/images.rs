//! What the machine finds in an image.

use upgrade::plan::{Change, Found, Package};
use upgrade::{Digest, ImageFacts, ImageInfo, Room};

use super::NEW_VERSION;
use super::systems::digest;
use crate::node::OLD_VERSION;

pub(super) fn facts(commit: Digest) -> ImageFacts {
    let room = Room { need: 1, free: 2 };
    let version = if commit == digest("b") {
        NEW_VERSION
    } else {
        OLD_VERSION
    };
    let info = ImageInfo {
        format: 1,
        kubernetes: version
            .parse()
            .unwrap_or_else(|_| unreachable!("a version")),
        architecture: "x86_64".to_owned(),
        stage: Some(1),
        control: 0,
    };
    let kernel = Some("6.12.0".to_owned());
    ImageFacts {
        commit,
        info: Some(info),
        kernel,
        timestamp: 0,
        running: None,
        lacks: Box::default(),
        branches: Box::default(),
        running_branches: Box::default(),
        root: room,
        boot: room,
    }
}

pub(super) fn found(commit: Digest) -> Found {
    let change = Change {
        from: Some("1.7.24".to_owned()),
        to: Some("2.0.5".to_owned()),
    };
    let package = Package {
        name: "containerd".to_owned(),
        change,
        bytes: 1 << 20,
    };
    Found {
        facts: facts(commit),
        kernel: Some("6.1.0".to_owned()),
        packages: vec![package],
        fetch_bytes: None,
        etc_conflicts: vec!["/etc/motd".to_owned()],
        accounts: Vec::new(),
        etc_refusal: None,
        kept_goes: false,
    }
}
