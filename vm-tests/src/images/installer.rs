//! The image of the DaemonSet, as an archive to be pushed to a registry.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::base::root;
use super::cache::{self, Key, built};
use super::ours::{STATIC_TARGET, cargo, programs, source};
use super::script::{beside, finish, script, step};
use crate::programs as rig;

/// The program of the pod, which no image of a node has.
const PROGRAM: &str = "careen-installer";

/// The image `localhost/careen-installer:<version>` in an OCI archive. Its programs are those of the node's images; for the node they are
/// of this version, so that it has something to prefer.
///
/// # Errors
/// When something does not build.
pub fn installer(version: &str) -> Result<PathBuf> {
    let _lock = cache::lock()?;
    let (root, all) = (root()?, with_installer()?);
    let source = source();
    let key = Key::default()
        .text(version)
        .files(&all)?
        .files(&beside("installer.sh"))?
        .files(&source.join("packaging/daemonset/context.sh"))?
        .built(&root);
    built(&format!("installer-{version}"), &key, |out| {
        step(&format!("container image of {PROGRAM} {version}"), || {
            let context = out.with_extension("context");
            let laid_out = source.join("packaging/daemonset/context.sh");
            finish(
                Command::new(laid_out)
                    .arg(&context)
                    .env("CAREEN_PROGRAMS", &all),
            )?;
            fs::write(context.join("careen/VERSION"), version)?;
            let name = format!("localhost/{PROGRAM}:{version}");
            script("installer.sh", &[&root, &context, name.as_ref(), out])?;
            Ok(fs::remove_dir_all(context)?)
        })
    })
}

/// A folder with the programs of the images, and the pod's.
fn with_installer() -> Result<PathBuf> {
    let target = rig::cache()?.join("target");
    step(PROGRAM, || {
        let flags = "-C target-feature=+crt-static";
        cargo(
            &target,
            "stage",
            &["-p", PROGRAM, "--target", STATIC_TARGET],
            flags,
        )
    })?;
    let all = target.join("pod-programs");
    fs::create_dir_all(&all)?;
    let built = target.join(STATIC_TARGET).join("stage").join(PROGRAM);
    copy(&built, &all.join(PROGRAM))?;
    for entry in fs::read_dir(programs()?)? {
        let entry = entry?;
        copy(&entry.path(), &all.join(entry.file_name()))?;
    }
    Ok(all)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}
