//! Keys that are nearly a request, or a part of one: each is told with what is perhaps meant.

use super::*;

/// What a key with this value is taken for.
fn meant(keys: &Keys) -> Option<&'static str> {
    assert_eq!(keys.pause, None);
    keys.strays.first().and_then(|stray| stray.meant)
}

#[test]
fn request_under_another_key_is_answered_in_every_place() {
    for key in [
        "inplace-upgrade",
        "in-place-upgrade",
        "example.com/inplace-upgrade",
        "infrastructure.x-k8s.io/inplace-upgrade",
        "infrastructure.cluster.x-k8s/inplace-upgrade",
        "infrastructure.cluster.x-k8s.io.inplace-upgrade",
        "infrastructure.cluster.x-k8s.io-inplace-upgrade",
        "bootstrap.cluster.x-k8s.io/inplace_upgrade",
        "infrastructure.cluster.x-k8s.io/inplace-update",
        "infrastructure.cluster.x-k8s.io/upgrade",
        "controlplane.cluster.x-k8s.io/inplace-upgrade",
        "controlplane.cluster.x-k8s.io/in-place-upgrade",
        "careen.dev/request",
        "careen.dev/upgrade",
        "careen.dev/schedule",
    ] {
        for value in [
            "Scheduled",
            "scheduled",
            "Schedule",
            "SCHEDULED",
            "Sheduled",
        ] {
            let none = pairs(&[]);
            let one = pairs(&[(key, value)]);
            for keys in [
                annotation(key, value),
                label(key, value),
                Keys::of(&none, &none, &one),
            ] {
                assert_eq!(meant(&keys), Some(names::REQUEST), "{key}={value}");
            }
        }
    }
}

#[test]
fn answer_of_the_agent_is_no_request() {
    for value in ["InProgress", "Upgraded", "Failed"] {
        assert_eq!(annotation(names::ANSWER, value), Keys::default(), "{value}");
    }
}

#[test]
fn parts_of_a_request_without_the_request_are_told() {
    for (parts, key) in [
        (&[names::IMAGE][..], names::IMAGE),
        (&[names::UPGRADE_ID, names::IMAGE], names::IMAGE),
        (&[names::SOAK], names::SOAK),
        (&[names::KUBERNETES_VERSION], names::KUBERNETES_VERSION),
    ] {
        let all: Vec<_> = parts.iter().map(|&key| (key, "x")).collect();
        let keys = Keys::read(&pairs(&all), &pairs(&[]));
        let told: Vec<_> = keys.strays.iter().map(Stray::told).collect();
        let missing = names::REQUEST;
        let line = format!("annotation {key} without a request (annotation {missing} is missing)");
        assert_eq!(told, [line]);
        let whole = [&all[..], &[(names::REQUEST, "Scheduled")]].concat();
        assert_eq!(Keys::read(&pairs(&whole), &pairs(&[])), Keys::default());
    }
}

#[test]
fn image_whose_request_is_a_label_is_told_with_the_label() {
    let (image, request) = ([(names::IMAGE, "x")], [(names::REQUEST, "Scheduled")]);
    let keys = Keys::read(&pairs(&image), &pairs(&request));
    let places: Vec<_> = keys.strays.iter().map(|stray| stray.place).collect();
    assert_eq!(places, [Place::Annotation, Place::Label]);
    assert_eq!(keys.pause, None);
}
