//! What the world gives is parsed or refused with the field, the value and the accepted form; it
//! never panics.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use upgrade::target::request;
use upgrade::*;

proptest! {
    #[test]
    fn no_image_reference_panics_and_what_parses_prints_as_it_was(text in "(ostree:|docker://|oci:/|oci-archive:/)?[a-z:/@. \\-]{0,40}(@(sha256:)?[0-9a-f]{64}){0,2}") {
        if let Ok(target) = text.parse::<Target>() {
            prop_assert_eq!(target.to_string(), text);
        }
    }

    #[test]
    fn no_bytes_panic_any_parser(text in "\\PC*") {
        let _ = text.parse::<Target>();
        let _ = text.parse::<Version>();
        let _ = text.parse::<UpgradeId>();
        let _ = text.parse::<Digest>();
        let _ = serde_json::from_str::<Record>(&text);
        let _ = serde_json::from_str::<deploy::Line>(&text);
    }

    #[test]
    fn versions_print_as_they_were_parsed(major in 0_u32..9, minor in 0_u32..99, patch in 0_u32..99, rc in proptest::option::of(0_u32..9)) {
        let suffix = rc.map(|number| format!("-rc.{number}")).unwrap_or_default();
        let text = format!("v{major}.{minor}.{patch}{suffix}");
        prop_assert_eq!(text.parse::<Version>().unwrap().to_string(), text);
    }
}

#[test]
fn a_candidate_is_older_than_its_release() {
    let version = |text: &str| text.parse::<Version>().unwrap();
    assert!(version("v1.36.0-rc.1") < version("v1.36.0"));
    assert!(version("v1.36.10") > version("v1.36.9"));
}

#[test]
fn a_number_with_leading_zeros_is_no_version() {
    for text in ["v1.36.03", "v01.36.3", "v1.00.3"] {
        assert!(text.parse::<Version>().is_err(), "{text}");
    }
    assert!("v1.0.0".parse::<Version>().is_ok());
}

/// The forms that a refusal names, each with and without the part in brackets, and with its gaps
/// filled.
fn named_forms() -> Vec<String> {
    let text = target::ACCEPTED_IMAGE;
    let words = text
        .split([' ', ','])
        .filter(|word| word.contains(":<") || word.contains("://<"));
    let filled = |form: &str| {
        let mut form = form.replace("<path>", "/srv/os");
        for gap in ["<digest>", "<commit>"] {
            form = form.replace(gap, &"b".repeat(64));
        }
        form.replace("<host>", "r.example.com")
            .replace(['<', '>'], "")
    };
    words
        .flat_map(|word| {
            let plain = word.split('[').next().unwrap();
            [plain.to_owned(), word.replace(['[', ']'], "")]
        })
        .map(|form| filled(&form))
        .collect()
}

#[test]
fn named_target_forms_all_parse_and_cover_every_transport() {
    let forms = named_forms();
    for form in &forms {
        assert!(form.parse::<Target>().is_ok(), "{form}");
    }
    let prefixes = container::Transport::ALL.map(container::Transport::prefix);
    for prefix in prefixes.into_iter().chain(["ostree:"]) {
        let pinned = |form: &&String| form.parse::<Target>().unwrap().commit.is_some();
        let named = forms.iter().filter(|form| form.starts_with(prefix));
        let (with, without): (Vec<_>, Vec<_>) = named.partition(pinned);
        assert_eq!((with.len(), without.len()), (1, 1), "{prefix}: {forms:?}");
    }
}

fn refusal(raw: RawRequest) -> Reason {
    raw.parse().unwrap_err().into()
}

fn scheduled(image: &str) -> RawRequest {
    RawRequest::scheduled(image)
}

