//! A sound node, and each thing that can be wrong with one: the check that is about it says so, and no other one does.

#[path = "../../../host/tests/disk/mod.rs"]
mod disk;
mod registries;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use disk::{Disk, deployment};
use nix::sys::stat::{major, minor};
use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};
use upgrade::names::{self, Kind};
use upgrade::{Journal, Phase, Reason, Record};

use super::cpio::tests::archive;
use super::*;

/// 2026-06-01, within the certificate's time.
const NOW: u64 = 1_780_272_000;

/// A node's disk and kernel in temporary folders.
struct Node {
    disk: Disk,
    kernel: tempfile::TempDir,
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

impl Node {
    /// Nothing is wrong with it.
    fn sound() -> Self {
        let one = deployment('a', 0);
        let disk = Disk::new(std::slice::from_ref(&one));
        let this = Self {
            kernel: tempfile::tempdir().unwrap(),
            disk,
        };
        this.block_device();
        this.watchdog();
        this.image();
        this.units();
        this.initramfs(&[
            "bin/careen-stage",
            "x/careen-guard.service",
            "x/careen-verify.service",
            "x/careen-fallback.service",
            "x/careen-initrd-deadman.timer",
        ]);
        this.remote("url=https://images.example/repo\n");
        write(
            &this
                .disk
                .places
                .sysroot
                .join("ostree/repo/site.trustedkeys.gpg"),
            "a key",
        );
        this.credential("system:node:n1", 2027);
        this
    }

    fn root(&self) -> PathBuf {
        self.disk.root(&deployment('a', 0))
    }

    fn patient(&self) -> Patient {
        let root = self.root();
        Patient {
            kernel: self.kernel.path().to_owned(),
            kubeconfig: root.join("etc/kubernetes/kubelet.conf"),
            policy: root.join("etc/careen/policy.toml"),
            clock: Clock {
                wall: NOW,
                in_step: Some(true),
            },
            places: Places {
                root,
                ..self.disk.places.clone()
            },
        }
    }

    fn found(&self, name: &str) -> Finding {
        let mut all = examine(&self.patient()).into_iter();
        all.find(|finding| finding.name == name).unwrap()
    }

    /// Has this check find it bad, with these words.
    fn is_bad(&self, name: &str, words: &str) {
        let found = self.found(name);
        assert_eq!(found.verdict, Verdict::Bad, "{found:?}");
        assert!(found.seen.contains(words), "{found:?}");
        assert!(!found.mend.is_empty(), "{found:?}");
    }

    fn block_device(&self) {
        let device = fs::metadata(self.disk.places.grubenv()).unwrap().dev();
        let node = self.kernel.path().join("sys/devices/sda2");
        fs::create_dir_all(&node).unwrap();
        let link = format!("sys/dev/block/{}:{}", major(device), minor(device));
        let link = self.kernel.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(node, link).unwrap();
    }

    fn watchdog(&self) {
        let sys = self.kernel.path().join("sys");
        write(&sys.join("class/watchdog/watchdog0/identity"), "iTCO_wdt\n");
        write(
            &sys.join("module/watchdog/parameters/stop_on_reboot"),
            "0\n",
        );
    }

    fn image(&self) {
        let text = r#"{"format":1,"kubernetes":"v1.36.3","architecture":"x86_64","stage":1}"#;
        write(&self.root().join(names::IMAGE_INFO), text);
        write(&self.root().join("usr/bin/kubelet"), "a program");
    }

    fn units(&self) {
        let units = names::TABLE
            .iter()
            .filter(|row| row.kind == Kind::Unit && row.writer == "image");
        for unit in units {
            write(
                &self.root().join("usr/lib/systemd/system").join(unit.name),
                "",
            );
        }
    }

    fn initramfs(&self, files: &[&str]) {
        let folder = self.disk.places.kernel(&deployment('a', 0));
        fs::write(folder.join("initramfs.img"), archive(files)).unwrap();
    }

