//! Builds the container images with a real builder from the shipped Containerfiles, and runs them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::docs::mirror;
use crate::root::{list, run};
use crate::shelf::{Shelf, source};

/// The base of both Containerfiles.
const BASE: &str = "docker.io/library/debian:trixie-slim";

/// The most that the DaemonSet's image may add to the base, because every node pulls it.
const ROOM: u64 = 60 << 20;

/// A builder with its own storage, which contains the base.
struct Builder(TempDir);

impl Builder {
    fn new() -> Self {
        let builder = Self(TempDir::new().unwrap());
        let recipe = builder.0.path().join("base");
        fs::write(&recipe, "FROM scratch\nADD base.tar /\n").unwrap();
        let context = base().parent().unwrap();
        succeeded(&builder.build(&recipe, context, BASE));
        builder
    }

    fn buildah(&self, words: &[&str]) -> Command {
        let mut buildah = Command::new("buildah");
        // Neither the host's storage nor what mounts: it is to go with a folder.
        buildah.args(["--storage-driver", "vfs"]);
        for (flag, folder) in [("--root", "storage"), ("--runroot", "run")] {
            buildah.arg(flag).arg(self.0.path().join(folder));
        }
        buildah.args(words);
        buildah
    }

    /// Builds an image; steps that it has done before are not done again.
    fn build(&self, recipe: &Path, context: &Path, name: &str) -> Output {
        let mut build = self.buildah(&["build", "--isolation", "chroot", "--layers"]);
        build.args(["--pull-never", "--tag", name, "--file"]);
        build.arg(recipe).arg(context).output().unwrap()
    }

    /// Builds an image from a folder of `packaging`.
    fn ours(&self, folder: &str, context: &Path) -> Output {
        let recipe = source().join("packaging").join(folder);
        self.build(&recipe.join("Containerfile"), context, folder)
    }

    /// What an image says of how it is run.
    fn config(&self, image: &str) -> Value {
        let said = run(&mut self.buildah(&["inspect", "--type", "image", image]));
        serde_json::from_str::<Value>(&said).unwrap()["OCIv1"]["config"].take()
    }

    /// Runs a command in a container, as the image's user, and gives what it prints.
    fn run(&self, image: &str, words: &[&str]) -> String {
        let container = self.container(image);
        let mut all = self.buildah(&["run", "--isolation", "chroot", &container, "--"]);
        run(all.args(words))
    }

    /// Runs what the image itself begins with.
    fn start(&self, image: &str, argument: &str) -> String {
        let config = self.config(image);
        let entry = config["Entrypoint"][0].as_str().unwrap();
        self.run(image, &[entry, argument])
    }

    fn container(&self, image: &str) -> String {
        let name = run(&mut self.buildah(&["from", "--pull-never", image]));
        name.trim().to_owned()
    }

    /// The folder of a container's root.
    fn root(&self, image: &str) -> PathBuf {
        let container = self.container(image);
        run(&mut self.buildah(&["mount", &container])).trim().into()
    }
}

/// Debian's base is in a registry. This bootstraps one that is as small, without apt's leftovers.
fn base() -> &'static Path {
    static BASE: OnceLock<PathBuf> = OnceLock::new();
    BASE.get_or_init(|| {
        let folder = fresh("base");
        let clean = r#"DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin"; };
APT::Update::Post-Invoke { "rm -f /var/cache/apt/*.bin"; };
Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
"#;
        let hook = format!(
            "cat >\"$1/etc/apt/apt.conf.d/docker-clean\" <<'END'\n{clean}END\nrm -f \"$1\"/var/cache/apt/*.bin"
        );
        let tar = folder.join("base.tar");
        let mut make = Command::new("mmdebstrap");
        make.args(["--quiet", "--mode=root", "--variant=minbase"]);
        make.arg("--keyring=/usr/share/keyrings/debian-archive-keyring.gpg");
        for part in ["doc", "man", "locale"] {
            make.arg(format!("--dpkgopt=path-exclude=/usr/share/{part}/*"));
        }
        make.arg(format!("--customize-hook={hook}"));
        run(make.arg("trixie").arg(&tar).arg(format!("deb {} trixie main", mirror())));
        tar
    })
}

/// An empty folder for what all tests here share.
fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("containers")
        .join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// SBOM and licences of all programs.
fn papers() -> &'static Path {
    static PAPERS: OnceLock<PathBuf> = OnceLock::new();
    PAPERS.get_or_init(|| {
        if let Some(given) = std::env::var_os("CAREEN_PAPERS") {
            return given.into();
        }
        let papers = fresh("papers");
        run(Command::new(source().join("packaging/papers.sh")).arg(&papers));
        papers
    })
}

