//! A grub.cfg read by lines, as far as careen-grub and grub-mkconfig with libostree's 15_ostree
//! write it.
//!
//! It knows the entries of the first level and what the header boots. It runs nothing and is no
//! parser of the language.

use upgrade::names;

use super::words::{first_word, words};

/// One entry of the menu's first level, a submenu included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MenuEntry<'a> {
    /// As the menu shows it.
    title: String,
    /// What `--id` names it; by default its title.
    id: String,
    /// It is in an `if`: only GRUB knows whether it counts.
    conditional: bool,
    lines: Vec<&'a str>,
}

/// A configuration taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script<'a> {
    header: Vec<&'a str>,
    entries: Vec<MenuEntry<'a>>,
}

impl<'a> Script<'a> {
    /// Reads a configuration.
    #[must_use]
    pub fn read(text: &'a str) -> Self {
        let mut script = Self::default();
        let (mut braces, mut conditions) = (0_usize, 0_usize);
        for line in text.lines().map(str::trim) {
            if braces == 0 && is_entry(line) {
                script.entries.push(MenuEntry::new(line, conditions > 0));
            } else if let Some(entry) = script.entries.last_mut().filter(|_| braces > 0) {
                entry.lines.push(line);
            } else if script.entries.is_empty() {
                script.header.push(line);
            }
            if line.ends_with('{') {
                braces += 1;
            } else if line == "}" {
                braces = braces.saturating_sub(1);
            } else if braces == 0 && line.starts_with("if ") && !line.ends_with("fi") {
                conditions += 1;
            } else if braces == 0 && line == "fi" {
                conditions = conditions.saturating_sub(1);
            }
        }
        script
    }

    /// Whether the header takes `next_entry`, empties it and saves it before anything boots.
    #[must_use]
    pub fn honours_one_shot(&self) -> bool {
        let mut lines = self.header.iter();
        let takes = |line: &&str| line.starts_with("set ") && line.contains("{next_entry}");
        let saves = |line: &&str| {
            line.starts_with("save_env ") && line.split(' ').any(|word| word == "next_entry")
        };
        lines.by_ref().any(takes)
            && lines.by_ref().any(|line| *line == "set next_entry=")
            && lines.any(saves)
    }

    /// The position of the entry whose kernel line carries this `ostree=`.
    #[must_use]
    pub fn position_of(&self, link: &str) -> Option<usize> {
        let wanted = format!("ostree={link}");
        let boots = |entry: &MenuEntry<'_>| entry.kernel_arguments().any(|word| word == wanted);
        self.entries.iter().position(boots)
    }

    /// Whether GRUB counts the menu up to this entry as we do.
    #[must_use]
    pub fn is_certain(&self, position: usize) -> bool {
        let mut before = self.entries.iter().take(position + 1);
        before.all(|entry| !entry.conditional)
    }

    /// Whether the entry gives the kernel the argument of a trial: by way of a variable, or on its
    /// line.
    #[must_use]
    pub fn makes_a_trial(&self, position: usize) -> bool {
        let carries = |line: &&str| {
            line.split([' ', '\t', '"', '\''])
                .any(|word| word == names::TRIAL_ARGUMENT)
        };
        self.entries
            .get(position)
            .is_some_and(|entry| entry.lines.iter().any(carries))
    }

    /// The position that GRUB boots when nothing is armed. `variable` reads the environment block.
    ///
    /// A name that fits no entry is the first one for GRUB (grub-core/normal/menu.c, `run_menu`).
    ///
    /// # Errors
    /// The value, when it leads into a submenu.
    pub fn default_position(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<usize, String> {
        let armed =
            |line: &&&str| !line.contains("{next_entry}") && !line.contains("{careen_once}");
        let mut settings = self
            .header
            .iter()
            .filter(armed)
            .filter_map(|line| line.strip_prefix("set default="));
        let value = settings.next_back().unwrap_or_default().trim_matches('"');
        let value = match value
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'))
        {
            // The header moves it there at the next boot, be it the trial's.
            Some("saved_entry") => variable("prev_saved_entry")
                .filter(|value| !value.is_empty())
                .or_else(|| variable("saved_entry")),
            Some(name) => variable(name),
            None => Some(value.to_owned()),
        };
        self.position_named(&value.unwrap_or_default())
    }

    fn position_named(&self, value: &str) -> Result<usize, String> {
        if value.contains('>') {
            return Err(value.to_owned());
        }
        let named = |entry: &MenuEntry<'_>| entry.id == value || entry.title == value;
        let position = match value.parse() {
            Ok(number) => Some(number),
            Err(_) => self.entries.iter().position(named),
        };
        Ok(position
            .filter(|position| *position < self.entries.len())
            .unwrap_or(0))
    }
}

impl<'a> MenuEntry<'a> {
    fn new(line: &'a str, conditional: bool) -> Self {
        let rest = line.split_once(' ').map_or("", |(_, rest)| rest);
        let title = first_word(rest);
        let mut ids = ["$menuentry_id_option ", "--id "].iter();
        let id = ids.find_map(|flag| line.split_once(flag));
        Self {
            id: id.map_or_else(|| title.clone(), |(_, rest)| first_word(rest)),
            title,
            conditional,
            lines: Vec::new(),
        }
    }

    /// The words after the kernel's path. The path may have blanks itself, in quotes.
    fn kernel_arguments(&self) -> impl Iterator<Item = String> {
        let kernel = self.lines.iter().filter(|line| line.starts_with("linux"));
        kernel.flat_map(|line| words(line).skip(2))
    }
}

fn is_entry(line: &str) -> bool {
    line.starts_with("menuentry ") || line.starts_with("submenu ")
}

#[cfg(test)]
mod tests;
