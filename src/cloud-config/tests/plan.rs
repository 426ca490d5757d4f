//! What a host makes of the data that the kubeadm bootstrap provider writes.
#![allow(clippy::unwrap_used, clippy::panic)]

use cloud_config::{Command, Facts, File, Plan, Refused, plan, script};
use serde_json::Value;

const WORKER: &str = include_str!("samples/worker.yaml");
const INIT: &str = include_str!("samples/control-plane-init.yaml");
const JOIN: &str = include_str!("samples/control-plane-join-v1beta3.yaml");

const ID: &str = "careen://fleet/n-1/9f3c9f3c9f3c9f3c";

fn facts() -> Facts {
    Facts {
        instance_id: "9f3c9f3c9f3c9f3c".to_owned(),
        hostname: "n-1".to_owned(),
        provider_id: ID.to_owned(),
        failure_domain: Some("rack-a".to_owned()),
    }
}

fn planned(text: &str) -> Plan {
    plan(text.as_bytes(), &facts(), &[]).unwrap()
}

fn refused(text: &str) -> Refused {
    plan(text.as_bytes(), &facts(), &[]).unwrap_err()
}

fn file<'a>(plan: &'a Plan, path: &str) -> &'a File {
    plan.files.iter().find(|file| file.path == path).unwrap()
}

/// The documents of a file, as kubeadm would read them.
fn documents(plan: &Plan, path: &str) -> Vec<Value> {
    let text = String::from_utf8(file(plan, path).content.clone()).unwrap();
    let all: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    all.into_iter().filter(|one| !one.is_null()).collect()
}

#[test]
fn files_of_a_worker_are_decoded() {
    let plan = planned(WORKER);
    let registry = file(&plan, "/etc/north/registry.conf");
    assert_eq!(registry.content, b"mirror = \"10.0.0.5:5000\"\n");
    assert_eq!((registry.mode, registry.append), (0o600, false));
    assert_eq!(registry.user.as_deref(), Some("root"));
    assert_eq!(file(&plan, "/opt/north/banner.gz").content, b"hello\n");
    assert_eq!(file(&plan, "/opt/north/banner.gz").mode, 0o644);
    assert!(file(&plan, "/etc/hosts").append);
    assert!(
        file(&plan, "/run/cluster-api/placeholder")
            .content
            .starts_with(b"This")
    );
    assert_eq!(plan.files.len(), 5);
}

#[test]
fn commands_of_a_worker_become_one_script() {
    let plan = planned(WORKER);
    assert_eq!(plan.bootcmd, [Command::Line("echo $(date)".to_owned())]);
    let text = script(&plan.runcmd);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "#!/bin/sh");
    assert_eq!(lines[1], "\"echo $(date) ': before'\"");
    assert!(lines[2].starts_with("kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml"));
    assert_eq!(lines[3], "echo 9f3c9f3c9f3c9f3c");
}

#[test]
fn a_worker_gets_its_identity_in_a_list() {
    let plan = planned(WORKER);
    let all = documents(&plan, "/run/kubeadm/kubeadm-join-config.yaml");
    assert_eq!(all.len(), 1);
    let node = &all[0]["nodeRegistration"];
    assert_eq!(node["name"], "n-1");
    let arguments = node["kubeletExtraArgs"].as_array().unwrap();
    let of = |name: &str| {
        let mut found = arguments.iter().filter(|one| one["name"] == name);
        let value = found.next().unwrap()["value"].as_str().unwrap().to_owned();
        assert!(found.next().is_none(), "{name} twice");
        value
    };
    assert_eq!(of("provider-id"), ID);
    assert_eq!(
        of("node-labels"),
        "disk=fast,cluster=north,topology.kubernetes.io/zone=rack-a"
    );
    assert_eq!(
        of("eviction-hard"),
        "nodefs.available<0%,nodefs.inodesFree<0%"
    );
    assert_eq!(
        all[0]["discovery"]["bootstrapToken"]["token"],
        "abcdef.0123456789abcdef"
    );
}

#[test]
fn a_first_control_plane_gets_its_identity() {
    let plan = planned(INIT);
    let text = String::from_utf8(file(&plan, "/run/kubeadm/kubeadm.yaml").content.clone()).unwrap();
    let before = INIT
        .split("      ---\n")
        .nth(1)
        .unwrap()
        .replace("\n      ", "\n");
    assert!(
        text.contains(before.trim()),
        "the other document is unchanged: {text}"
    );
    let all = documents(&plan, "/run/kubeadm/kubeadm.yaml");
    assert_eq!(all.len(), 2);
    assert_eq!(all[1]["kind"], "InitConfiguration");
    let arguments = &all[1]["nodeRegistration"]["kubeletExtraArgs"];
    assert_eq!(arguments[0]["value"], ID);
}

