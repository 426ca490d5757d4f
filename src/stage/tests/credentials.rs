//! `careen-stage repair` on certificates and kubeconfigs that a cut took while kubeadm renewed
//! them.
#![allow(clippy::unwrap_used)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use host::Places;
use host::ledger::Ledger;
use tempfile::TempDir;
use upgrade::control_plane::Component;
use upgrade::control_plane::raise::{Note, Run, State};

/// How kubeadm makes keys, and one key in the form of other programs.
const KINDS: [&[&str]; 3] = [
    &["genrsa", "-traditional", "2048"],
    &["ecparam", "-genkey", "-name", "prime256v1", "-noout"],
    &[
        "genpkey",
        "-algorithm",
        "EC",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
    ],
];

const PAIR: &str = "pki/etcd/server";

fn openssl(arguments: &[&str]) -> String {
    let output = Command::new("openssl").args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A new certificate, and its key.
fn pair(folder: &Path, kind: &[&str]) -> [String; 2] {
    let key = openssl(kind);
    let path = folder.join("made.key");
    fs::write(&path, &key).unwrap();
    let path = path.to_str().unwrap();
    [
        openssl(&["req", "-x509", "-subj", "/CN=cp-1", "-key", path]),
        key,
    ]
}

/// As `kubectl` and kubeadm write one.
fn kubeconfig([certificate, key]: &[String; 2]) -> String {
    let base64 = |text: &str| {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("data");
        fs::write(&path, text).unwrap();
        openssl(&["base64", "-A", "-in", path.to_str().unwrap()])
    };
    format!(
        "apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n",
        base64(certificate),
        base64(key)
    )
}

/// A node with one pair and an admin.conf, whose raise is under way.
struct Node {
    root: TempDir,
    ledger: Ledger,
    pair: [String; 2],
    admin: String,
}

impl Node {
    fn raising(kind: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let places = Places::running(root.path());
        let pair = pair(root.path(), kind);
        let node = Self {
            ledger: Ledger::of(&places, &"one".parse().unwrap()),
            admin: kubeconfig(&pair),
            pair,
            root,
        };
        fs::create_dir_all(places.state()).unwrap();
        fs::create_dir_all(node.path("manifests")).unwrap();
        fs::create_dir_all(node.path("pki/etcd")).unwrap();
        node.write(&format!("{PAIR}.crt"), &node.pair[0]);
        node.write(&format!("{PAIR}.key"), &node.pair[1]);
        node.write("admin.conf", &node.admin);
        for component in Component::ALL {
            fs::write(node.ledger.live(component), "kind: Pod\n").unwrap();
        }
        node.ledger.begin().unwrap();
        node.ledger.set(&note()).unwrap();
        node
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("etc/kubernetes").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.path(name)).unwrap()).into_owned()
    }

    fn live(&self) -> [String; 2] {
        [".crt", ".key"].map(|end| self.read(&format!("{PAIR}{end}")))
    }

    fn repair(&self, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_careen-stage"));
        let root = self.root.path();
        command.arg("repair").arg("--root").arg(root);
        command.arg("--sysroot").arg(root.join("sysroot"));
        command.arg("--run").arg(root.join("run"));
        command.args(more).output().unwrap()
    }

    /// Repairs. Returns what the program said.
    fn said(&self, more: &[&str]) -> String {
        let output = self.repair(more);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }
}

fn note() -> Note {
    Note {
        to: "v1.36.4".parse().unwrap(),
        run: Run::Node,
        etcd: false,
        at: 1,
        state: State::Raising,
    }
}

