//! The layout of the packages, with empty programs and papers.

// A failure in a helper fails the test.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use upgrade::Policy;

const PROGRAMS: [&str; 7] = [
    "careen-agent",
    "careen-control",
    "careen-deploy",
    "careen-grub",
    "careen-image",
    "careen-stage",
    "kubectl-careen",
];

fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

/// Creates empty files below `folder`.
fn empty(folder: &Path, files: impl IntoIterator<Item = String>) {
    for file in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
}

/// The layout of a package, below `tree` in the folder.
fn laid_out(package: &str) -> TempDir {
    let work = TempDir::new().unwrap();
    let programs = work.path().join("programs");
    let papers = work.path().join("papers");
    empty(&programs, PROGRAMS.map(str::to_owned));
    pages::write(&papers).unwrap();
    let said = [
        "careen-agent",
        "careen-control",
        "careen-deploy",
        "careen-image",
        "careen-stage",
        "kubectl-careen",
    ];
    empty(
        &papers,
        said.map(|program| format!("sbom/{program}.cdx.json")),
    );
    empty(
        &papers,
        said.map(|program| format!("licences/{program}.txt")),
    );
    let status = Command::new(source().join("packaging").join(package).join("tree.sh"))
        .args([&programs, &papers, &work.path().join("tree")])
        .status();
    assert!(status.unwrap().success());
    work
}

#[test]
fn installed_policy_equals_the_default_until_it_is_edited() {
    let work = laid_out("careen");
    let text = fs::read_to_string(work.path().join("tree/etc/careen/policy.toml")).unwrap();
    assert_eq!(toml::from_str::<Policy>(&text).unwrap(), Policy::default());
    let edited = text.replace("#trials = 2", "trials = 3");
    assert_eq!(toml::from_str::<Policy>(&edited).unwrap().trials, 3);
}

/// The indented blocks on a page of the docs that begin with this text.
fn blocks(page: &str, begins: &str) -> Vec<String> {
    let text = fs::read_to_string(source().join("docs").join(page)).unwrap();
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("    ").filter(|l| l.starts_with(begins)) else {
            continue;
        };
        let more = lines.by_ref().map_while(|line| line.strip_prefix("    "));
        found.push(
            [first]
                .into_iter()
                .chain(more)
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }
    found
}

#[test]
fn documented_policy_snippets_append_to_the_installed_policy() {
    let work = laid_out("careen");
    let installed = fs::read_to_string(work.path().join("tree/etc/careen/policy.toml")).unwrap();
    let remotes = blocks("install.md", "remotes = ").remove(0);
    let registries = blocks("images.md", "[registry]");
    assert_eq!(registries.len(), 2, "{registries:?}");
    for registry in registries {
        let text = format!("{installed}{remotes}\n{registry}\n");
        let policy = toml::from_str::<Policy>(&text).unwrap_or_else(|bad| panic!("{bad}"));
        assert_eq!(policy.remotes, ["site"]);
        assert_ne!(policy.registry, Policy::default().registry, "{registry}");
    }
}

#[test]
fn every_unit_and_every_file_of_the_dracut_module_is_laid_out() {
    let work = laid_out("careen");
    for (from, to) in [
        ("systemd/system", "usr/lib/systemd/system"),
        ("systemd/system-preset", "usr/lib/systemd/system-preset"),
        ("systemd/tmpfiles.d", "usr/lib/tmpfiles.d"),
        ("dracut/55careen", "usr/lib/dracut/modules.d/55careen"),
    ] {
        for entry in fs::read_dir(source().join(from)).unwrap() {
            let name = entry.unwrap().file_name();
            let there = work.path().join("tree").join(to).join(&name);
            assert!(there.exists(), "{}", there.display());
        }
    }
}

#[test]
fn every_program_of_a_node_is_laid_out_and_a_person_finds_two() {
    let work = laid_out("careen");
    let tree = work.path().join("tree");
    let names = |folder: &str| {
        let entries = fs::read_dir(tree.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    // The programs of a bundle that a pod brings.
    assert_eq!(names("usr/libexec/careen"), host::agents::PROGRAMS);
    assert_eq!(names("usr/bin"), ["careen-agent", "careen-control"]);
    for name in names("usr/bin") {
        assert!(tree.join("usr/bin").join(&name).exists(), "{name}");
    }
}

#[test]
fn the_plugin_comes_with_its_pages_and_the_roles_for_it() {
    let work = laid_out("kubectl-careen");
    for path in [
        "usr/bin/kubectl-careen",
        "usr/bin/kubectl_complete-careen",
        "usr/share/man/man1/kubectl-careen.1.gz",
        "usr/share/man/man1/kubectl-careen-rollback.1.gz",
        "usr/share/doc/kubectl-careen/clusterroles.yaml",
    ] {
        let there = work.path().join("tree").join(path);
        assert!(there.exists(), "{}", there.display());
    }
}

#[test]
fn what_pushes_images_comes_with_its_page_and_is_not_on_nodes() {
    let work = laid_out("careen-image");
    for path in [
        "usr/bin/careen-image",
        "usr/share/man/man1/careen-image.1.gz",
        "usr/share/bash-completion/completions/careen-image",
        "usr/share/doc/careen-image/careen-image.cdx.json",
        "usr/share/doc/careen-image/careen-image.txt",
    ] {
        let there = work.path().join("tree").join(path);
        assert!(there.exists(), "{}", there.display());
    }
    let node = laid_out("careen");
    for folder in ["usr/share/zsh/site-functions", "usr/share/doc/careen"] {
        for entry in fs::read_dir(node.path().join("tree").join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.contains("careen-image"), "{folder}/{name}");
        }
    }
}

/// The programs that a script names in its loop.
fn named_in(script: &str) -> String {
    let text = fs::read_to_string(source().join("packaging").join(script)).unwrap();
    let line = text.lines().find(|line| line.starts_with("for "));
    line.unwrap().to_owned()
}

#[test]
fn every_program_has_its_papers_and_every_package_is_built() {
    let papers = named_in("papers.sh");
    for name in [
        "agent",
        "control",
        "deploy",
        "image",
        "installer",
        "kubectl",
        "provider",
        "stage",
    ] {
        assert!(papers.contains(&format!("src/{name}")), "{name}: {papers}");
    }
    let built = named_in("build.sh");
    for entry in fs::read_dir(source().join("packaging")).unwrap() {
        let folder = entry.unwrap();
        let name = folder.file_name().into_string().unwrap();
        if folder.path().join("tree.sh").exists() {
            assert!(built.contains(&format!(" {name}")), "{name}: {built}");
        }
    }
}
