//! The build context of the container images, with empty programs and papers.

// A failure in a helper fails the test.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const PROGRAMS: [&str; 7] = [
    "careen-agent",
    "careen-control",
    "careen-deploy",
    "careen-grub",
    "careen-installer",
    "careen-provider",
    "careen-stage",
];

fn packaging() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("..")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A folder with programs that report their version, and the papers of each.
fn material() -> TempDir {
    let work = TempDir::new().unwrap();
    for name in PROGRAMS {
        let program = work.path().join("programs").join(name);
        write(&program, &format!("#!/bin/sh\necho {name} 1.2.3\n"));
        fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
        let papers = work.path().join("papers");
        write(&papers.join(format!("sbom/{name}.cdx.json")), name);
        write(&papers.join(format!("licences/{name}.txt")), name);
    }
    work
}

/// Whether the context contains licence and papers of these programs, and the recipe copies them.
fn has_papers(work: &TempDir, of: &str, programs: &[&str]) {
    let doc = work.path().join("context/doc");
    assert!(doc.join("LICENSE").exists());
    for program in programs {
        for paper in [format!("{program}.cdx.json"), format!("{program}.txt")] {
            assert!(doc.join(&paper).exists(), "{paper}");
        }
    }
    let recipe = fs::read_to_string(packaging().join(of).join("Containerfile")).unwrap();
    assert!(recipe.contains("COPY doc/ /usr/share/doc/"), "{recipe}");
}

fn lay_out(of: &str, work: &TempDir, arguments: &[&str]) {
    let mut context = Command::new(packaging().join(of).join("context.sh"));
    context
        .args(arguments)
        .current_dir(work.path())
        .env("CAREEN_PAPERS", work.path().join("papers"))
        .env("CAREEN_PROGRAMS", work.path().join("programs"));
    assert!(context.status().unwrap().success());
}

#[test]
fn the_daemonsets_says_what_each_of_its_programs_is_made_of() {
    let work = material();
    lay_out("daemonset", &work, &["context"]);
    let programs = [
        "careen-agent",
        "careen-control",
        "careen-deploy",
        "careen-installer",
        "careen-stage",
    ];
    has_papers(&work, "daemonset", &programs);
    let version = fs::read_to_string(work.path().join("context/careen/VERSION")).unwrap();
    assert_eq!(version, "1.2.3\n");
}

#[test]
fn careen_providers_says_what_it_is_made_of() {
    let work = material();
    lay_out("provider", &work, &["programs/careen-provider", "context"]);
    has_papers(&work, "provider", &["careen-provider"]);
    assert!(work.path().join("context/careen-provider").exists());
}
