//! Images that lie here and are not to be deployed, or cannot be.

use std::fs;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use upgrade::Reason;

use super::refused;
use crate::image::Image;
use crate::listing::Listing;
use crate::world::world;

/// What speaks against these the brain finds in what `verify` has read; here is that reading leaves
/// no trace.
#[test]
fn an_image_that_the_brain_refuses_is_read_and_nothing_else() {
    let world = world();
    let info = |text: &str| Image {
        info: Some(text.to_owned()),
        ..Image::new(2)
    };
    let images = [
        info(r#"{"format":1,"kubernetes":"v1.2.0","architecture":"riscv64","stage":1}"#),
        info(r#"{"format":1,"kubernetes":"v1.2.0","architecture":"x86_64"}"#),
        info(r#"{"format":1,"kubernetes":"v1.9.0","architecture":"x86_64","stage":1}"#),
        Image {
            info: None,
            ..Image::new(2)
        },
        Image {
            kernel: None,
            ..Image::new(2)
        },
    ];
    let found = images.map(|image| {
        let commit = world.fetched(&image);
        let before = Listing::of(&world.root());
        let facts = world.verb("verify", &commit).verified();
        assert_eq!(before.changes(&Listing::of(&world.root())), []);
        let said = facts.info.map(|info| {
            let kubernetes = info.kubernetes.to_string();
            (kubernetes, info.architecture, info.stage)
        });
        (said, facts.kernel.is_some())
    });
    let said = |kubernetes: &str, architecture: &str, stage| {
        Some((kubernetes.to_owned(), architecture.to_owned(), stage))
    };
    let expected = [
        (said("v1.2.0", "riscv64", Some(1)), true),
        (said("v1.2.0", "x86_64", None), true),
        (said("v1.9.0", "x86_64", Some(1)), true),
        (None, true),
        (said("v1.2.0", "x86_64", Some(1)), false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_image_json_that_cannot_be_understood_is_named() {
    let world = world();
    for garbage in [
        "{",
        r#"{"format":2,"kubernetes":"v1.2.0","architecture":"x86_64"}"#,
    ] {
        let commit = world.fetched(&Image {
            info: Some(garbage.to_owned()),
            ..Image::new(2)
        });
        let words = ["image", commit.as_str(), "/usr/lib/careen/image.json"];
        let verify = ["verify", "--commit", commit.as_str()];
        let reason = refused(&world, &verify, &words);
        assert!(matches!(reason, Reason::NoImageInfo { .. }), "{reason}");
    }
}

#[test]
fn an_image_json_without_measure_is_not_read() {
    let world = world();
    let info = Image::new(2).info.unwrap();
    let commit = world.fetched(&Image {
        info: Some(format!("{}{info}", " ".repeat(1 << 20))),
        ..Image::new(2)
    });
    let words = ["image", commit.as_str(), "bytes long"];
    let verify = ["verify", "--commit", commit.as_str()];
    let reason = refused(&world, &verify, &words);
    assert!(matches!(reason, Reason::NoImageInfo { .. }), "{reason}");
}

#[test]
fn an_image_without_a_kernel_cannot_be_deployed() {
    let world = world();
    let commit = world.fetched(&Image {
        kernel: None,
        ..Image::new(2)
    });
    let deploy = ["deploy", "--commit", commit.as_str()];
    let words = ["image", commit.as_str(), "kernel", "/usr/lib/modules"];
    let reason = refused(&world, &deploy, &words);
    assert!(matches!(reason, Reason::NoKernel { .. }), "{reason}");
}

#[test]
fn unfetched_commit_cannot_be_verified_or_deployed() {
    let world = world();
    let commit = "ab".repeat(32);
    for verb in ["verify", "deploy"] {
        let reason = refused(&world, &[verb, "--commit", &commit], &["commit", &commit]);
        assert!(matches!(reason, Reason::Damaged { .. }), "{reason}");
    }
}

#[test]
fn what_is_not_deployed_cannot_be_blessed() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let bless = ["bless", "--commit", commit.as_str()];
    let reason = refused(&world, &bless, &[commit.as_str(), "boot menu"]);
    assert!(matches!(reason, Reason::TargetVanished { .. }), "{reason}");
}

#[test]
fn changed_file_that_becomes_a_folder_is_named_before_any_write() {
    let world = world();
    fs::write(world.etc("thing"), "mine").unwrap();
    let commit = world.fetched(&Image::new(2).with("usr/etc/thing/part", b"x"));
    let deploy = ["deploy", "--commit", commit.as_str()];
    let reason = refused(&world, &deploy, &["/etc/thing ", "folder"]);
    assert!(matches!(reason, Reason::EtcMerge { .. }), "{reason}");
}

#[test]
fn a_pipe_in_etc_is_named_before_anything_is_written() {
    let world = world();
    mkfifo(&world.etc("pipe"), Mode::S_IRWXU).unwrap();
    let commit = world.fetched(&Image::new(2));
    let deploy = ["deploy", "--commit", commit.as_str()];
    let reason = refused(
        &world,
        &deploy,
        &["/etc/pipe ", "is not a file, link or folder"],
    );
    assert!(matches!(reason, Reason::EtcMerge { .. }), "{reason}");
}