/// The context of the DaemonSet's image.
fn installer() -> TempDir {
    // Compile once, not in parallel with the packages.
    if std::env::var_os("CAREEN_PROGRAMS").is_none() {
        Shelf::ours();
    }
    let context = TempDir::new().unwrap();
    let mut lay = Command::new(source().join("packaging/daemonset/context.sh"));
    run(lay.arg(context.path()).env("CAREEN_PAPERS", papers()));
    context
}

/// The context of careen-provider's image.
fn provider() -> TempDir {
    let context = TempDir::new().unwrap();
    let mut lay = Command::new(source().join("packaging/provider/context.sh"));
    lay.arg(program()).arg(context.path());
    run(lay.env("CAREEN_PAPERS", papers()));
    context
}

/// careen-provider, built as docs/cluster-api.md says, unless programs are given.
fn program() -> PathBuf {
    if let Some(given) = std::env::var_os("CAREEN_PROGRAMS") {
        return Path::new(&given).join("careen-provider");
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--profile", "image"]);
    cargo.args(["--package", "careen-provider", "--target-dir"]);
    cargo.env("CARGO_PROFILE_IMAGE_PANIC", "unwind");
    run(cargo.arg(&target).current_dir(source()));
    target.join("image/careen-provider")
}

/// The files that an image adds to its base.
fn added(builder: &Builder, image: &str) -> BTreeSet<String> {
    let [base, all] = [BASE, image].map(|name| list(&builder.root(name)));
    let path = |line: &String| line.split(' ').nth(2).unwrap().to_owned();
    let before: BTreeSet<_> = base.iter().map(path).collect();
    all.iter()
        .map(path)
        .filter(|path| !before.contains(path))
        .collect()
}

fn bytes(folder: &Path) -> u64 {
    let said = run(Command::new("du").args(["-s", "--bytes"]).arg(folder));
    said.split('\t').next().unwrap().parse().unwrap()
}

#[test]
fn provider_image_runs_as_nobody_and_adds_only_its_own_files() {
    let builder = Builder::new();
    succeeded(&builder.ours("provider", provider().path()));
    let version = builder.start("provider", "--version");
    assert!(version.starts_with("careen-provider "), "{version}");
    // The manifests require a numeric user other than root.
    assert_eq!(builder.config("provider")["User"], "65532:65532");
    assert_eq!(builder.run("provider", &["id", "-u"]), "65532\n");
    let doc = "./usr/share/doc/careen-provider";
    let papers = ["LICENSE", "careen-provider.cdx.json", "careen-provider.txt"];
    let mut expected: BTreeSet<_> = papers.map(|name| format!("{doc}/{name}")).into();
    expected.extend(["./careen-provider", doc].map(str::to_owned));
    assert_eq!(added(&builder, "provider"), expected);
}

#[test]
fn daemonset_image_runs_installer_reads_journals_and_is_small() {
    let builder = Builder::new();
    let context = installer();
    succeeded(&builder.ours("daemonset", context.path()));
    let version = builder.start("daemonset", "--version");
    assert!(version.starts_with("careen-installer "), "{version}");
    assert_eq!(builder.config("daemonset")["Cmd"][0], "install");
    assert_eq!(builder.config("daemonset")["User"], "0:0");
    // Journals are compressed, and a journalctl without zstd shows nothing.
    let journalctl = builder.run("daemonset", &["journalctl", "--version"]);
    assert!(journalctl.contains("+ZSTD"), "{journalctl}");
    let root = builder.root("daemonset");
    for (from, to) in [("careen", "careen"), ("doc", "usr/share/doc/careen")] {
        assert_eq!(list(&context.path().join(from)), list(&root.join(to)));
    }
    let (all, base) = (bytes(&root), bytes(&builder.root(BASE)));
    assert!(all < base + ROOM, "{all} bytes, {base} of them {BASE}");
}

#[test]
fn image_build_fails_for_damaged_programs_or_missing_papers() {
    let builder = Builder::new();
    let context = installer();
    let doc = context.path().join("doc");
    fs::rename(&doc, context.path().join("elsewhere")).unwrap();
    let without = builder.ours("daemonset", context.path());
    assert!(!without.status.success());
    assert!(said(&without).contains("doc"), "{}", said(&without));

    fs::rename(context.path().join("elsewhere"), &doc).unwrap();
    let agent = context.path().join("careen/careen-agent");
    let mut content = fs::read(&agent).unwrap();
    content[0] ^= 1;
    fs::write(&agent, content).unwrap();
    let damaged = builder.ours("daemonset", context.path());
    assert!(!damaged.status.success());
    let words = said(&damaged);
    assert!(words.contains("careen-agent: FAILED"), "{words}");
}