#[test]
fn the_older_version_gets_its_identity_in_a_map() {
    let plan = planned(JOIN);
    let all = documents(&plan, "/run/kubeadm/kubeadm-join-config.yaml");
    let arguments = &all[0]["nodeRegistration"]["kubeletExtraArgs"];
    assert_eq!(arguments["provider-id"], ID);
    assert_eq!(arguments["max-pods"], "200");
    assert_eq!(
        arguments["node-labels"],
        "topology.kubernetes.io/zone=rack-a"
    );
}

#[test]
fn a_host_without_a_failure_domain_gets_no_label() {
    let facts = Facts {
        failure_domain: None,
        ..facts()
    };
    let plan = plan(JOIN.as_bytes(), &facts, &[]).unwrap();
    let all = documents(&plan, "/run/kubeadm/kubeadm-join-config.yaml");
    assert!(
        all[0]["nodeRegistration"]["kubeletExtraArgs"]
            .get("node-labels")
            .is_none()
    );
}

#[test]
fn another_provider_id_is_refused() {
    let another = |argument| Refused::Argument {
        path: "/run/kubeadm/kubeadm-join-config.yaml".to_owned(),
        kind: "JoinConfiguration".to_owned(),
        argument,
    };
    let list = |id: &str| {
        WORKER.replace(
            "- name: eviction-hard",
            &format!("- name: provider-id\n          value: {id}\n        - name: eviction-hard"),
        )
    };
    assert_eq!(refused(&list("aws:///eu/i-1")), another("provider-id"));
    planned(&list("'{{ ds.meta_data.provider_id }}'"));
    let map = JOIN.replace("max-pods: \"200\"", "provider-id: openstack:///1");
    assert_eq!(refused(&map), another("provider-id"));
    let zone = WORKER.replace("disk=fast", "topology.kubernetes.io/zone=rack-b");
    assert_eq!(refused(&zone), another("node-labels"));
}

#[test]
fn other_keys_are_refused_by_name() {
    for (key, text) in [
        (
            "users",
            "users:\n  - name: capi\n    sudo: ALL=(ALL) NOPASSWD:ALL",
        ),
        ("ntp", "ntp:\n  enabled: true\n  servers:\n    - 10.0.0.1"),
        ("disk_setup", "disk_setup:\n  /dev/sdb:\n    layout: true"),
        (
            "fs_setup",
            "fs_setup:\n  - label: data\n    filesystem: ext4\n    device: /dev/sdb",
        ),
        ("mounts", "mounts:\n  - - data\n    - /var/lib/data"),
        ("packages", "packages: [vim]"),
    ] {
        let text = format!("{WORKER}\n{text}\n");
        assert_eq!(
            refused(&text),
            Refused::Key {
                name: key.to_owned()
            }
        );
        let plan = plan(text.as_bytes(), &facts(), &[key.to_owned()]).unwrap();
        assert_eq!(plan, planned(WORKER), "ignored on purpose: {key}");
    }
}

#[test]
fn other_formats_are_refused_by_name() {
    let ignition = r#"{"ignition":{"config":{},"version":"2.3.0"},"storage":{}}"#;
    for (text, name) in [
        (ignition, "Ignition"),
        ("#!/bin/sh\nkubeadm join", "script"),
        ("Content-Type: multipart/mixed\n", "MIME"),
        ("\u{1f}", "not known"),
        ("", "not known"),
        ("write_files: []", "not known"),
    ] {
        assert!(
            refused(text).to_string().contains(name),
            "{text}: {}",
            refused(text)
        );
    }
    let zipped = plan(&[0x1f, 0x8b, 8, 0], &facts(), &[]).unwrap_err();
    assert_eq!(zipped, Refused::Format { found: "gzip" });
}

#[test]
fn unknown_variables_are_refused_by_name() {
    for (used, name) in [
        ("{{ ds.meta_data.region }}", "ds.meta_data.region"),
        ("{{ v1.availability_zone }}", "v1.availability_zone"),
        ("{{ hostname }}", "hostname"),
        ("{% if x is defined %}{{ x }}{% endif %}", "x"),
    ] {
        let text = WORKER.replace("{{ v1.instance_id }}", used);
        let Refused::Variable { name: found, known } = refused(&text) else {
            panic!("{used}: {}", refused(&text));
        };
        assert_eq!(found, name);
        assert!(known.contains("ds.meta_data.local_hostname"), "{known}");
    }
}

