//! Installs the .rpm with dnf, as an operator of Fedora does, from a repository with Fedora's names
//! for all dependencies. Fedora itself is not available. The other packages are made here, with
//! Debian's files for libraries; dnf, its solver and rpm are real.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::root::{Root, files, run};
use crate::shelf::Shelf;

/// By Fedora's names, with the libraries in each. The versions are of about its release 42, and
/// need only be new enough.
const FEDORA: [(&str, &str, &[&str]); 15] = [
    ("bash", "5.2.37", &[]),
    ("containerd", "2.0.5", &[]),
    ("dracut", "107", &[]),
    (
        "glib2",
        "2.84.1",
        &["libglib-2.0.so.0", "libgobject-2.0.so.0", "libgio-2.0.so.0"],
    ),
    (
        "glibc",
        "2.41",
        &["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"],
    ),
    ("gnupg2", "2.4.7", &[]),
    ("libgcc", "15.1.1", &["libgcc_s.so.1"]),
    ("libzstd", "1.5.7", &["libzstd.so.1"]),
    ("openssl-libs", "3.2.4", &["libssl.so.3", "libcrypto.so.3"]),
    ("ostree", "2025.2", &[]),
    ("ostree-libs", "2025.2", &["libostree-1.so.1"]),
    ("skopeo", "1.18.0", &[]),
    ("systemd", "257.5", &[]),
    ("tzdata", "2025b", &[]),
    ("zlib-ng-compat", "2.2.4", &["libz.so.1"]),
];

const OURS: [&str; 3] = ["careen", "careen-image", "kubectl-careen"];

/// A repository with our packages and Fedora's, and what dnf keeps of it.
struct Repository(TempDir);

impl Repository {
    /// With all of Fedora's but these.
    fn without(left_out: &[&str], root: &Root) -> Self {
        let this = Self(TempDir::new().unwrap());
        let (shelf, ours) = (this.0.path().join("shelf"), Shelf::ours());
        fs::create_dir(&shelf).unwrap();
        // Where Debian's rpm would look in the home folder, as Fedora's has it.
        fs::write(this.0.path().join(".rpmmacros"), "%_dbpath /var/lib/rpm\n").unwrap();
        for package in [ours.rpm(), ours.image_rpm(), ours.plugin_rpm()] {
            let name = package.file_name().unwrap();
            fs::copy(&package, shelf.join(name)).unwrap();
        }
        let all = FEDORA.iter();
        for package in all.filter(|(name, ..)| !left_out.contains(name)) {
            this.pack(*package, &root.path(), &shelf);
        }
        run(Command::new("createrepo_c").arg("--quiet").arg(&shelf));
        this
    }

    fn pack(&self, (name, version, libraries): (&str, &str, &[&str]), root: &Path, shelf: &Path) {
        let files: Vec<_> = libraries.iter().map(|name| library(root, name)).collect();
        let copies: String = files
            .iter()
            .map(|(from, at)| format!("install -D -m 755 {} %{{buildroot}}{at}\n", from.display()))
            .collect();
        let list: String = files.iter().map(|(_, at)| format!("{at}\n")).collect();
        let besides = besides(name);
        let spec = format!(
            "Name: {name}\nVersion: {version}\nRelease: 1.fc42\nSummary: {name}\nLicense: MIT\nAutoReq: no\n{besides}%description\n{name}\n%install\nmkdir -p %{{buildroot}}\n{copies}%files\n{list}"
        );
        let file = self.0.path().join(format!("{name}.spec"));
        fs::write(&file, spec).unwrap();
        let define = |value: String| ["--define".to_owned(), value];
        run(Command::new("rpmbuild")
            .args(["-bb", "--quiet", "--target", "x86_64"])
            .args(define(format!(
                "_topdir {}",
                self.0.path().join("build").display()
            )))
            .args(define(format!("_rpmdir {}", shelf.display())))
            .args(define(
                "_rpmfilename %{name}-%{version}.%{arch}.rpm".to_owned(),
            ))
            .args(define("debug_package %{nil}".to_owned()))
            .args(define("__os_install_post %{nil}".to_owned()))
            .args(define("_build_id_links none".to_owned()))
            .arg(file));
    }

    /// dnf with this repository alone, on a root.
    fn dnf(&self, root: &Root, words: &[&str]) -> Command {
        let at = self.0.path();
        let mut dnf = Command::new("dnf");
        dnf.env("HOME", at)
            .arg("--assumeyes")
            .arg("--nogpgcheck")
            .arg("--releasever=42")
            .arg("--setopt=reposdir=/dev/null")
            .arg(format!("--setopt=cachedir={}", at.join("cache").display()))
            .arg(format!("--setopt=logdir={}", at.display()))
            .arg(format!(
                "--setopt=persistdir={}",
                at.join("state").display()
            ))
            .arg(format!("--installroot={}", root.path().display()))
            .arg(format!(
                "--repofrompath=shelf,{}",
                at.join("shelf").display()
            ))
            .args(words);
        dnf
    }
}

/// What no file of it tells rpm.
fn besides(name: &str) -> &'static str {
    match name {
        "bash" => "Provides: /bin/bash\nProvides: /bin/sh\n",
        "glibc" => "Provides: rtld(GNU_HASH)\n",
        _ => "",
    }
}

/// A library of Debian's root, and its path there.
fn library(root: &Path, name: &str) -> (PathBuf, String) {
    let folder = root.join("usr/lib/x86_64-linux-gnu");
    let file = fs::canonicalize(folder.join(name)).unwrap();
    (file, format!("/usr/lib/x86_64-linux-gnu/{name}"))
}

#[test]
fn dnf_installs_fedora_dependencies_and_removes_them_again() {
    let root = Root::new();
    let repository = Repository::without(&[], &root);
    let fedoras: Vec<_> = FEDORA.iter().map(|(name, ..)| *name).collect();
    let recommended = ["containerd", "skopeo", "tzdata"];
    let others = fedoras.iter().filter(|name| !recommended.contains(name));
    let others: Vec<_> = others.copied().collect();
    run(&mut repository.dnf(&root, &[&["install"], others.as_slice()].concat()));
    let before = files(&root.path());

    let said = run(&mut repository.dnf(&root, &[&["install"], OURS.as_slice()].concat()));
    for name in recommended {
        assert!(said.contains(name), "{name} does not come along:\n{said}");
    }
    assert!(root.enabled("careen-agent.service"));
    assert!(root.enabled("careen-deadman.timer"));
    root.run(&["/usr/bin/careen-agent", "--version"]);

    run(&mut repository.dnf(&root, &[&["remove"], OURS.as_slice()].concat()));
    let after = files(&root.path());
    let changed: Vec<_> = after.symmetric_difference(&before).collect();
    assert_eq!(changed, Vec::<&String>::new());
}

#[test]
fn dnf_names_what_is_not_to_be_had_and_installs_nothing() {
    let root = Root::new();
    for missing in ["dracut", "gnupg2", "ostree", "ostree-libs", "systemd"] {
        let repository = Repository::without(&[missing], &root);
        let output = repository
            .dnf(&root, &["install", "careen"])
            .output()
            .unwrap();
        assert!(!output.status.success(), "it installs without {missing}");
        let said = String::from_utf8_lossy(&output.stderr);
        let wanted = match missing {
            "ostree-libs" => "libostree-1.so.1",
            name => name,
        };
        assert!(
            said.contains(&format!("nothing provides {wanted}")),
            "{said}"
        );
    }
    assert!(!root.path().join("usr/libexec/careen").exists());
}