#[test]
fn a_bad_request_is_refused_by_field_value_and_accepted_form() {
    let short = format!("ostree:careen:os@{}", "b".repeat(63));
    let images = [
        "",
        "os",
        "docker://x/y:1",
        "docker://registry.example.com/os",
        "docker://registry.example.com/os:1.36",
        "ostree:careen",
        "ostree::os",
        "ostree:careen:",
        "ostree:careen:../os",
        "ostree:-x:os",
        "ostree:careen:os@",
        &short,
    ];
    for image in images {
        let text = refusal(scheduled(image)).to_string();
        assert!(
            text.contains("careen.dev/image") && text.contains("ostree:<remote>:<ref>"),
            "{text}"
        );
        assert!(text.contains(&format!("{image:?}")), "{text}");
    }
    let other = RawRequest {
        request: "Now".into(),
        ..scheduled("ostree:careen:os")
    };
    assert!(refusal(other).to_string().contains("Use Scheduled"));
    let version = RawRequest {
        kubernetes: Some("1.36".into()),
        ..scheduled("ostree:careen:os")
    };
    assert!(
        refusal(version)
            .to_string()
            .contains("careen.dev/kubernetes-version is \"1.36\"")
    );
    for id in ["", "..", "a/b", "a b", &"x".repeat(64)] {
        let bad = RawRequest {
            id: Some(id.into()),
            ..scheduled("ostree:careen:os")
        };
        assert!(refusal(bad).to_string().contains("careen.dev/upgrade-id"));
    }
}

#[test]
fn request_codec_reads_and_writes_every_annotation() {
    let image = |key: &str| (key == names::IMAGE).then(|| "kept:".to_owned());
    assert_eq!(request::from_annotations(image), None);
    assert_eq!(request::values(image).image.as_deref(), Some("kept:"));
    let others = [names::PAUSED, names::OPT_OUT, names::PLAN];
    let rows = names::TABLE.iter().filter(|row| row.writer == "requester");
    let keys = rows.map(|row| row.name).filter(|key| !others.contains(key));
    assert!(keys.eq(request::KEYS));
    let removed = request::clear_patch().into_keys();
    assert!(removed.eq(request::to_patch(&scheduled("kept:")).into_keys()));
}

#[test]
fn container_target_is_pinned_by_digest_and_can_add_a_commit() {
    let (digest, commit) = ("d".repeat(64), "c".repeat(64));
    let image = format!("docker://registry.example.com/os@sha256:{digest}");
    let mut target: Target = image.parse().unwrap();
    assert!(target.is_pinned() && target.commit.is_none());
    target.commit = Some(commit.parse().unwrap());
    let text = serde_json::to_string(&target).unwrap();
    assert_eq!(text, format!("\"{image}@{commit}\""));
    assert_eq!(serde_json::from_str::<Target>(&text).unwrap(), target);
    let branch: Target = "ostree:careen:os".parse().unwrap();
    assert!(!branch.is_pinned());
}

#[test]
fn fields_that_a_newer_version_wrote_survive_this_one() {
    let text = r#"{"format":1,"min_reader":1,"generation":7,"later":{"x":1}}"#;
    let record: Record = serde_json::from_str(text).unwrap();
    let again = serde_json::to_value(&record).unwrap();
    assert_eq!(again["later"]["x"], 1);
}

#[test]
fn a_question_for_a_plan_reads_back_as_it_was_written() {
    for text in ["ostree:careen:os/v1", "ostree:careen:os/v1 k-1"] {
        let question: upgrade::plan::Question = text.parse().unwrap();
        assert_eq!(question.to_string(), text);
    }
    for bad in ["", "ostree:careen:os ", "ostree:careen:os a b", " k-1"] {
        assert!(bad.parse::<upgrade::plan::Question>().is_err(), "{bad:?}");
    }
}

#[test]
fn plan_and_history_ignore_fields_of_a_newer_version() {
    let plan: upgrade::plan::Plan = serde_json::from_str(
        r#"{"asked":"x","packages":[{"name":"a","to":"2","new":1}],"new":[]}"#,
    )
    .unwrap();
    assert_eq!(plan.packages[0].change.to.as_deref(), Some("2"));
    let past: Vec<upgrade::history::Past> = serde_json::from_str(
        r#"[{"answer":"Upgraded","image":"kept:","began":1,"ended":2,"new":{}}]"#,
    )
    .unwrap();
    assert_eq!((past[0].ended, past[0].tries), (2, 0));
}
