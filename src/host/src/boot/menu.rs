//! GRUB's configuration in use: whether it honours a one-shot entry, and at which position a deployment stands.
//!
//! GRUB's script is read by lines, as far as generators write it: ours and Debian's grub-mkconfig.

use std::fs;
use std::path::PathBuf;

use upgrade::{Deployment, Reason, names};

use super::installed::deployments;
use crate::Places;
use crate::error::{At, Result};

/// The configuration that GRUB ends up with: its own, or the one that it hands over to with `configfile`.
///
/// # Errors
/// When it cannot be read.
pub fn configuration(places: &Places) -> Result<String> {
    let first = places.grub().join("grub.cfg");
    let text = fs::read_to_string(&first).at("reading", &first)?;
    let next = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("configfile "));
    match next.map(|name| as_path(places, name.trim())) {
        Some(path) => fs::read_to_string(&path).at("reading", &path),
        None => Ok(text),
    }
}

/// GRUB names files by the file system that /boot lies on: with and without /boot in front.
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

/// Whether the configuration takes `next_entry`, empties it and saves it before it boots anything.
#[must_use]
pub fn honours_one_shot(configuration: &str) -> bool {
    let mut lines = configuration
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("menuentry "));
    let takes = |line: &str| line.starts_with("set ") && line.contains("{next_entry}");
    let saves = |line: &str| {
        line.starts_with("save_env ") && line.split(' ').any(|word| word == "next_entry")
    };
    lines.by_ref().any(takes)
        && lines.by_ref().any(|line| line == "set next_entry=")
        && lines.any(saves)
}

/// The position of a deployment in the menu, as `next_entry` names it. It moves with every deployment: ask now, use now.
///
/// # Errors
/// [`Reason::TargetVanished`] when it stands nowhere.
pub fn position(places: &Places, wanted: &Deployment) -> Result<usize> {
    let vanished = || Reason::TargetVanished {
        commit: wanted.digest.short().to_owned(),
    };
    let installed = deployments(places, &places.boot.join("loader"))?;
    let found = installed
        .iter()
        .find(|one| one.deployment.same(wanted))
        .ok_or_else(vanished)?;
    let link = found.entry.ostree().ok_or_else(vanished)?;
    let text = configuration(places)?;
    let position = position_in(&text, link).ok_or_else(vanished)?;
    if makes_a_trial(&text, position) {
        return Ok(position);
    }
    // Without it a kernel that panics hangs for ever and nothing of ours is strict.
    let detail = format!(
        "the menu entry of {} does not carry {}",
        wanted.digest.short(),
        names::TRIAL_ARGUMENT
    );
    Err(Reason::LoaderUnfit { detail }.into())
}

/// Whether the entry gives the kernel the argument of a trial: by way of a variable, or on its line.
fn makes_a_trial(configuration: &str, position: usize) -> bool {
    let top = |line: &&str| line.starts_with("menuentry ") || line.starts_with("submenu ");
    let mut entries = 0;
    let entry = configuration.lines().skip_while(|line| {
        entries += usize::from(top(line));
        entries <= position
    });
    let carries = |line: &str| {
        line.split([' ', '\t', '"', '\''])
            .any(|word| word == names::TRIAL_ARGUMENT)
    };
    entry.take_while(|line| *line != "}").any(carries)
}

/// The position of the top-level entry whose kernel line carries this `ostree=`.
fn position_in(configuration: &str, link: &str) -> Option<usize> {
    let wanted = format!("ostree={link}");
    let mut position = None;
    for line in configuration.lines() {
        if line.starts_with("menuentry ") || line.starts_with("submenu ") {
            position = Some(position.map_or(0, |at: usize| at + 1));
        }
        let mut words = line.split_ascii_whitespace();
        if words.next().is_some_and(|word| word.starts_with("linux"))
            && words.any(|word| word == wanted)
        {
            return position;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOCK: &str = r#"if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="0"
fi
menuentry 'Debian (ostree:0)' --class gnu-linux {
linux /ostree/debian-1/vmlinuz ostree=/ostree/boot.1/debian/aa/0 rw
}
menuentry 'Debian (ostree:1)' --class gnu-linux {
	linux /ostree/debian-2/vmlinuz ostree=/ostree/boot.1/debian/bb/0 rw
}
"#;

    #[test]
    fn debians_own_configuration_honours_a_one_shot() {
        assert!(honours_one_shot(STOCK));
    }

    #[test]
    fn one_that_does_not_save_the_emptied_variable_does_not() {
        assert!(!honours_one_shot(
            &STOCK.replace("   save_env next_entry\n", "")
        ));
        assert!(!honours_one_shot(""));
    }

    #[test]
    fn only_an_entry_with_the_argument_makes_a_trial() {
        assert!(!makes_a_trial(STOCK, 1));
        let one = STOCK.replace("bb/0 rw", "bb/0 rw careen.trial=1");
        assert!(makes_a_trial(&one, 1) && !makes_a_trial(&one, 0));
    }

    #[test]
    fn a_deployment_is_found_by_its_kernel_line() {
        assert_eq!(position_in(STOCK, "/ostree/boot.1/debian/bb/0"), Some(1));
        assert_eq!(position_in(STOCK, "/ostree/boot.1/debian/cc/0"), None);
    }
}
