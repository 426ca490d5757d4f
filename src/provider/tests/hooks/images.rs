//! Which images a Machine may name: what is accepted as a change is what the node's request then
//! names.

use provider::hooks::{PatchType, Rules, image_of};
use serde_json::{Value, json};
use upgrade::container::Transport;

use crate::scene::*;

/// A change of the InfraMachine's image to this one, and otherwise only of the version.
fn change_to(image: &str) -> Sample {
    let mut sample = sample("canupdatemachineset");
    sample.request["settings"] = json!({ "imageFields": "osRef" });
    for (side, text) in [("current", "unlike any image"), ("desired", image)] {
        sample.request[side]["infrastructureMachineTemplate"]["spec"]["template"]["spec"]["osRef"] =
            json!(text);
    }
    sample
}

fn is_let_in(image: &str) -> bool {
    let (world, _) = world();
    let response = call_with(&world, &change_to(image));
    let patched = response["infrastructureMachineTemplatePatch"] != Value::Null;
    let named = response.to_string().contains("osRef");
    assert_ne!(
        patched, named,
        "patched, or refused by the field's name: {response}"
    );
    patched
}

fn is_asked_for(image: &str) -> bool {
    let rules = Rules {
        image_fields: vec!["/osRef".to_owned()],
        patch_type: PatchType::Merge,
    };
    let asked = image_of(&json!({ "osRef": image }), "", &rules);
    matches!(asked, Ok(Some(target)) if target.to_string() == image)
}

fn in_every_form() -> Vec<(String, bool)> {
    let digest = "c".repeat(64);
    let of = |transport: Transport| match transport {
        Transport::Registry => (format!("docker://r.example.com/os@sha256:{digest}"), true),
        Transport::Archive => (format!("oci-archive:/srv/os.tar@sha256:{digest}"), false),
        Transport::Folder => (format!("oci:/srv/os@sha256:{digest}"), false),
    };
    let mut forms: Vec<_> = Transport::ALL.into_iter().map(of).collect();
    forms.extend([
        (image('c'), true),
        ("ostree:".to_owned(), false),
        ("docker://r.example.com/os:latest".to_owned(), false),
        ("ami-0123456789".to_owned(), false),
    ]);
    forms
}

#[tokio::test]
async fn covered_images_equal_requested_images_and_exclude_archives() {
    for (image, wanted) in in_every_form() {
        assert_eq!(is_let_in(&image), wanted, "let in: {image}");
        assert_eq!(is_asked_for(&image), wanted, "asked for: {image}");
    }
}

#[test]
fn a_field_of_somebody_elses_is_left_alone() {
    let rules = Rules {
        image_fields: vec!["/osRef".to_owned()],
        patch_type: PatchType::Merge,
    };
    for theirs in ["ami-0123456789", "oci://r.example.com/os:1", ""] {
        let asked = image_of(&json!({ "osRef": theirs }), "", &rules);
        assert_eq!(asked, Ok(None), "{theirs}");
    }
}