    fn remote(&self, keys: &str) {
        let text = format!("[remote \"site\"]\n{keys}");
        write(&self.root().join("etc/ostree/remotes.d/site.conf"), text);
    }

    fn policy(&self, text: &str) {
        write(&self.patient().policy, text);
    }

    fn credential(&self, user: &str, until: i32) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let certificate = params.self_signed(&key).unwrap().pem();
        let pem = self.root().join("var/kubelet.pem");
        write(&pem, format!("{}{certificate}", key.serialize_pem()));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: []\n\
             contexts: [{{ name: c, context: {{ cluster: k, user: u }} }}]\n\
             users: [{{ name: u, user: {{ client-certificate: {0}, client-key: {0} }} }}]\n",
            pem.display()
        );
        write(&self.patient().kubeconfig, text);
    }

    fn record(&self, record: &Record) {
        let mut store = Store::new(&self.disk.places.sysroot);
        store.store(record).unwrap();
    }
}

/// GRUB writes on some file systems alone; a test's folder may lie on another.
fn grub_writes_here(node: &Node) -> bool {
    let kind = nix::sys::statfs::statfs(&node.disk.places.grubenv()).unwrap();
    [0xEF53, 0x5846_5342].contains(&kind.filesystem_type().0)
}

#[test]
fn on_a_sound_node_every_check_is_content() {
    let node = Node::sound();
    // What the test's own disk is like: fs-verity, room, and whether GRUB writes there.
    let own = |name: &str| {
        ["fs-verity", "boot-room", "root-room"].contains(&name)
            || name == "loader" && !grub_writes_here(&node)
    };
    for finding in examine(&node.patient()) {
        assert!(
            own(finding.name) || finding.verdict == Verdict::Ok,
            "{finding:?}"
        );
    }
}

#[test]
fn every_check_stands_in_the_docs() {
    let docs = include_str!("../../../../docs/doctor.md");
    for finding in examine(&Node::sound().patient()) {
        assert!(
            docs.contains(&format!("| `{}` |", finding.name)),
            "{}",
            finding.name
        );
    }
}

#[test]
fn looking_changes_nothing() {
    let node = Node::sound();
    let before = disk::content(node.disk.folder.path());
    let _ = examine(&node.patient());
    assert!(before == disk::content(node.disk.folder.path()));
}

#[test]
fn a_policy_that_does_not_parse_is_bad_by_line() {
    let node = Node::sound();
    node.policy("trials = 2\nspeed = 9\n");
    node.is_bad("policy", "line 2");
}

#[test]
fn a_policy_that_others_may_write_is_bad() {
    let node = Node::sound();
    node.policy("trials = 2\n");
    fs::set_permissions(node.patient().policy, fs::Permissions::from_mode(0o666)).unwrap();
    node.is_bad("policy", "666");
}

#[test]
fn a_damaged_record_is_bad() {
    let node = Node::sound();
    write(&node.disk.places.state().join("record.a"), "torn");
    node.is_bad("record", "no copy is whole");
}

#[test]
fn a_halted_upgrade_is_bad_and_says_why() {
    let node = Node::sound();
    let target = "ostree:site:os".parse().unwrap();
    let id = "u1".parse().unwrap();
    let mut up = upgrade::Upgrade::new(
        id,
        upgrade::RawRequest::default(),
        target,
        deployment('a', 0),
    );
    let booted = "cccc".to_owned();
    up.phase = Phase::Halted {
        reason: Reason::UnknownSystem { booted },
    };
    node.record(&Record {
        generation: 1,
        upgrade: Some(up),
        ..Record::default()
    });
    node.is_bad("record", "cccc");
}

#[test]
fn a_system_that_is_no_deployment_is_bad() {
    let node = Node::sound();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut patient = node.patient();
    patient.places.root = elsewhere.path().to_owned();
    let found = examine(&patient);
    let system = found
        .iter()
        .find(|finding| finding.name == "system")
        .unwrap();
    assert_eq!(system.verdict, Verdict::Bad, "{system:?}");
}

