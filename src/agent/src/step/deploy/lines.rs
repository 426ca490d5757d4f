//! The output of careen-deploy, read from a file that still grows.

use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use tracing::warn;
use upgrade::deploy::Line;

/// The lines of one run.
pub struct Lines {
    /// The file.
    pub path: PathBuf,
    read: u64,
    /// How the run ended, once the file says so.
    pub verdict: Option<Line>,
}

impl Lines {
    /// Lines of which nothing is read yet.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self {
            path,
            read: 0,
            verdict: None,
        }
    }

    /// Returns the last new line that it understands. A verdict is kept, whatever follows it.
    pub fn read(&mut self) -> Option<Line> {
        let bytes = self.grown()?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n')? + 1;
        self.read += end as u64;
        let lines = bytes[..end].split_inclusive(|byte| *byte == b'\n');
        let mut last = None;
        for line in lines.filter_map(understand) {
            if matches!(line, Line::Done(_) | Line::Failed(_)) {
                self.verdict = Some(line.clone());
            }
            last = Some(line);
        }
        last
    }

    fn grown(&self) -> Option<Vec<u8>> {
        let mut file = std::fs::File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.read)).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

fn understand(line: &[u8]) -> Option<Line> {
    serde_json::from_slice(line)
        .inspect_err(|error| {
            warn!("careen-deploy printed a line that is not in its protocol: {error}")
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use upgrade::deploy::{Done, Progress};

    #[test]
    fn half_a_line_is_left_until_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("unit.jsonl");
        let mut lines = Lines::new(path.clone());
        assert_eq!(lines.read(), None, "the file is not there yet");
        let mut file = fs::File::create(path).unwrap();
        let progress = Line::Progress(Progress {
            percent: 5,
            doing: "pulling".to_owned(),
        });
        let text = serde_json::to_string(&progress).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        assert_eq!(lines.read(), None);
        file.write_all(b"\n").unwrap();
        assert_eq!(lines.read(), Some(progress));
        let done = serde_json::to_string(&Line::Done(Done::Cleaned)).unwrap();
        writeln!(file, "{done}").unwrap();
        lines.read();
        assert_eq!(lines.read(), None);
        assert_eq!(lines.verdict, Some(Line::Done(Done::Cleaned)));
    }

    #[test]
    fn noise_takes_no_verdict_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("unit.jsonl");
        fs::write(
            &path,
            b"\xff\n{\"done\":\"Cleaned\"}\n(careen-deploy:7): warning\n",
        )
        .unwrap();
        let mut lines = Lines::new(path);
        let done = Line::Done(Done::Cleaned);
        assert_eq!(lines.read(), Some(done.clone()));
        assert_eq!(lines.verdict, Some(done));
    }
}