#[test]
fn cut_between_key_and_certificate_comes_back() {
    for kind in KINDS {
        let node = Node::raising(kind);
        let [certificate, key] = pair(node.root.path(), kind);
        let zeros = "\0".repeat(key.len());
        for (end, text) in [
            (".key", key.as_str()),
            (".key", ""),
            (".key", &key[..key.len() / 2]),
            (".key", &zeros),
            (".crt", &certificate),
            (".crt", ""),
            (".crt", &certificate[..certificate.len() - 5]),
        ] {
            let name = format!("{PAIR}{end}");
            node.write(&name, text);
            let said = node.said(&["--dry-run"]);
            assert!(said.contains("pki/etcd/server.crt"), "{kind:?}: {said}");
            assert_eq!(node.read(&name), text, "only looked at");
            assert!(node.said(&[]).contains("pki/etcd/server.crt"));
            assert_eq!(node.live(), node.pair, "{kind:?} {name}");
            assert_eq!(node.said(&[]), "", "once is enough");
        }
    }
}

#[test]
fn kubeconfig_that_a_cut_took_comes_back() {
    for kind in KINDS {
        let node = Node::raising(kind);
        let other = kubeconfig(&pair(node.root.path(), kind));
        let mixed: Vec<_> = node.admin.lines().zip(other.lines()).collect();
        let mixed = mixed
            .iter()
            .map(|(old, new)| match old.contains("client-key") {
                true => format!("{new}\n"),
                false => format!("{old}\n"),
            });
        let zeros = format!("\0\0{}", &node.admin[2..]);
        let torn = &node.admin[..node.admin.len() - 9];
        for text in ["", torn, &zeros, &mixed.collect::<String>()] {
            node.write("admin.conf", text);
            assert!(node.said(&[]).contains("admin.conf"), "{text}");
            assert_eq!(node.read("admin.conf"), node.admin);
        }
    }
}

#[test]
fn renewed_pairs_and_what_a_person_takes_away_stay() {
    for kind in KINDS {
        let node = Node::raising(kind);
        let new = pair(node.root.path(), kind);
        node.write(&format!("{PAIR}.crt"), &new[0]);
        node.write(&format!("{PAIR}.key"), &new[1]);
        node.write("admin.conf", &kubeconfig(&new));
        fs::write(node.path("pki/sa.key"), "").unwrap();
        assert_eq!(node.said(&[]), "");
        assert_eq!(
            (node.live(), node.read("admin.conf")),
            (new.clone(), kubeconfig(&new))
        );
        // The next run of kubeadm begins from these.
        node.ledger.set(&note()).unwrap();
        node.write("admin.conf", "");
        assert!(node.said(&[]).contains("admin.conf"));
        assert_eq!(node.read("admin.conf"), kubeconfig(&new));
        fs::remove_file(node.path("admin.conf")).unwrap();
        assert_eq!(node.said(&[]), "");
        assert!(!node.path("admin.conf").exists());
    }
}

#[test]
fn copies_of_keys_are_private_and_gone_after_the_raise() {
    let node = Node::raising(KINDS[1]);
    let copies = node.path("careen-before");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in ["", "pki", "pki/etcd"] {
        assert_eq!(mode(&copies.join(folder)), 0o700, "{folder}");
    }
    let key = format!("{PAIR}.key");
    assert_eq!(mode(&copies.join(&key)), 0o600);
    // What is written back keeps the mode that a person gave it.
    fs::set_permissions(node.path(&key), Permissions::from_mode(0o640)).unwrap();
    node.write(&key, "");
    node.said(&[]);
    assert_eq!(mode(&node.path(&key)), 0o640);
    node.ledger.close().unwrap();
    assert!(!copies.exists());
    node.write(&key, "");
    assert_eq!(node.said(&[]), "", "the raise is over");
    assert_eq!(node.read(&key), "");
    // Those that an older program has left are none of the next raise's.
    node.ledger.set(&note()).unwrap();
    fs::create_dir_all(copies.join("pki/etcd")).unwrap();
    fs::write(copies.join(format!("{PAIR}.crt")), &node.pair[0]).unwrap();
    fs::write(copies.join(&key), &node.pair[1]).unwrap();
    node.ledger.begin().unwrap();
    node.ledger.set(&note()).unwrap();
    assert_eq!(node.said(&[]), "", "nothing whole was there to be copied");
}
