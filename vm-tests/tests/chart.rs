//! Tests the Helm chart of the DaemonSet with Helm (built from its Go module on first use). The
//! chart passes lint and rejects invalid values, and it renders to the plain manifests.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use testkit::programs;

fn daemonset() -> PathBuf {
    programs::home().join("../packaging/daemonset")
}

/// A warning also fails.
const LINT: &[&str] = &["lint", "--strict"];
const TEMPLATE: &[&str] = &["template", "careen"];

fn helm(verb: &[&str], values: &str) -> Output {
    let mut helm = Command::new(programs::helm().unwrap());
    helm.args(verb).arg(daemonset().join("chart"));
    helm.args(["--namespace", "careen", "--set", values]);
    helm.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

#[test]
fn it_lints() {
    for mode in ["install", "uninstall"] {
        let output = helm(LINT, &format!("image=x,mode={mode}"));
        assert!(output.status.success(), "{}", said(&output));
    }
}

#[test]
fn without_an_image_or_with_a_value_that_is_none_it_is_refused() {
    for values in [
        "mode=install",
        "image=x,mode=remove",
        "image=x,imag=y",
        "image=x,tolerations[0].keys=a",
        "image=x,tolerations[0].operator=In",
        "image=x,resources.limit.memory=1Gi",
        "image=x,priorityClassName.name=high",
    ] {
        let output = helm(TEMPLATE, values);
        assert!(!output.status.success(), "{values}: {}", said(&output));
    }
}

#[test]
fn what_a_site_sets_is_in_it() {
    let output = helm(
        TEMPLATE,
        "image=x,imagePullSecrets[0].name=key,nodeSelector.site=here",
    );
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for piece in [r#"imagePullSecrets: [{"name":"key"}]"#, r#""site":"here""#] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
}

#[test]
fn chart_adds_site_tolerations_priority_and_resources() {
    let values = [
        "image=x",
        "tolerations[0].key=dedicated",
        "tolerations[0].operator=Exists",
        "priorityClassName=system-node-critical",
        "resources.limits.memory=256Mi",
    ];
    let output = helm(TEMPLATE, &values.join(","));
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for piece in [
        "- {key: node.kubernetes.io/unschedulable, operator: Exists}",
        r#"- {"key":"dedicated","operator":"Exists"}"#,
        r#"priorityClassName: "system-node-critical""#,
        r#"resources: {"limits":{"memory":"256Mi"},"requests":{"cpu":"5m","memory":"16Mi"}}"#,
    ] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
}

#[test]
fn the_plain_manifests_are_what_it_renders() {
    let out = tempfile::tempdir().unwrap();
    let mut render = Command::new(daemonset().join("manifests.sh"));
    let rendered = render.arg(out.path()).output().unwrap();
    assert!(rendered.status.success(), "{}", said(&rendered));
    for manifest in ["install.yaml", "uninstall.yaml"] {
        let text = fs::read_to_string(out.path().join(manifest)).unwrap();
        let kept = fs::read_to_string(daemonset().join(manifest)).unwrap();
        assert!(
            text == kept,
            "{manifest} has drifted: packaging/daemonset/manifests.sh packaging/daemonset"
        );
    }
}
