//! careen-deploy's JSON lines, which the agent reads during the write.

use std::fs;

use upgrade::deploy::Line;

use crate::agent_lines::Lines;

/// The verdict that the agent reads from a file with these bytes.
#[must_use]
pub fn verdict(input: &[u8]) -> Option<Line> {
    let folder = tempfile::tempdir().ok()?;
    let path = folder.path().join("unit.jsonl");
    fs::write(&path, input).ok()?;
    let mut lines = Lines::new(path);
    lines.read();
    lines.verdict
}

/// At any length of the file, the verdict is that of the last complete line with a verdict. A
/// parsed line that is printed parses again.
pub fn check(input: &[u8]) {
    let path = crate::folder().join("unit.jsonl");
    let _ = fs::remove_file(&path);
    let whole = input
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"));
    let said: Vec<Line> = whole
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    for line in &said {
        let printed = serde_json::to_string(line).unwrap_or_default();
        assert_eq!(serde_json::from_str(&printed).ok().as_ref(), Some(line));
    }
    let verdict = said.iter().rfind(|line| !matches!(line, Line::Progress(_)));
    for parts in [1, 3] {
        let mut lines = Lines::new(path.clone());
        for part in 1..=parts {
            assert!(fs::write(&path, &input[..input.len() * part / parts]).is_ok());
            lines.read();
        }
        assert_eq!(lines.verdict.as_ref(), verdict, "in {parts} parts");
        assert_eq!(lines.read(), None, "nothing is said twice");
    }
}
