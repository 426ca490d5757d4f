//! The reader's screen, and the style of a text on it.

use anstyle::{AnsiColor, Style};

/// The properties of the reader's screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether to use colours.
    pub colour: bool,
    /// The columns of the terminal. Without a terminal, nothing is cut and no bar is drawn.
    pub width: Option<usize>,
    /// The lines of a terminal on which text can be replaced.
    pub height: Option<usize>,
}

/// The meaning of a text, shown by its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// No special meaning.
    Plain,
    /// Success.
    Good,
    /// A problem.
    Bad,
    /// In progress.
    Busy,
    /// Waiting for somebody.
    Held,
    /// Less important.
    Faint,
    /// More important.
    Strong,
}

impl Look {
    /// Styles a text by its tone.
    #[must_use]
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let style = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Busy => AnsiColor::Cyan.on_default(),
            Tone::Held => AnsiColor::Yellow.on_default(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
        };
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        format!("{style}{text}{style:#}")
    }
}
