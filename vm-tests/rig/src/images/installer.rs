//! The DaemonSet's image, built from the shipped Containerfile as an archive that can be pushed to
//! a registry.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use testkit::cache::{self, Key, built};
use testkit::programs as rig;
use testkit::script::{beside, finish, script, step};

use super::containerfile::Containerfile;
use super::followed::{Site, config, follow};
use super::layer::Layer;
use super::ours::{STATIC_TARGET, programs};
use testkit::cargo;
use testkit::debian::root;

/// The pod's program, which no node image has.
const PROGRAM: &str = "careen-installer";

/// The agent in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodAgent {
    /// The agent of the node's images.
    Ours,
    /// An agent that prints its version, and ends with an error whenever it is started.
    Broken,
}

const BROKEN: &str = "#!/bin/sh
case $1 in --version) echo 'careen-agent 0.0.0'; exit ;; esac
echo 'careen-agent: broken on purpose' >&2
exit 1
";

/// The image `localhost/careen-installer:<version>` in an OCI archive. Its programs are those of
/// the node's images. It declares this version, so that the node has a reason to prefer it.
///
/// # Errors
///
/// Fails when something does not build, or the rig cannot follow the recipe.
pub fn installer(version: &str, agent: PodAgent) -> Result<PathBuf> {
    let _lock = cache::lock()?;
    let (root, all) = (root()?, with_installer(agent)?);
    let packaging = cargo::source().join("packaging/daemonset");
    let key = Key::default()
        .text("followed 1")
        .text(version)
        .files(&all)?
        .files(&beside("installer.sh"))?
        .files(&beside("installer-run.sh"))?
        .files(&packaging.join("context.sh"))?
        .files(&packaging.join("Containerfile"))?
        .built(&root);
    built(&format!("installer-{version}"), &key, |out| {
        step(&format!("container image of {PROGRAM} {version}"), || {
            let work = out.with_extension("work");
            if work.exists() {
                fs::remove_dir_all(&work)?;
            }
            let context = lay_out(&all, version, &work)?;
            make(&root, &context, &work, out, version)?;
            Ok(fs::remove_dir_all(work)?)
        })
    })
}

/// The context of the Containerfile, laid out as for every user.
fn lay_out(all: &Path, version: &str, work: &Path) -> Result<PathBuf> {
    let context = work.join("context");
    let script = cargo::source().join("packaging/daemonset/context.sh");
    finish(
        Command::new(script)
            .arg(&context)
            .env("CAREEN_PROGRAMS", all)
            .env("CAREEN_PAPERS", papers(all, work)?),
    )?;
    fs::write(context.join("careen/VERSION"), version)?;
    Ok(context)
}

/// Empty SBOM and licence files. The Containerfile needs them, and the rig ships nothing.
fn papers(all: &Path, work: &Path) -> Result<PathBuf> {
    let papers = work.join("papers");
    let layer = Layer::new(&papers)?;
    for entry in fs::read_dir(all)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        layer.write(&format!("sbom/{name}.cdx.json"), "{}", 0o644)?;
        layer.write(&format!("licences/{name}.txt"), "", 0o644)?;
    }
    Ok(papers)
}

/// Follows the Containerfile and packs the result.
fn make(root: &Path, context: &Path, work: &Path, out: &Path, version: &str) -> Result<()> {
    let recipe = cargo::source().join("packaging/daemonset/Containerfile");
    let recipe = Containerfile::parse(&fs::read_to_string(recipe)?)?;
    let (layer, said) = (work.join("layer"), work.join("config.json"));
    let site = Site {
        context,
        root,
        layer: &layer,
    };
    let programs = follow(&recipe, &site)?;
    fs::write(&said, config(&recipe).to_string())?;
    let name = format!("localhost/{PROGRAM}:{version}");
    let mut arguments = vec![root, &layer, &said, Path::new(&name), out];
    arguments.extend(programs.iter().map(Path::new));
    script("installer.sh", &arguments)
}

/// A folder with the programs of the images, and the pod's program.
fn with_installer(agent: PodAgent) -> Result<PathBuf> {
    let target = rig::cache()?.join("target");
    step(PROGRAM, || {
        let flags = "-C target-feature=+crt-static";
        cargo::build(
            &target,
            "stage",
            &["-p", PROGRAM, "--target", STATIC_TARGET],
            flags,
        )
    })?;
    let all = target.join(match agent {
        PodAgent::Ours => "pod-programs",
        PodAgent::Broken => "pod-programs-broken",
    });
    fs::create_dir_all(&all)?;
    let built = target.join(STATIC_TARGET).join("stage").join(PROGRAM);
    copy(&built, &all.join(PROGRAM))?;
    for entry in fs::read_dir(programs()?)? {
        let entry = entry?;
        copy(&entry.path(), &all.join(entry.file_name()))?;
    }
    if agent == PodAgent::Broken {
        fs::write(all.join("careen-agent"), BROKEN)?;
    }
    Ok(all)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}