#[test]
fn a_system_that_is_not_the_default_is_bad() {
    second().is_bad("system", "not the default");
}

/// With the deployment that runs second in the menu.
fn second() -> Node {
    let node = Node::sound();
    let other = deployment('b', 0);
    node.disk.lay_out(&other);
    node.disk.menu(&[other, deployment('a', 0)]);
    node
}

#[test]
fn the_command_that_makes_it_the_default_names_the_generator_that_libostree_is_to_call() {
    let node = second();
    let command = |generator: &str| {
        format!(": OSTREE_GRUB2_EXEC={generator} ostree admin set-default 1")
    };
    let brought = "/var/lib/careen/agents/proven/careen-grub";
    write(&node.root().join(&brought[1..]), "a program");
    let mend = node.found("system").mend;
    assert!(mend.ends_with(&command(brought)), "{mend}");
    write(&node.root().join(&names::GENERATOR[1..]), "a program");
    let mend = node.found("system").mend;
    assert!(mend.ends_with(&command(names::GENERATOR)), "{mend}");
}

#[test]
fn on_a_node_with_a_menu_by_grub_mkconfig_the_command_leaves_it_one() {
    let node = second();
    let grub = node.disk.places.boot.join("loader.1/grub.cfg");
    write(&grub, "### BEGIN /etc/grub.d/00_header ###\n");
    write(&node.root().join(&names::GENERATOR[1..]), "a program");
    let mend = node.found("system").mend;
    assert!(mend.ends_with("default: ostree admin set-default 1"), "{mend}");
}

#[test]
fn boot_entries_that_cannot_be_read_are_bad_and_nobody_is_told_that_libostree_mends_them() {
    let node = Node::sound();
    let entries = node.disk.places.boot.join("loader/entries");
    let entry = fs::read_dir(&entries).unwrap().next().unwrap().unwrap();
    fs::write(entry.path(), "title torn\n").unwrap();
    node.is_bad("system", "is damaged");
    assert!(!node.found("system").mend.contains("set-default"));
}

#[test]
fn a_system_that_was_not_made_for_careen_is_worth_a_look() {
    let node = Node::sound();
    fs::remove_file(node.root().join(names::IMAGE_INFO)).unwrap();
    assert_eq!(node.found("image").verdict, Verdict::Warn);
}

#[test]
fn a_control_plane_is_bad() {
    let node = Node::sound();
    write(
        &node
            .root()
            .join("etc/kubernetes/manifests/kube-apiserver.yaml"),
        "",
    );
    node.is_bad("worker", "control plane");
}

#[test]
fn a_missing_unit_is_bad_by_name() {
    let node = Node::sound();
    let unit = node
        .root()
        .join("usr/lib/systemd/system")
        .join(names::DEADMAN_TIMER);
    fs::remove_file(unit).unwrap();
    node.is_bad("units", names::DEADMAN_TIMER);
}

#[test]
fn a_loader_that_cannot_clear_its_one_shot_is_bad() {
    let node = Node::sound();
    fs::write(node.disk.places.grubenv(), "short").unwrap();
    node.is_bad("loader", "1024");
}

#[test]
fn an_initramfs_without_the_guard_is_bad_where_the_image_claims_one() {
    let node = Node::sound();
    node.initramfs(&["init", "bin/careen-stage"]);
    node.is_bad("stage", names::GUARD_UNIT);
}

#[test]
fn no_remote_is_bad() {
    let node = Node::sound();
    fs::remove_file(node.root().join("etc/ostree/remotes.d/site.conf")).unwrap();
    node.is_bad("remote", "no OSTree remote");
}

#[test]
fn a_remote_that_the_policy_names_and_nobody_configured_is_bad() {
    let node = Node::sound();
    node.policy("remotes = [\"elsewhere\"]\n");
    node.is_bad("remote", "elsewhere");
}

