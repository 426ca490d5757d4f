//! The menu that GRUB reads: the position of a deployment in it, and the default that it boots.

use std::fs;
use std::path::{Path, PathBuf};

use upgrade::{Deployment, Reason, names};

use super::env;
use super::script::Script;
use crate::Places;
use crate::boot::{Installed, deployments};
use crate::error::{At, Result};

/// The file of the menu in GRUB's folder.
const CONFIGURATION: &str = "grub.cfg";

const DEFAULT_ACCEPTED: &str = "accepted is a default that leads to the first OSTree entry: GRUB_DEFAULT=0, or no saved_entry in grubenv";

/// Whether GRUB has a menu.
pub(in crate::loader) fn is_there(places: &Places) -> bool {
    places.grub().join(CONFIGURATION).exists()
}

/// The text of the menu: GRUB's own configuration, or the one that `configfile` in it names.
///
/// # Errors
/// When it cannot be read.
pub(in crate::loader) fn configuration(places: &Places) -> Result<String> {
    let first = places.grub().join(CONFIGURATION);
    let text = text(&first)?;
    let next = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("configfile "));
    match next.map(|name| as_path(places, name.trim())) {
        Some(path) => self::text(&path),
        None => Ok(text),
    }
}

/// GRUB's own words are ASCII. A title may have any bytes.
fn text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).at("reading", path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// GRUB names files by the file system of /boot: with and without /boot in front.
fn as_path(places: &Places, name: &str) -> PathBuf {
    let name = name.trim_matches(['"', '\'']);
    let name = name.split_once(')').map_or(name, |(_, rest)| rest);
    let name = name
        .strip_prefix("$prefix")
        .map_or_else(|| name.to_owned(), |rest| format!("/grub{rest}"));
    let below = name.trim_start_matches('/');
    places
        .boot
        .join(below.strip_prefix("boot/").unwrap_or(below))
}

/// The position of a deployment in the menu, as `next_entry` names it.
///
/// # Errors
/// [`Reason::TargetVanished`] when the menu does not have it. [`Reason::LoaderUnfit`] when a boot
/// by position would be no trial, or no default would follow it.
pub(super) fn position(places: &Places, wanted: &Deployment) -> Result<usize> {
    let vanished = || Reason::TargetVanished {
        commit: wanted.digest.short().to_owned(),
    };
    let unfit = |detail: String| Reason::LoaderUnfit { detail };
    let installed = deployments(places)?;
    let found = installed
        .iter()
        .find(|one| one.deployment.same(wanted))
        .ok_or_else(vanished)?;
    let link = found.entry.ostree().ok_or_else(vanished)?;
    let text = configuration(places)?;
    let script = Script::read(&text);
    let position = script.position_of(link).ok_or_else(vanished)?;
    check_default(&script, &installed, places).map_err(unfit)?;
    // Without the argument a kernel that panics hangs for ever, and no check of Careen is strict.
    if !script.makes_a_trial(position) {
        let detail = format!(
            "the menu entry of {} does not have {}; deploy it again with the generator that the node uses",
            wanted.digest.short(),
            names::TRIAL_ARGUMENT
        );
        return Err(unfit(detail).into());
    }
    if !script.is_certain(position) {
        let detail = "an entry above the new system's is in an `if`, so its position is not known; move it below 15_ostree";
        return Err(unfit(detail.to_owned()).into());
    }
    Ok(position)
}

/// Without a one-shot GRUB must boot the first deployment. A saved default that names another entry
/// would make the new system the default, untried.
pub(super) fn check_default(
    script: &Script<'_>,
    installed: &[Installed],
    places: &Places,
) -> std::result::Result<(), String> {
    let Some(first) = installed.first() else {
        return Ok(());
    };
    let env = env::read(&places.grubenv()).map_err(|error| error.to_string())?;
    let found = script
        .default_position(|name| env.variable(name).map(str::to_owned))
        .map_err(|value| {
            format!("GRUB's default is {value:?}, in a submenu; {DEFAULT_ACCEPTED}")
        })?;
    let wanted = first
        .entry
        .ostree()
        .and_then(|link| script.position_of(link));
    match wanted {
        Some(wanted) if wanted == found => Ok(()),
        Some(wanted) => Err(format!(
            "GRUB's default is entry {found}, the default system is entry {wanted}; {DEFAULT_ACCEPTED}"
        )),
        None => Err(
            "GRUB's menu has no entry for the default system; make libostree write it again"
                .to_owned(),
        ),
    }
}
