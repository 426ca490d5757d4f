//! The OSTree repository in the cache: base commits, and the images as thin layers on top.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use testkit::cache::{self, Key, built};
use testkit::programs;
use testkit::script::{read, run, step};

use super::base::Base;
use super::commit::Commit;
use super::initramfs::kernel;
use super::layer::Layer;
use super::recipe::{Extra, Recipe};

/// The repository, made on first use.
///
/// # Errors
///
/// Fails when ostree fails.
pub fn path() -> Result<PathBuf> {
    let repo = cache::dir()?.join("repo");
    if !repo.join("config").exists() {
        run("ostree", [&at(&repo), "init", "--mode=archive"])?;
        // It is fetched over loopback and made often, so speed matters more than size and
        // durability.
        run(
            "ostree",
            [&at(&repo), "config", "set", "archive.zlib-level", "1"],
        )?;
        run(
            "ostree",
            [&at(&repo), "config", "set", "core.fsync", "false"],
        )?;
    }
    Ok(repo)
}

/// The commit of an image. It is made unless the same inputs made it before.
///
/// # Errors
///
/// Fails when a step fails.
pub fn commit(recipe: &Recipe) -> Result<Commit> {
    let mut layers = vec![recipe.ours.layer()?];
    if let Some(initramfs) = recipe.initramfs {
        layers.push(initramfs.layer(recipe.base)?);
    }
    layers.push(top(recipe)?);
    let left_out = left_out(recipe)?;
    // A file can only be left out of a folder, not of a commit.
    let below = if left_out.is_empty() {
        format!("--tree=ref={}", base(recipe.base)?)
    } else {
        format!("--tree=dir={}", recipe.base.tree()?.display())
    };
    let mut arguments = vec![
        below,
        format!("--timestamp=2026-01-{:02} 00:00:00 +0000", recipe.day),
    ];
    arguments.extend(
        layers
            .iter()
            .map(|layer| format!("--tree=dir={}", layer.display())),
    );
    arguments.extend(recipe.signer.arguments()?);
    if recipe.initramfs.is_some() {
        arguments.push("--bootable".to_owned());
    }
    if !left_out.is_empty() {
        let list = cache::dir()?.join(format!("without-{}", recipe.name));
        fs::write(&list, left_out.concat())?;
        arguments.push(format!("--skip-list={}", list.display()));
    }
    let digest = once(recipe.name, arguments)?;
    Ok(Commit {
        reference: recipe.name.to_owned(),
        digest,
    })
}

/// The files of the base that the image lacks, one line each. A commit without a kernel cannot be
/// marked bootable.
fn left_out(recipe: &Recipe) -> Result<Vec<String>> {
    let modules = format!("/usr/lib/modules/{}", kernel(&recipe.base.tree()?)?);
    let vmlinuz = recipe.initramfs.is_none().then_some("vmlinuz".to_owned());
    let lacks = recipe.extra.iter().filter_map(|extra| match extra {
        Extra::NoModule(path) => Some(format!("kernel/{path}")),
        Extra::File(..)
        | Extra::Append(..)
        | Extra::Program(..)
        | Extra::Link(..)
        | Extra::Built(..) => None,
    });
    let all = vmlinuz.into_iter().chain(lacks);
    Ok(all.map(|path| format!("{modules}/{path}\n")).collect())
}

/// The base's commit, by its checksum. The ref's name would not distinguish two contents.
///
/// # Errors
///
/// Fails when a step fails.
pub fn base(base: Base) -> Result<String> {
    let reference = format!("base/{}", base.name());
    let tree = base.tree()?;
    once(
        &reference,
        vec![
            format!("--tree=dir={}", tree.display()),
            "--timestamp=2026-01-01 00:00:00 +0000".into(),
        ],
    )
}

fn top(recipe: &Recipe) -> Result<PathBuf> {
    let json = recipe.image_json(recipe.ours.carry_control()?);
    let mut key = Key::default().text("top 2").text(format!("{recipe:?}"));
    key = key.text(&json);
    for extra in recipe.extra {
        key = match extra {
            Extra::Built(_, module) => key.built(&go_program(module)?),
            Extra::Append(..) => key.built(&recipe.base.tree()?),
            Extra::File(..) | Extra::Program(..) | Extra::Link(..) | Extra::NoModule(_) => key,
        };
    }
    built(&format!("top-{}", recipe.name), &key, |out| {
        let layer = Layer::new(out)?;
        layer.write("usr/lib/careen/image.json", &json, 0o644)?;
        recipe.extra.iter().try_for_each(|extra| match extra {
            Extra::File(path, content) => layer.write(path, content, 0o644),
            Extra::Append(path, lines) => {
                let before = fs::read_to_string(recipe.base.tree()?.join(path))?;
                layer.write(path, &(before + lines), 0o644)
            }
            Extra::Program(path, script) => {
                layer.write(path, &format!("#!/bin/sh\n{script}"), 0o755)
            }
            Extra::Link(path, target) => layer.link(path, target),
            Extra::Built(path, module) => layer.copy(&go_program(module)?, path),
            Extra::NoModule(_) => Ok(()),
        })
    })
}

/// Built on first use, from its Go modules.
fn go_program(module: &[&str]) -> Result<PathBuf> {
    let path = read(programs::home().join("kube/build.sh"), module)?;
    Ok(path.into())
}

/// Commits to a ref, unless the last commit there came from the same arguments. Their paths are
/// cached by content.
fn once(reference: &str, arguments: Vec<String>) -> Result<String> {
    let repo = path()?;
    let made = cache::dir()?.join("made").join(reference);
    let known = fs::read_to_string(&made).ok().and_then(|text| {
        let (digest, by) = text.split_once('\n')?;
        (by == arguments.join("\n")).then(|| digest.to_owned())
    });
    if let Some(digest) = known
        && repo.join("refs/heads").join(reference).exists()
    {
        return Ok(digest);
    }
    let digest = step(&format!("commit {reference}"), || {
        let fixed = [
            at(&repo),
            "commit".into(),
            format!("--branch={reference}"),
            "--parent=none".into(),
        ];
        let (sign, content): (Vec<_>, Vec<_>) = arguments
            .iter()
            .partition(|argument| argument.starts_with("--gpg-"));
        let digest = read("ostree", fixed.iter().chain(content))?;
        sign_once(&repo, &digest, &sign)?;
        Ok(digest)
    })?;
    fs::create_dir_all(made.parent().unwrap_or(&made))?;
    let part = made.with_extension("new");
    fs::write(&part, format!("{digest}\n{}", arguments.join("\n")))?;
    fs::rename(part, made)?;
    Ok(digest)
}

/// The same content gives the same commit, and ostree refuses to sign it twice with the same key.
fn sign_once(repo: &Path, digest: &str, sign: &[&String]) -> Result<()> {
    let (first, rest) = digest.split_at(2);
    let signed = repo
        .join("objects")
        .join(first)
        .join(format!("{rest}.commitmeta"));
    let value = |name: &str| sign.iter().find_map(|argument| argument.strip_prefix(name));
    if let Some(key) = value("--gpg-sign=")
        && !signed.exists()
    {
        let home = format!(
            "--gpg-homedir={}",
            value("--gpg-homedir=").unwrap_or_default()
        );
        run("ostree", [&at(repo), "gpg-sign", &home, digest, key])?;
    }
    Ok(())
}

fn at(repo: &Path) -> String {
    format!("--repo={}", repo.display())
}