#[test]
fn a_remote_without_verification_is_bad_unless_the_policy_allows_it() {
    let node = Node::sound();
    node.remote("url=https://x\ngpg-verify=false\n");
    node.is_bad("remote", "gpg-verify=false");
    node.policy("unsigned = true\n");
    assert_eq!(node.found("remote").verdict, Verdict::Warn);
}

#[test]
fn a_remote_without_a_key_or_a_url_is_bad() {
    let node = Node::sound();
    fs::remove_file(
        node.disk
            .places
            .sysroot
            .join("ostree/repo/site.trustedkeys.gpg"),
    )
    .unwrap();
    node.is_bad("remote", "no key");
    node.remote("gpg-verify=true\n");
    node.is_bad("remote", "no url");
}

#[test]
fn a_key_that_the_remote_or_the_system_brings_is_one() {
    let node = Node::sound();
    fs::remove_file(
        node.disk
            .places
            .sysroot
            .join("ostree/repo/site.trustedkeys.gpg"),
    )
    .unwrap();
    write(&node.root().join("etc/pki/site.gpg"), "a key");
    node.remote("url=https://x\ngpgkeypath=/etc/pki/site.gpg\n");
    assert_eq!(node.found("remote").verdict, Verdict::Ok);
    node.remote("url=https://x\n");
    write(
        &node.root().join("usr/share/ostree/trusted.gpg.d/all.asc"),
        "a key",
    );
    assert_eq!(node.found("remote").verdict, Verdict::Ok);
}

#[test]
fn a_proxy_under_a_cap_is_bad() {
    let node = Node::sound();
    node.remote("url=https://x\nproxy=http://proxy\n");
    assert_eq!(node.found("remote").verdict, Verdict::Ok);
    node.policy("[limits]\nbandwidth-bytes = 100000\n");
    node.is_bad("remote", "proxy");
}

#[test]
fn a_credential_that_ran_out_or_is_no_node_s_is_bad() {
    let node = Node::sound();
    node.credential("kubernetes-admin", 2027);
    node.is_bad("credential", "kubernetes-admin");
    node.credential("system:node:n1", 2026);
    node.is_bad("credential", "ran out");
    fs::remove_file(node.patient().kubeconfig).unwrap();
    node.is_bad("credential", "kubelet.conf");
}

#[test]
fn a_certificate_within_kubelet_conf_is_read_too() {
    use base64::Engine as _;
    let node = Node::sound();
    let pem = fs::read(node.root().join("var/kubelet.pem")).unwrap();
    let data = base64::engine::general_purpose::STANDARD.encode(pem);
    let text = format!("users: [{{ name: u, user: {{ client-certificate-data: {data} }} }}]\n");
    write(&node.patient().kubeconfig, text);
    let found = node.found("credential");
    assert!(found.seen.starts_with("system:node:n1"), "{found:?}");
}

#[test]
fn without_the_watchdog_that_the_policy_demands_it_is_bad() {
    let node = Node::sound();
    write(&node.patient().policy, "require-watchdog = true\n");
    assert_eq!(node.found("watchdog").verdict, Verdict::Ok);
    let stops = "sys/module/watchdog/parameters/stop_on_reboot";
    write(&node.kernel.path().join(stops), "1\n");
    node.is_bad("watchdog", "stopped at each reboot");
    fs::remove_dir_all(node.kernel.path().join("sys/class")).unwrap();
    node.is_bad("watchdog", "none");
}

#[test]
fn without_a_watchdog_or_a_clock_in_step_it_is_worth_a_look() {
    let node = Node::sound();
    fs::remove_dir_all(node.kernel.path().join("sys/class")).unwrap();
    assert_eq!(node.found("watchdog").verdict, Verdict::Warn);
    let mut patient = node.patient();
    patient.clock.in_step = Some(false);
    let found = examine(&patient);
    let clock = found
        .iter()
        .find(|finding| finding.name == "clock")
        .unwrap();
    assert_eq!(clock.verdict, Verdict::Warn);
}
