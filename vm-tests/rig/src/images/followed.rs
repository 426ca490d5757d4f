//! Follows a Containerfile: runs its steps on the rig's own Debian instead of the base image.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use testkit::script::script;

use super::containerfile::{Containerfile, Step};
use super::layer::Layer;

/// The file needed from a package. The whole package, and Debian with it, would take an emulated
/// node minutes to pull.
const WANTED: [(&str, &str); 1] = [("systemd", "/usr/bin/journalctl")];

/// The PATH that Debian's own image sets.
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The folders for following a Containerfile.
pub struct Site<'a> {
    /// The context, the source of its copies.
    pub context: &'a Path,
    /// The rig's Debian.
    pub root: &'a Path,
    /// The result of its steps.
    pub layer: &'a Path,
}

/// Runs its steps. Returns the Debian programs that it needs in the image.
///
/// # Errors
///
/// Fails when a step fails, or the rig has nothing to follow it with.
pub fn follow(recipe: &Containerfile, site: &Site<'_>) -> Result<Vec<&'static str>> {
    stands_in(&recipe.base, site.root)?;
    Layer::new(site.layer)?;
    let mut programs = Vec::new();
    for step in &recipe.steps {
        match step {
            Step::Copy { from, to } => copy(from, to, site)?,
            Step::Run(command) => {
                script(
                    "installer-run.sh",
                    &[site.root, site.layer, command.as_ref()],
                )?;
            }
            Step::Install(packages) => {
                for package in packages {
                    programs.push(program(package, site.root)?);
                }
            }
        }
    }
    Ok(programs)
}

/// The image configuration: how the image runs.
pub fn config(recipe: &Containerfile) -> Value {
    json!({
        "User": recipe.user.as_deref().unwrap_or_default(),
        "Entrypoint": recipe.entrypoint,
        "Cmd": recipe.arguments,
        "Env": [PATH],
    })
}

/// Checks that the rig's Debian has the same release as the base image.
fn stands_in(base: &str, root: &Path) -> Result<()> {
    let text = fs::read_to_string(root.join("usr/lib/os-release"))?;
    let codename = text
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let codename = codename.context("the rig's Debian does not say which it is")?;
    let ours = [
        format!("debian:{codename}"),
        format!("debian:{codename}-slim"),
    ];
    ensure!(
        ours.iter().any(|name| name == base),
        "the recipe begins with {base}, and the rig has {codename} of Debian in its place"
    );
    Ok(())
}

fn copy(from: &str, to: &str, site: &Site<'_>) -> Result<()> {
    let source = site.context.join(from);
    ensure!(
        source.exists(),
        "COPY {from}: packaging/daemonset/context.sh lays out no such thing"
    );
    let place = to.strip_prefix('/');
    let place = place.with_context(|| format!("COPY to {to}: not a path from the root"))?;
    let is_folder = place.is_empty() || place.ends_with('/');
    let place = match source.file_name() {
        Some(name) if source.is_file() && is_folder => {
            format!("{place}{}", name.to_string_lossy())
        }
        Some(_) | None => place.trim_end_matches('/').to_owned(),
    };
    Layer::new(site.layer)?.copy_all(&source, &place)
}

/// The part of this package that goes into the image.
fn program(package: &str, root: &Path) -> Result<&'static str> {
    let list = format!("var/lib/dpkg/info/{package}.list");
    ensure!(
        root.join(list).exists(),
        "the recipe installs {package}, which the rig's Debian has not: vm-tests/images/packages.txt"
    );
    match WANTED.iter().find(|(name, _)| *name == package) {
        Some((_, program)) => Ok(program),
        None => bail!(
            "the recipe installs {package}: say in vm-tests/rig/src/images/followed.rs what is wanted of it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(line: &str) -> Containerfile {
        Containerfile::parse(&format!("FROM debian:trixie-slim\n{line}\n")).unwrap()
    }

    /// A Debian that contains only its name and a package, and a context.
    fn follow_in(work: &Path, recipe: &Containerfile) -> Result<Vec<&'static str>> {
        let [root, context, layer] = ["root", "context", "layer"].map(|name| work.join(name));
        let debian = Layer::new(&root)?;
        debian.write("usr/lib/os-release", "VERSION_CODENAME=trixie\n", 0o644)?;
        for package in ["systemd", "apt"] {
            debian.write(&format!("var/lib/dpkg/info/{package}.list"), "", 0o644)?;
        }
        let given = Layer::new(&context)?;
        given.write("program", "runs", 0o755)?;
        given.write("folder/file", "text", 0o644)?;
        let (context, root, layer) = (&context, &root, &layer);
        follow(
            recipe,
            &Site {
                context,
                root,
                layer,
            },
        )
    }

    #[test]
    fn files_and_what_is_in_folders_go_where_the_recipe_says() -> Result<()> {
        let work = tempfile::tempdir()?;
        let recipe = recipe("COPY program /one\nCOPY program /bin/\nCOPY folder/ /usr/share/two/");
        assert!(follow_in(work.path(), &recipe)?.is_empty());
        for (path, text) in [
            ("one", "runs"),
            ("bin/program", "runs"),
            ("usr/share/two/file", "text"),
        ] {
            let path = work.path().join("layer").join(path);
            assert_eq!(fs::read_to_string(path)?, text);
        }
        Ok(())
    }

    #[test]
    fn a_package_comes_with_what_is_wanted_of_it() -> Result<()> {
        let work = tempfile::tempdir()?;
        let recipe = recipe("RUN apt-get update && apt-get install --yes systemd");
        assert_eq!(follow_in(work.path(), &recipe)?, ["/usr/bin/journalctl"]);
        Ok(())
    }

    #[test]
    fn what_is_not_there_to_be_followed_is_named() -> Result<()> {
        let work = tempfile::tempdir()?;
        for (line, named) in [
            ("COPY papers/ /doc/", "papers/"),
            ("COPY program one", "COPY to one"),
            ("RUN apt-get install --yes emacs", "emacs"),
            ("RUN apt-get install --yes apt", "apt"),
        ] {
            let error = follow_in(work.path(), &recipe(line)).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
        let another = Containerfile::parse("FROM alpine:3\n")?;
        let error = follow_in(work.path(), &another).unwrap_err();
        assert!(error.to_string().contains("alpine:3"), "{error}");
        Ok(())
    }
}
