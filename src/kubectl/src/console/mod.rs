//! Output and input: data to standard output, messages to standard error, and a prompt if there is
//! a person to ask.

mod captured;
mod drawn;

use std::io::{self, BufRead, IsTerminal, Write};

use k8s_openapi::jiff::Timestamp;
use terminal_size::{Height, Width, terminal_size};

pub use captured::Captured;

use crate::cli::When;
use crate::failure::Failure;
use crate::render::Look;
use upgrade::sanitize::steers;

use drawn::{Drawn, Size};

/// Clears from the cursor, which is at the first drawn line, to the end of the screen.
const CLEAR: &str = "\x1b[J";

/// The three streams, and how to format the first.
pub struct Console {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// The source of answers, if a person is present.
    answers: Option<Box<dyn BufRead>>,
    /// How to format data.
    pub look: Look,
    size: Size,
    /// Whether the terminal understands control sequences, so that a drawing can be replaced.
    steered: bool,
    /// What the next drawing replaces.
    drawn: Drawn,
}

impl Console {
    /// The console of this process.
    #[must_use]
    pub fn of_process(color: When) -> Self {
        let terminal = io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colour = match color {
            When::Always => true,
            When::Never => false,
            // no-color.org: present and not empty.
            When::Auto => terminal && !dumb && !set("NO_COLOR"),
        };
        let somebody = io::stdin().is_terminal() && io::stderr().is_terminal();
        let mut console = Self {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            answers: somebody.then(|| Box::new(io::stdin().lock()) as Box<dyn BufRead>),
            look: Look {
                colour,
                ..Look::default()
            },
            size: Box::new(move || of_terminal().filter(|_| terminal)),
            steered: !dumb,
            drawn: Drawn::default(),
        };
        console.measure();
        console
    }

    /// A console for a test, which answers prompts with `answers`.
    #[must_use]
    pub fn captured(look: Look, answers: Option<&'static str>) -> (Self, Captured) {
        let answers = answers.map(|text| Box::new(text.as_bytes()) as Box<dyn BufRead>);
        Self::captured_from(look, answers)
    }

    /// The same with any source of answers.
    #[must_use]
    pub fn captured_from(look: Look, answers: Option<Box<dyn BufRead>>) -> (Self, Captured) {
        let captured = Captured::default();
        let (out, err) = captured.sinks();
        let console = Self {
            out: Box::new(out),
            err: Box::new(err),
            answers,
            look,
            size: captured.size(),
            steered: look.height.is_some(),
            drawn: Drawn::default(),
        };
        (console, captured)
    }

    /// How to format data now, because the terminal may have been resized.
    pub fn measure(&mut self) -> Look {
        if let Some((width, height)) = (self.size)() {
            self.look.width = Some(width);
            self.look.height = self.steered.then_some(height);
        }
        self.look
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Prints data.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.drawn = Drawn::default();
        self.out.write_all(shown(text).as_bytes())?;
        Ok(self.out.flush()?)
    }

    /// Prints data in place of the previous drawing, for the screen size that was last measured.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn draw(&mut self, text: &str) -> Result<(), Failure> {
        let rows = self.drawn.rows(self.look.width);
        if rows > 0 {
            write!(self.out, "\x1b[{rows}A\r{CLEAR}")?;
        }
        let text = shown(text);
        self.out.write_all(text.as_bytes())?;
        self.drawn = Drawn::of(&text);
        Ok(self.out.flush()?)
    }

    /// Whether a drawing can be replaced: on a terminal that is not dumb.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        self.look.height.is_some()
    }

    /// Prints a message. A message that cannot be written is lost: that is no reason to abandon the
    /// work, and there is nobody else to tell.
    pub fn say(&mut self, text: &str) {
        self.drawn = Drawn::default();
        let _ = writeln!(self.err, "{}", shown(text));
    }

    /// Prints a failure.
    pub fn complain(&mut self, failure: &Failure) {
        self.say(&format!("error: {failure}"));
    }

    /// Asks for confirmation.
    ///
    /// # Errors
    /// If the answer is not yes, or nobody can answer.
    pub fn consent(&mut self, question: &str) -> Result<(), Failure> {
        match self.answer(question, "[y/N]")?.as_str() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Failure::Declined("nothing was requested".to_owned())),
        }
    }

    /// Asks for confirmation by the whole word, because a wrong answer can cost the cluster.
    ///
    /// # Errors
    /// If the answer is not yes, or nobody can answer.
    pub fn consent_in_full(&mut self, question: &str) -> Result<(), Failure> {
        match self.answer(question, "[yes/no]")?.as_str() {
            "yes" => Ok(()),
            _ => Err(Failure::Declined(
                "the answer is not yes: nothing was removed".to_owned(),
            )),
        }
    }

    /// Whether there is a person to ask.
    #[must_use]
    pub const fn is_attended(&self) -> bool {
        self.answers.is_some()
    }

    fn answer(&mut self, question: &str, accepted: &str) -> Result<String, Failure> {
        let nobody = || Failure::Declined("there is no terminal to ask on: use --yes".to_owned());
        let answers = self.answers.as_mut().ok_or_else(nobody)?;
        let mut line = String::new();
        let question = shown(question);
        let asked = write!(self.err, "{question} {accepted} ").and_then(|()| self.err.flush());
        let answered = asked.and_then(|()| answers.read_line(&mut line));
        answered.map_err(|_| nobody())?;
        Ok(line.trim().to_owned())
    }
}

/// The last line of defence: of all control characters only line ends, tabs and this program's own
/// colours pass. The text is sanitized long before.
fn shown(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut shown = plain(parts.next().unwrap_or_default());
    for part in parts {
        shown.push(if is_colour(part) { '\x1b' } else { ' ' });
        shown += &plain(part);
    }
    shown
}

fn plain(text: &str) -> String {
    text.replace(
        |letter| !matches!(letter, '\n' | '\t') && steers(letter),
        " ",
    )
}

/// Whether an escape is followed by `[`, numbers and `m`.
fn is_colour(part: &str) -> bool {
    let numbers = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
    numbers.is_some_and(|(numbers, _)| numbers.bytes().all(|c| c.is_ascii_digit() || c == b';'))
}

fn of_terminal() -> Option<(usize, usize)> {
    let (Width(width), Height(height)) = terminal_size()?;
    Some((width.into(), height.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_and_line_ends_reach_the_terminal() {
        let (mut console, captured) = Console::captured(Look::default(), Some("y\n"));
        let text = "\x1b[32mok\x1b[0m\n\x1b[2J\x1b]52;c;x\x07\r\u{9b}1A\u{202e}\u{e0041}";
        console.print(text).expect("a test reads it");
        console.draw(text).expect("a test reads it");
        console.say(text);
        console.consent(text).expect("the answer is yes");
        let clean = "\x1b[32mok\x1b[0m\n [2J ]52;c;x   1A  ";
        assert_eq!(captured.out(), [clean, clean].concat());
        assert_eq!(captured.err(), format!("{clean}\n{clean} [y/N] "));
    }
}
