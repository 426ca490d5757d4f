//! Runs the commands of `docs/images.md`, and then those of `docs/install.md`, verbatim.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::root::run;
use crate::shelf::{Shelf, source};

/// The working folder. Mounts and immutable files would outlast it.
struct Work(TempDir);

impl Drop for Work {
    fn drop(&mut self) {
        let undo = "umount -q root/proc; chattr -i target/ostree/deploy/*/deploy/*.0";
        let mut shell = Command::new("sh");
        drop(shell.args(["-c", undo]).current_dir(self.0.path()).output());
    }
}

/// All shell of both pages, in its order, and nothing that an unset variable could spoil.
fn commands() -> String {
    let pages = ["docs/images.md", "docs/install.md"];
    format!("set -eu\n{}", pages.map(shell).concat())
}

/// The shell of a page.
fn shell(page: &str) -> String {
    let text = fs::read_to_string(source().join(page)).unwrap();
    let blocks = text.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

/// A key that signs, in a folder of its own; its fingerprint.
fn key(home: &Path) -> String {
    run(Command::new("chmod").arg("700").arg(home));
    let mut gpg = Command::new("gpg");
    gpg.env("GNUPGHOME", home)
        .args(["--batch", "--quiet", "--passphrase", ""]);
    run(gpg.args(["--quick-generate-key", "images", "ed25519", "sign", "never"]));
    let mut list = Command::new("gpg");
    let listed = run(list
        .env("GNUPGHOME", home)
        .args(["--with-colons", "--list-keys"]));
    let line = listed
        .lines()
        .find(|line| line.starts_with("fpr:"))
        .unwrap();
    line.split(':').nth(9).unwrap().to_owned()
}

/// The mirror that this machine is fed from, as `images/root.sh` finds it.
pub fn mirror() -> String {
    if let Ok(mirror) = std::env::var("CAREEN_DEBIAN_MIRROR") {
        return mirror;
    }
    let mut ask = Command::new("apt-get");
    ask.args([
        "indextargets",
        "--format",
        "$(LABEL) $(REPO_URI)",
        "Created-By: Packages",
    ]);
    let listed = run(&mut ask);
    let debian = listed.lines().find_map(|line| line.strip_prefix("Debian "));
    debian.unwrap().to_owned()
}

/// A kubelet and a kubeadm that can say their version; nothing here boots.
fn kubernetes(folder: &Path) {
    for name in ["kubelet", "kubeadm"] {
        fs::write(folder.join(name), "#!/bin/sh\necho Kubernetes v1.36.3\n").unwrap();
        run(Command::new("chmod").arg("755").arg(folder.join(name)));
    }
}

#[test]
fn docs_build_a_signed_guarded_image_and_install_it_for_grub() {
    let work = Work(TempDir::new().unwrap());
    let folder = work.0.path();
    let (home, programs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    kubernetes(programs.path());
    let mut shell = Command::new("sh");
    shell.args(["-c", &commands()]).current_dir(folder);
    shell
        .env("DEB", Shelf::ours().deb())
        .env("CAREEN", source());
    shell.env("KUBERNETES", programs.path());
    shell.env("GNUPGHOME", home.path());
    shell.env("KEY", key(home.path()));
    shell.env("MIRROR", mirror());
    shell.env("URL", "http://192.0.2.1/");
    run(&mut shell);

    let show = |words: &[&str]| {
        run(Command::new("ostree")
            .arg("--repo=repo")
            .args(words)
            .current_dir(folder))
    };
    assert!(show(&["cat", "site/stable", "/usr/lib/careen/image.json"]).contains("v1.36.3"));
    assert!(show(&["show", "site/stable"]).contains("Found 1 signature"));
    let containerd = show(&["cat", "site/stable", "/usr/etc/containerd/config.toml"]);
    assert!(containerd.contains("SystemdCgroup = true"), "{containerd}");
    let menu = fs::read_to_string(folder.join("target/boot/loader/grub.cfg")).unwrap();
    assert!(menu.contains("next_entry"), "{menu}");
    let enabled = "usr/etc/systemd/system/multi-user.target.wants/careen-agent.service";
    assert!(fs::symlink_metadata(folder.join("root").join(enabled)).is_ok());
}
