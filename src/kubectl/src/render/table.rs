//! Rows and columns. The last column takes the remaining width and is cut to it.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::look::{Look, Tone};
use upgrade::sanitize::harmless;

/// The space between two columns.
const GAP: usize = 2;

/// The minimum width of the last column, on any screen.
const LEAST: usize = 12;

/// The width that the last column gets before other columns are shown. A shorter part of a sentence
/// is useless.
const WANTED: usize = 30;

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// Its tone.
    pub tone: Tone,
}

/// A cell without a tone.
#[must_use]
pub fn plain(text: impl Into<String>) -> Cell {
    toned(Tone::Plain, text)
}

/// A cell with a tone. It removes control sequences, even if the caller forgot to.
#[must_use]
pub fn toned(tone: Tone, text: impl Into<String>) -> Cell {
    Cell {
        text: harmless(&text.into()).into_owned(),
        tone,
    }
}

/// The table, with a line for each row below the headers.
#[must_use]
pub fn table(heads: &[&str], rows: &[Vec<Cell>], look: Look) -> String {
    let heads: Vec<Cell> = heads.iter().map(|head| toned(Tone::Faint, *head)).collect();
    let lines: Vec<&Vec<Cell>> = std::iter::once(&heads).chain(rows).collect();
    let widths = widths(&lines);
    let mut text = String::new();
    for line in lines {
        text += &row(line, &widths, look);
        text.push('\n');
    }
    text
}

/// The table on a screen that may be too narrow for it. The columns in `least` are dropped, one
/// after the other, until the rest fits. The last column is prose.
#[must_use]
pub fn fitted(heads: &[&str], rows: &[Vec<Cell>], look: Look, least: &[&str]) -> String {
    narrowed((heads, rows), look, least, |_| WANTED)
}

/// The same for a table whose last column is a short word that must not be cut.
#[must_use]
pub fn fitted_whole(heads: &[&str], rows: &[Vec<Cell>], look: Look, least: &[&str]) -> String {
    narrowed((heads, rows), look, least, |width| width)
}

fn narrowed(
    (heads, rows): (&[&str], &[Vec<Cell>]),
    look: Look,
    least: &[&str],
    wanted: fn(usize) -> usize,
) -> String {
    let heads_row: Vec<Cell> = heads.iter().map(|head| plain(*head)).collect();
    let widths = widths(&std::iter::once(&heads_row).chain(rows).collect::<Vec<_>>());
    let mut kept: Vec<usize> = (0..heads.len()).collect();
    for name in least {
        if needs(&kept, &widths, wanted) <= look.width.unwrap_or(usize::MAX) {
            break;
        }
        kept.retain(|at| heads.get(*at) != Some(name));
    }
    let heads: Vec<&str> = kept
        .iter()
        .filter_map(|at| heads.get(*at).copied())
        .collect();
    let pick = |row: &Vec<Cell>| kept.iter().filter_map(|at| row.get(*at).cloned()).collect();
    let rows: Vec<Vec<Cell>> = rows.iter().map(pick).collect();
    table(&heads, &rows, look)
}

/// The screen width that these columns need, with the wanted width of the last one.
fn needs(kept: &[usize], widths: &[usize], wanted: fn(usize) -> usize) -> usize {
    let width = |at: &usize| widths.get(*at).copied().unwrap_or(0);
    let Some((last, before)) = kept.split_last() else {
        return 0;
    };
    let used = before.iter().map(|at| width(at) + GAP);
    used.sum::<usize>() + wanted(width(last))
}

fn widths(lines: &[&Vec<Cell>]) -> Vec<usize> {
    let columns = lines.iter().map(|line| line.len()).max().unwrap_or(0);
    let width = |at: usize| {
        let cells = lines.iter().filter_map(|line| line.get(at));
        cells.map(|cell| cell.text.width()).max().unwrap_or(0)
    };
    (0..columns).map(width).collect()
}

fn row(cells: &[Cell], widths: &[usize], look: Look) -> String {
    let Some((last, first)) = cells.split_last() else {
        return String::new();
    };
    let mut text = String::new();
    let mut used = 0;
    for (cell, width) in first.iter().zip(widths) {
        text += &look.paint(cell.tone, &cell.text);
        text += &" ".repeat(width.saturating_sub(cell.text.width()) + GAP);
        used += width + GAP;
    }
    let room = look
        .width
        .map_or(usize::MAX, |all| all.saturating_sub(used).max(LEAST));
    text += &look.paint(last.tone, &cut(&last.text, room));
    text.trim_end().to_owned()
}

/// The part of a text that fits, with an ellipsis if something is cut.
#[must_use]
pub fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room.saturating_sub(1) {
            break;
        }
        kept.push(c);
    }
    kept.trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(width: usize) -> Look {
        Look {
            width: Some(width),
            ..Look::default()
        }
    }

    #[test]
    fn columns_are_as_wide_as_they_must_be_and_nothing_trails() {
        let rows = [
            vec![plain("a"), plain("")],
            vec![plain("longer"), plain("x")],
        ];
        assert_eq!(
            table(&["N", "S"], &rows, Look::default()),
            "N       S\na\nlonger  x\n"
        );
    }

    #[test]
    fn the_last_column_alone_is_cut_to_the_screen() {
        let rows = [vec![plain("node-1"), plain("a sentence that is too long")]];
        assert_eq!(
            table(&["N", "S"], &rows, wide(24)),
            "N       S\nnode-1  a sentence that…\n"
        );
        let narrow = table(&["N", "S"], &rows, wide(4));
        assert!(narrow.contains("node-1  a sentence…"), "{narrow}");
    }

    #[test]
    fn on_a_narrow_screen_the_least_wanted_columns_go_first() {
        let rows = [vec![
            plain("node-1"),
            plain("12345678"),
            plain("x"),
            plain("y"),
        ]];
        let heads = ["N", "LONG", "B", "S"];
        let shown = |width| fitted(&heads, &rows, wide(width), &["LONG", "B"]);
        assert_eq!(
            shown(51),
            "N       LONG      B  S\nnode-1  12345678  x  y\n"
        );
        assert_eq!(shown(50), "N       B  S\nnode-1  x  y\n");
        assert_eq!(shown(40), "N       S\nnode-1  y\n");
    }

    #[test]
    fn no_cell_steers_the_terminal() {
        let rows = [vec![plain("a\u{1b}[2J"), plain("b\r\nc\u{202e}")]];
        let text = table(&["N", "S"], &rows, Look::default());
        assert_eq!(text, "N      S\na [2J  b  c\n");
    }

    #[test]
    fn wide_letters_count_twice() {
        assert_eq!(cut("節点節点", 5), "節点…");
    }

    #[test]
    fn colours_take_no_room() {
        let rows = [vec![toned(Tone::Good, "ok"), plain("x")]];
        let look = Look {
            colour: true,
            ..Look::default()
        };
        let painted = table(&["STATE", "S"], &rows, look);
        assert!(
            painted.ends_with("\u{1b}[32mok\u{1b}[0m     x\n"),
            "{painted:?}"
        );
    }
}
