//! The drawing that the next one replaces, and its size on a screen.

use unicode_width::UnicodeWidthStr;

/// The columns and lines of the reader's terminal, if there is one.
pub(super) type Size = Box<dyn Fn() -> Option<(usize, usize)>>;

/// The width of each drawn line.
#[derive(Debug, Default)]
pub(super) struct Drawn(Vec<usize>);

impl Drawn {
    pub(super) fn of(text: &str) -> Self {
        Self(text.lines().map(columns).collect())
    }

    /// Its rows on a screen of this width. Terminals rewrap the drawing when they become narrower
    /// (VTE's, kitty, tmux). On one that does not (xterm), this clears more than was drawn, which
    /// is better than too little.
    pub(super) fn rows(&self, width: Option<usize>) -> usize {
        let width = width.unwrap_or(usize::MAX).max(1);
        let rows = self.0.iter().map(|columns| columns.div_ceil(width).max(1));
        rows.sum()
    }
}

/// The width of a line without its colours; no other sequence is drawn.
fn columns(line: &str) -> usize {
    let mut parts = line.split("\x1b[");
    let plain = parts.next().map_or(0, UnicodeWidthStr::width);
    let painted = parts.filter_map(|part| part.split_once('m'));
    plain + painted.map(|(_, text)| text.width()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_by_now_takes_more_rows() {
        let drawn = Drawn::of("12345678\n1234\n\n");
        assert_eq!(drawn.rows(Some(8)), 3);
        assert_eq!(drawn.rows(Some(4)), 4);
        assert_eq!(drawn.rows(Some(3)), 6);
        assert_eq!(drawn.rows(None), 3);
        assert_eq!(Drawn::default().rows(Some(80)), 0);
    }

    #[test]
    fn colours_take_no_columns_and_wide_letters_take_two() {
        assert_eq!(columns("\x1b[32mok\x1b[0m  \x1b[2m節点\x1b[0m"), 8);
    }
}
