//! GRUB's script read by lines, as far as generators write it: ours, and grub-mkconfig with libostree's 15_ostree.
//!
//! It knows the entries of the first level and what the header boots; it runs nothing and is no parser of the language.

use upgrade::names;

/// One entry of the menu's first level, a submenu included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MenuEntry<'a> {
    /// As the menu shows it.
    title: String,
    /// What `--id` names it; by default its title.
    id: String,
    /// It stands in an `if`: whether GRUB counts it is known to GRUB alone.
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

    /// Whether the entry gives the kernel the argument of a trial: by way of a variable, or on its line.
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

    /// What stands behind the kernel's path, which may hold blanks itself: in quotes they part nothing.
    fn kernel_arguments(&self) -> impl Iterator<Item = String> {
        let kernel = self.lines.iter().filter(|line| line.starts_with("linux"));
        kernel.flat_map(|line| words(line).skip(2))
    }
}

fn is_entry(line: &str) -> bool {
    line.starts_with("menuentry ") || line.starts_with("submenu ")
}

/// The words of a command, each without its quotes.
fn words(mut line: &str) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        line = line.trim_start();
        let word;
        (word, line) = (!line.is_empty()).then(|| next_word(line))?;
        Some(word)
    })
}

fn first_word(text: &str) -> String {
    next_word(text.trim_start()).0
}

/// The word that a text begins with, without its quotes, as shells and GRUB join their parts, and what is behind it.
fn next_word(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, ' ' | '\t') => break,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), close) if open == close => quote = None,
            (None | Some('"'), '\\') => word.extend(letters.next()),
            _ => word.push(letter),
        }
    }
    (word, letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Debian's 00_header (2.06 and 2.12 alike) and libostree's 15_ostree write.
    const STOCK: &str = include_str!("stock-grub.cfg");
    const SECOND: &str = "/ostree/boot.1/debian/bb/0";

    fn nothing_saved(_: &str) -> Option<String> {
        None
    }

    fn saved(name: &'static str, value: &'static str) -> impl Fn(&str) -> Option<String> {
        move |asked| (asked == name).then(|| value.to_owned())
    }

    fn following_the_saved_entry() -> String {
        STOCK.replace("set default=\"0\"", "set default=\"${saved_entry}\"")
    }

    #[test]
    fn debians_own_configuration_honours_a_one_shot() {
        assert!(Script::read(STOCK).honours_one_shot());
    }

    #[test]
    fn one_that_does_not_save_the_emptied_variable_does_not() {
        let text = STOCK.replace("   save_env next_entry\n", "");
        assert!(!Script::read(&text).honours_one_shot());
        assert!(!Script::read("").honours_one_shot());
    }

    /// As bootupd's static configuration does: it loads and saves other variables, and reads the boot entries itself.
    const READS_ENTRIES: &str = "load_env\nif [ \"${menu_show_once_timeout}\" ]; then\n  \
        set timeout=\"${menu_show_once_timeout}\"\n  unset menu_show_once_timeout\n  \
        save_env menu_show_once_timeout\nfi\nblscfg\n";

    #[test]
    fn one_that_reads_the_entries_itself_does_not_honour_a_one_shot() {
        assert!(!Script::read(READS_ENTRIES).honours_one_shot());
    }

    #[test]
    fn only_an_entry_with_the_argument_makes_a_trial() {
        assert!(!Script::read(STOCK).makes_a_trial(1));
        let text = STOCK.replace("bb/0 rw", "bb/0 rw careen.trial=1");
        let one = Script::read(&text);
        assert!(one.makes_a_trial(1) && !one.makes_a_trial(0));
    }

    #[test]
    fn a_deployment_is_found_by_its_kernel_line() {
        let script = Script::read(STOCK);
        assert_eq!(script.position_of(SECOND), Some(1));
        assert_eq!(script.position_of("/ostree/boot.1/debian/cc/0"), None);
    }

    /// Found by the fuzzer: a kernel's path with a blank in it, and `ostree=` behind that.
    #[test]
    fn what_only_the_kernels_path_says_is_no_argument() {
        let path = "/a ostree=/x";
        let text = STOCK.replace("linux ", &format!("linux '{path}' "));
        assert_eq!(Script::read(&text).position_of("/x"), None);
    }

    #[test]
    fn entries_of_a_submenu_do_not_count_and_the_submenu_does() {
        let others = "submenu 'Others' $menuentry_id_option 'others' {\n\tmenuentry 'x' {\n\t\tlinux /x\n\t}\n}\n";
        let at = STOCK.find("menuentry").unwrap();
        let at = STOCK[at..].find("menuentry 'Debian").unwrap() + at;
        let text = format!("{}{others}{}", &STOCK[..at], &STOCK[at..]);
        assert_eq!(Script::read(&text).position_of(SECOND), Some(2));
    }

    #[test]
    fn an_entry_that_only_some_boots_show_makes_the_ones_behind_it_uncertain() {
        let script = Script::read(STOCK);
        let certain: Vec<_> = (0..3).map(|position| script.is_certain(position)).collect();
        assert_eq!(certain, [true, true, false]);
    }

    #[test]
    fn the_first_entry_is_the_default_unless_another_is_saved() {
        assert_eq!(Script::read(STOCK).default_position(nothing_saved), Ok(0));
        let text = following_the_saved_entry();
        let script = Script::read(&text);
        for (name, value, position) in [
            ("saved_entry", "", 0),
            ("saved_entry", "1", 1),
            ("saved_entry", "7", 0),
            ("saved_entry", "Debian 2 (ostree:1)", 1),
            ("saved_entry", "Debian 9 (ostree:1)", 0),
            ("saved_entry", "uefi-firmware", 2),
            ("prev_saved_entry", "1", 1),
        ] {
            let found = script.default_position(saved(name, value));
            assert_eq!(found, Ok(position), "{name}={value}");
        }
        assert!(
            script
                .default_position(saved("saved_entry", "others>x"))
                .is_err()
        );
    }

    #[test]
    fn our_own_header_boots_the_first_entry() {
        let text = crate::grub_config::render(&[], "/grub/grubenv");
        let script = Script::read(&text);
        assert_eq!(script.default_position(saved("next_entry", "1")), Ok(0));
        assert!(script.honours_one_shot());
    }

    #[test]
    fn a_title_is_read_without_its_quotes() {
        assert_eq!(first_word(r"'it'\''s one' --class os"), "it's one");
        assert_eq!(first_word(r#""two \" words" {"#), "two \" words");
        assert_eq!(first_word("bare {"), "bare");
    }
}
