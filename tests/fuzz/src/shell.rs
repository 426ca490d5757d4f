//! GRUB's language, limited to Careen's configuration: words and their quotes as its lexer defines
//! them (grub-core/script/yylex.l).

/// An entry of the menu.
pub struct MenuEntry {
    pub title: String,
    commands: Vec<Vec<String>>,
}

impl MenuEntry {
    /// The command of this name, with the words that it receives. A variable stays unexpanded.
    pub fn command(&self, name: &str) -> Option<Vec<String>> {
        let mut named = self.commands.iter().filter(|words| words[0] == name);
        named.next().filter(|_| named.next().is_none()).cloned()
    }
}

/// The entries of a configuration.
///
/// # Errors
/// The reason why GRUB could not read it.
pub fn menu(config: &str) -> Result<Vec<MenuEntry>, String> {
    let mut menu: Vec<MenuEntry> = Vec::new();
    let mut inside = false;
    for words in commands(config)? {
        match words[0].as_str() {
            "menuentry" if inside => return Err("an entry within an entry".to_owned()),
            "menuentry" => {
                let title = words.get(1).cloned().ok_or("an entry without a title")?;
                menu.push(MenuEntry {
                    title,
                    commands: Vec::new(),
                });
                inside = true;
            }
            "}" if !inside => return Err("a brace too many".to_owned()),
            "}" => inside = false,
            _ if inside => menu
                .last_mut()
                .into_iter()
                .for_each(|entry| entry.commands.push(words.clone())),
            _ => {}
        }
    }
    if inside {
        return Err("a brace too few".to_owned());
    }
    Ok(menu)
}

/// The commands: the text between ends of lines or semicolons.
fn commands(config: &str) -> Result<Vec<Vec<String>>, String> {
    let (mut all, mut words) = (Vec::new(), Vec::new());
    let mut word: Option<String> = None;
    let mut letters = config.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '#' if words.is_empty() && word.is_none() => {
                while letters.next_if(|next| *next != '\n').is_some() {}
            }
            ' ' | '\t' => words.extend(word.take()),
            '\n' | ';' => {
                words.extend(word.take());
                if !words.is_empty() {
                    all.push(std::mem::take(&mut words));
                }
            }
            '\'' => word
                .get_or_insert_default()
                .push_str(&until(&mut letters, '\'', false)?),
            '"' => word
                .get_or_insert_default()
                .push_str(&until(&mut letters, '"', true)?),
            '\\' => word.get_or_insert_default().extend(letters.next()),
            '{' | '}' if word.is_none() => words.push(letter.to_string()),
            '|' | '&' | '<' | '>' | '{' | '}'
                if !word.as_ref().is_some_and(|word| word.starts_with('$')) =>
            {
                return Err(format!("a bare {letter}"));
            }
            '*' | '?' => return Err(format!("a bare {letter} may stand for files")),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    Ok(all)
}

fn until(
    letters: &mut impl Iterator<Item = char>,
    end: char,
    escapes: bool,
) -> Result<String, String> {
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            _ if letter == end => return Ok(text),
            '\\' if escapes => text.extend(letters.next()),
            _ => text.push(letter),
        }
    }
    Err(format!("a {end} that nothing closes"))
}
