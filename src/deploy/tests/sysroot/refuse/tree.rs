//! Names and links in an image that lead elsewhere.

use upgrade::Reason;

use super::{pinned, refused};
use crate::forged;
use crate::image::Image;
use crate::keys::keys;
use crate::world::{REMOTE, world};

#[test]
fn signed_tree_with_a_name_escaping_it_is_refused() {
    let world = world();
    let good = world.publish(&Image::new(2), Some(&keys().trusted));
    for name in ["../escaped", "usr/escaped", "..", "."] {
        let forged = forged::with_name(&world, &good, name);
        let reason = refused(&world, &pinned(forged.as_str()), &["remote", REMOTE]);
        assert!(
            matches!(reason, Reason::RemoteAway { .. }),
            "{name}: {reason}"
        );
    }
    // Nothing else was wrong with the forgeries.
    let harmless = forged::with_name(&world, &good, "another");
    assert_eq!(world.fetch(&harmless).fetched().0, harmless);
}

#[test]
fn an_image_json_that_is_a_link_is_not_followed() {
    let world = world();
    let info = Image::new(2).info.unwrap();
    let image = Image::new(2)
        .with("usr/lib/careen/true.json", info.as_bytes())
        .with_link("usr/lib/careen/image.json", "true.json");
    let commit = world.fetched(&image);
    let words = ["image", commit.as_str(), "/usr/lib/careen/image.json"];
    let reason = refused(&world, &["verify", "--commit", commit.as_str()], &words);
    assert!(matches!(reason, Reason::NoImageInfo { .. }), "{reason}");
}

#[test]
fn image_with_two_kernels_is_refused() {
    let world = world();
    for other in ["6.1.0", "6.9.0"] {
        let path = format!("usr/lib/modules/{other}/vmlinuz");
        let commit = world.fetched(&Image::new(2).with(&path, b"another kernel"));
        assert_eq!(world.verb("verify", &commit).verified().kernel, None);
        let words = ["image", commit.as_str(), "kernel"];
        let reason = refused(&world, &["deploy", "--commit", commit.as_str()], &words);
        assert!(matches!(reason, Reason::NoKernel { .. }), "{reason}");
    }
    // Modules alone are no kernel.
    let image = Image::new(2).with("usr/lib/modules/6.1.0/extra.ko", b"module");
    let facts = world.verb("verify", &world.fetched(&image)).verified();
    assert_eq!(facts.kernel.as_deref(), Some("6.2.0"));
}

#[test]
fn a_kernel_that_is_a_link_is_none() {
    let world = world();
    let image = Image::new(2)
        .with("usr/lib/modules/6.2.0/true", b"kernel")
        .with_link("usr/lib/modules/6.2.0/vmlinuz", "true");
    let commit = world.fetched(&image);
    assert_eq!(world.verb("verify", &commit).verified().kernel, None);
    let words = ["image", commit.as_str(), "kernel"];
    let reason = refused(&world, &["deploy", "--commit", commit.as_str()], &words);
    assert!(matches!(reason, Reason::NoKernel { .. }), "{reason}");
}
