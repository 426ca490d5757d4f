//! etcd's own tool for its files, as in etcd's image. It is built from its Go module, with the
//! libraries of the tests' etcd.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::{cargo, programs};

/// The program with the command `snapshot`, built on first use (some seconds where etcd was built,
/// else two minutes).
///
/// # Errors
///
/// Fails when it does not compile.
pub fn program() -> Result<PathBuf> {
    let source = cargo::source().join("tests/testkit/etcdutl");
    let out = programs::cache()?.join(format!("etcdutl-{}", key(&source)?));
    let program = out.join("etcdutl");
    if !program.exists() {
        // Two tests that start at once both build it, and the last one renames.
        fs::create_dir_all(&out)?;
        let new = out.join(format!("new-{}", std::process::id()));
        build(&source, &new)?;
        fs::rename(new, &program)?;
    }
    Ok(program)
}

/// The flags are those of the tests' etcd, so that Go has most of it in its cache.
fn build(source: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new("go");
    command.args(["build", "-mod=readonly", "-trimpath", "-tags", ""]);
    command.args(["-ldflags", "-s -w", "-o"]).arg(to).arg(".");
    let command = command.current_dir(source).env("CGO_ENABLED", "0");
    let output = command.output().context("cannot run go")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "go build etcdutl: {complaint}");
    Ok(())
}

fn key(source: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    for name in ["go.mod", "go.sum", "main.go"] {
        hash.update(fs::read(source.join(name))?);
    }
    let digest = hash.finalize();
    Ok(digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