#[test]
fn a_template_that_does_not_end_is_refused() {
    let text = WORKER.replace(
        "{{ v1.instance_id }}",
        "{% for a in 'x' * 1000000 %}{{ a }}{% endfor %}",
    );
    assert!(
        matches!(refused(&text), Refused::Template { .. }),
        "{}",
        refused(&text)
    );
    let text = WORKER.replace("{{ v1.instance_id }}", "{{ v1.");
    assert!(matches!(refused(&text), Refused::Template { .. }));
}

#[test]
fn without_the_first_line_nothing_is_replaced() {
    let plain = WORKER.replace("## template: jinja\n", "");
    let plan = planned(&plain);
    assert!(script(&plan.runcmd).contains("echo {{ v1.instance_id }}"));
}

#[test]
fn bad_paths_are_refused_by_name() {
    for path in [
        "/usr/bin/kubelet",
        "/bin/sh",
        "/lib/x",
        "/boot/grub/grub.cfg",
        "/sysroot/ostree/careen/record.a",
        "/ostree/x",
        "/proc/x",
        "/dev/x",
        "etc/x",
        "/etc/../usr/x",
        "/etc/",
        "/",
        "/etc//x",
        "''",
    ] {
        let text = WORKER.replace("/etc/north/registry.conf", path);
        assert!(
            matches!(refused(&text), Refused::Path { .. }),
            "{path}: {}",
            refused(&text)
        );
    }
    for path in [
        "/usr/local/bin/tool",
        "/var/lib/x",
        "/usrlocal/x",
        "/library/x",
    ] {
        planned(&WORKER.replace("/etc/north/registry.conf", path));
    }
}

#[test]
fn bad_values_are_refused_without_repeating_them() {
    for (from, to, part) in [
        (
            "permissions: '0600'",
            "permissions: 'secret'",
            "permissions",
        ),
        ("permissions: '0600'", "permissions: '77777'", "permissions"),
        ("owner: root:root", "owner: 'secret user'", "owner"),
        ("encoding: \"gzip+base64\"", "encoding: secret", "encoding"),
        ("encoding: \"gzip+base64\"", "encoding: gzip", "encoding"),
        (
            "encoding: \"gzip+base64\"\n",
            "encoding: b64\n    append: [secret]\n",
            "line",
        ),
        ("append: true", "append: secret", "line"),
        ("append: true", "source: {uri: secret}", "source"),
        ("  - \"echo $(date)\"", "  - echo: secret", "line"),
        ("path: /etc/hosts", "owner: root:root", "no path"),
        (
            "apiVersion: kubeadm.k8s.io/v1beta4",
            "apiVersion: kubeadm.k8s.io/v1beta9",
            "v1beta3",
        ),
        (
            "nodeRegistration:",
            "nodeRegistration: secret\n      x:",
            "nodeRegistration",
        ),
        (
            "- name: eviction-hard",
            "- nickname: secret",
            "kubeletExtraArgs",
        ),
        (
            "kind: JoinConfiguration",
            "kind: JoinConfiguration\n      a: [",
            "not valid YAML",
        ),
        ("runcmd:", "runcmd: [\n", "not valid YAML"),
        ("kind: JoinConfiguration", "kind: Secret", "no file has"),
    ] {
        let text = WORKER.replacen(from, to, 1);
        assert_ne!(text, WORKER, "{from}");
        let said = refused(&text).to_string();
        assert!(
            said.contains(part) && !said.contains("secret"),
            "{to}: {said}"
        );
    }
}

#[test]
fn a_bad_failure_domain_is_refused() {
    for domain in ["", "-a", "a b", &"a".repeat(64)] {
        let facts = Facts {
            failure_domain: Some(domain.to_owned()),
            ..facts()
        };
        let found = plan(WORKER.as_bytes(), &facts, &[]).unwrap_err();
        assert_eq!(found, Refused::FailureDomain, "{domain}");
    }
}

#[test]
fn words_of_a_command_are_quoted() {
    let text = WORKER.replace("  - \"echo $(date)\"", "  - [sh, -c, \"it's\", 5]");
    assert_eq!(
        script(&planned(&text).bootcmd),
        "#!/bin/sh\n'sh' '-c' 'it'\\''s' '5'\n"
    );
}

#[test]
fn a_deferred_file_is_written_last() {
    let text = WORKER.replace("    append: true\n", "    append: true\n    defer: true\n");
    assert_eq!(planned(&text).files.last().unwrap().path, "/etc/hosts");
}

#[test]
fn data_that_are_too_long_are_refused() {
    let text = format!("{WORKER}#{}", "x".repeat(1024 * 1024));
    assert_eq!(refused(&text), Refused::TooLong { limit: 1024 * 1024 });
    let bomb = WORKER.replace("runcmd:", &format!("x: {}", "[".repeat(5000)));
    assert!(matches!(refused(&bomb), Refused::Yaml { .. }));
}
