//! The grub.cfg of careen-grub: small, the same for the same entries, and made for one-shot trials.
//!
//! It names no disk. GRUB has found this file on the file system of /boot, so `$root` is right.
//! Where a chain of loaders has changed `$root`, the path of a kernel, which holds its checksum,
//! finds it.

use std::fmt::Write as _;

use crate::boot::Entry;

/// The variable that only a menu by careen-grub sets: the entry that the one-shot has chosen.
const MARK: &str = "careen_once";

/// One menu entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// As the Boot Loader Specification has it.
    pub entry: Entry,
    /// It has proved itself, so the loader may fall back to it.
    pub proven: bool,
}

/// Whether careen-grub has written this grub.cfg.
pub(in crate::loader) fn is_ours(text: &str) -> bool {
    text.contains(MARK)
}

/// The whole configuration. `items` are in the order of the menu, the default first. `grubenv` is
/// the path of the environment block as GRUB names it, and `trial` has a trial's kernel arguments.
#[must_use]
pub fn render(items: &[Item], grubenv: &str, trial: &str) -> String {
    let mut text = String::from(
        "# Written by careen-grub for every change of the boot entries. Do not edit.\n",
    );
    text += "set timeout=0\nset timeout_style=hidden\nset default=0\n";
    text += &console(items);
    text += &root(items);
    text += &one_shot(items, grubenv);
    for (position, item) in items.iter().enumerate() {
        text += &menu_entry(position, &item.entry, trial);
    }
    // GRUB waits in its menu for ever when nothing boots. A reboot tries again, and the firmware
    // may know another disk.
    text + "menuentry 'Reboot' --unrestricted {\n  reboot\n}\n"
}

/// Shows GRUB's messages where the kernel's go. Input stays with the keyboard: noise on a serial
/// line would stop the boot.
fn console(items: &[Item]) -> String {
    let options = items
        .first()
        .map(|item| item.entry.options.as_str())
        .unwrap_or_default();
    let mut serial = options
        .split_ascii_whitespace()
        .filter_map(|word| word.strip_prefix("console=ttyS"));
    let mut text = String::from(
        "if [ \"${grub_platform}\" = \"efi\" ]; then\n  insmod all_video\n  set gfxpayload=keep\nfi\n",
    );
    if let Some(port) = serial.next() {
        let number = |text: &str| {
            text.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        };
        let (unit, rest) = port.split_once(',').unwrap_or((port, ""));
        let speed = Some(number(rest))
            .filter(|speed| !speed.is_empty())
            .unwrap_or_else(|| "115200".to_owned());
        let unit = number(unit);
        let _ = write!(
            text,
            "if serial --unit={unit} --speed={speed}; then\n  terminal_output console serial\nfi\n"
        );
    }
    text
}

fn root(items: &[Item]) -> String {
    items.first().map_or_else(String::new, |item| {
        let kernel = quoted(&item.entry.linux);
        format!("if [ ! -f {kernel} ]; then\n  search --no-floppy --set=root --file {kernel}\nfi\n")
    })
}

/// Takes the one-shot and clears it on the disk before any kernel is loaded.
fn one_shot(items: &[Item], grubenv: &str) -> String {
    let proven = items
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, item)| item.proven);
    let mut chain: Vec<String> = proven.map(|(position, _)| position.to_string()).collect();
    chain.push(items.len().to_string());
    let chain = chain.join(" ");
    format!(
        r#"set fallback="{chain}"
set careen_once=
set next_entry=
if [ -s {grubenv} ]; then
  load_env --file {grubenv} next_entry
fi
if [ -n "${{next_entry}}" ]; then
  set careen_once="${{next_entry}}"
  set next_entry=
  save_env --file {grubenv} next_entry
  # What GRUB could not empty would come again at every boot: look, and boot the default then.
  load_env --file {grubenv} next_entry
  if [ -n "${{next_entry}}" ]; then
    set careen_once=
  fi
fi
if [ -n "${{careen_once}}" ]; then
  set default="${{careen_once}}"
  set fallback="0 {chain}"
fi
"#
    )
}

fn menu_entry(position: usize, entry: &Entry, arguments_of_a_trial: &str) -> String {
    let mut text = format!(
        "menuentry {} --class os --unrestricted {{\n",
        quoted(&entry.title)
    );
    let mut trial = "";
    if position > 0 {
        trial = " $careen_trial";
        let _ = write!(
            text,
            "  set careen_trial=\n  if [ \"${{careen_once}}\" = \"{position}\" ]; then\n    set careen_trial=\"{arguments_of_a_trial}\"\n  fi\n"
        );
    }
    let _ = writeln!(
        text,
        "  linux {} {}{trial}",
        word(&entry.linux),
        arguments(&entry.options)
    );
    for (command, file) in [("initrd", &entry.initrd), ("devicetree", &entry.devicetree)] {
        if let Some(file) = file {
            let _ = writeln!(text, "  {command} {}", word(file));
        }
    }
    text + "}\n"
}

fn arguments(options: &str) -> String {
    let mut words = Vec::new();
    let mut rest = options.trim_ascii_start();
    while !rest.is_empty() {
        let (argument, after) = first_argument(rest);
        words.push(word(&argument));
        rest = after.trim_ascii_start();
    }
    words.join(" ")
}

/// The kernel's rule: blanks within double quotes separate nothing. The quotes are dropped, and
/// GRUB puts them around a word with blanks. A quote that nothing closes is a letter: otherwise the
/// rest of the menu would be one word.
fn first_argument(text: &str) -> (String, &str) {
    let mut argument = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next().filter(|c| !c.is_ascii_whitespace()) {
        rest = &rest[letter.len_utf8()..];
        let closed = (letter == '"').then(|| rest.split_once('"')).flatten();
        match closed {
            Some((quoted, after)) => {
                argument += quoted;
                rest = after;
            }
            None => argument.push(letter),
        }
    }
    (argument, rest)
}

/// A word of GRUB's language, in quotes if it holds a letter with a meaning there.
fn word(text: &str) -> String {
    let special = |c: char| c.is_whitespace() || "'\"$;&|<>{}[]*?#\\".contains(c);
    if text.is_empty() || text.contains(special) {
        quoted(text)
    } else {
        text.to_owned()
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_argument_stays_one_word_whatever_is_in_it() {
        assert_eq!(
            arguments(r#"rw  x="a;b c" dyndbg="file drivers/usb/* +p""#),
            "rw 'x=a;b c' 'dyndbg=file drivers/usb/* +p'"
        );
    }

    #[test]
    fn a_quote_that_nothing_closes_does_not_swallow_the_menu() {
        assert_eq!(arguments("who=it's ro"), r"'who=it'\''s' ro");
        assert_eq!(arguments("x=\"a ro"), "'x=\"a' ro");
    }
}
