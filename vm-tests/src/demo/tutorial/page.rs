//! The lines of docs/tutorial.md to type, and where to type them. Before each code block there is a
//! comment that readers do not see:
//!
//! `<!-- host; when Fetched; exits 1; says Failed -->`
//!
//! The first word is the place: `host` (the second terminal), `node` (the first), `third` (a watch
//! that never ends), `before` (done before the node exists) or `printed` (output, not typed). The
//! others follow in any order: `when P` waits until the Node's upgrade has reached phase P.
//! `answers W` types W at a question. `exits N or M` is the exit code of the last line (0 without
//! it). `says T` is part of the output, and `until T` types the block again until it is.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use testkit::programs;

/// The place where a block is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The second terminal: a shell on this machine, in the source tree.
    Host,
    /// The first terminal: each line separately, as root on the node.
    Node,
    /// The third terminal: it runs until Ctrl-C.
    Third,
    /// Before the node exists.
    Before,
    /// The output of a program.
    Printed,
}

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The section of the block.
    pub section: String,
    /// Its line in the page, counted from 1.
    pub line: usize,
    /// Its lines.
    pub typed: Vec<String>,
    /// Its mark.
    pub mark: Mark,
}

/// The comment before a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The place where it is typed.
    pub place: Place,
    /// The phase to wait for first.
    pub when: Option<String>,
    /// The answer to its question.
    pub answers: Option<String>,
    /// The expected exit codes.
    pub exits: Vec<i32>,
    /// A part of its output.
    pub says: Option<String>,
    /// The same, after any number of tries.
    pub until: Option<String>,
}

/// The page in the source tree.
///
/// # Errors
///
/// Fails when the page does not exist.
pub fn text() -> Result<String> {
    let path = programs::home().join("../docs/tutorial.md");
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// Its blocks, in order.
///
/// # Errors
///
/// Fails when a block has no comment before it, a comment has no block after it, or a comment has
/// an unknown word.
pub fn blocks(text: &str) -> Result<Vec<Block>> {
    let mut reader = Reader::default();
    for (at, line) in text.lines().enumerate() {
        let line_number = at + 1;
        reader
            .read(line, line_number)
            .with_context(|| format!("docs/tutorial.md, line {line_number}: {line}"))?;
    }
    ensure!(
        reader.mark.is_none(),
        "docs/tutorial.md ends with a comment that has no block behind it"
    );
    Ok(reader.blocks)
}

#[derive(Debug, Default)]
struct Reader {
    section: String,
    mark: Option<Mark>,
    inside: bool,
    blocks: Vec<Block>,
}

impl Reader {
    fn read(&mut self, line: &str, number: usize) -> Result<()> {
        let code = line.strip_prefix("    ");
        let goes_on = self.inside && code.is_some();
        self.inside = code.is_some();
        match code {
            Some(code) if goes_on => self.add(code),
            Some(code) => return self.begin(code, number),
            None if line.is_empty() => {}
            None => return self.prose(line),
        }
        Ok(())
    }

    fn add(&mut self, code: &str) {
        if let Some(block) = self.blocks.last_mut() {
            block.typed.push(code.to_owned());
        }
    }

    fn begin(&mut self, code: &str, line: usize) -> Result<()> {
        let mark = self.mark.take();
        let mark = mark.context("no comment before this block says where it is typed")?;
        self.blocks.push(Block {
            section: self.section.clone(),
            line,
            typed: vec![code.to_owned()],
            mark,
        });
        Ok(())
    }

    fn prose(&mut self, line: &str) -> Result<()> {
        ensure!(
            self.mark.is_none(),
            "the comment before this has no block behind it"
        );
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut self.section);
        }
        let comment = line
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"));
        self.mark = comment.map(mark).transpose()?;
        Ok(())
    }
}

fn mark(comment: &str) -> Result<Mark> {
    let mut parts = comment.split("; ");
    let mut mark = Mark {
        place: place(parts.next().unwrap_or_default())?,
        when: None,
        answers: None,
        exits: vec![0],
        says: None,
        until: None,
    };
    for part in parts {
        let (key, value) = part
            .split_once(' ')
            .with_context(|| format!("{part:?} says nothing"))?;
        let value = value.to_owned();
        match key {
            "when" => mark.when = Some(value),
            "answers" => mark.answers = Some(value),
            "exits" => mark.exits = codes(&value)?,
            "says" => mark.says = Some(value),
            "until" => mark.until = Some(value),
            other => bail!("{other:?} is none of when, answers, exits, says, until"),
        }
    }
    Ok(mark)
}

fn place(word: &str) -> Result<Place> {
    Ok(match word {
        "host" => Place::Host,
        "node" => Place::Node,
        "third" => Place::Third,
        "before" => Place::Before,
        "printed" => Place::Printed,
        other => bail!("{other:?} is none of host, node, third, before, printed"),
    })
}

fn codes(text: &str) -> Result<Vec<i32>> {
    let codes = text.split(" or ").map(str::parse).collect::<Result<_, _>>();
    codes.with_context(|| format!("{text:?} are no exit codes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_carries_its_section_line_place_and_expectations() -> Result<()> {
        let text = "## 1. Ask\n\nNow:\n\n<!-- host; when Fetched; exits 1 or 4; until it says so -->\n\n    k get\n    k set\n\nSo.\n";
        let blocks = blocks(text)?;
        assert_eq!(blocks.len(), 1);
        assert_eq!((blocks[0].section.as_str(), blocks[0].line), ("1. Ask", 7));
        assert_eq!(blocks[0].typed, ["k get", "k set"]);
        let mark = &blocks[0].mark;
        assert_eq!((mark.place, &mark.exits[..]), (Place::Host, &[1, 4][..]));
        assert_eq!(mark.when.as_deref(), Some("Fetched"));
        assert_eq!(mark.until.as_deref(), Some("it says so"));
        Ok(())
    }

    #[test]
    fn unpaired_blocks_and_comments_are_reported_by_line() {
        for (text, line) in [
            ("a\n\n    k get\n", "line 3"),
            ("<!-- node -->\n\nprose\n", "line 3"),
            ("<!-- nowhere -->\n", "line 1"),
            ("<!-- host; waits 3 -->\n", "line 1"),
        ] {
            let told = blocks(text).err().map(|error| format!("{error:#}"));
            assert!(told.is_some_and(|told| told.contains(line)), "{text}");
        }
        assert!(blocks("<!-- node -->\n").is_err(), "at the end");
    }
}
