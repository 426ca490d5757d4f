//! Passes the state from the working process to the readiness probe's process. A readiness probe by
//! `exec` needs no open port.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use host::durable;

/// After this much silence the working process counts as hung. Its longest action waits for the
/// agent's end, 75 s.
pub(crate) const SILENCE: Duration = Duration::from_secs(120);

/// The first line of the file if the state is ready.
const READY: &str = "ready";
const NOT_READY: &str = "not ready";

/// The state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// What this pod installs is running and healthy.
    pub ready: bool,
    /// The description.
    pub text: String,
}

impl Health {
    /// Writes the state.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn tell(&self, file: &Path) -> host::Result<()> {
        let first = if self.ready { READY } else { NOT_READY };
        durable::write(file, format!("{first}\n{}\n", self.text).as_bytes(), 0o600)
    }

    /// The state that was last written, judged at this moment.
    #[must_use]
    pub fn heard(file: &Path, now: SystemTime) -> Self {
        let not_ready = |text: String| Self { ready: false, text };
        let told = fs::metadata(file).and_then(|facts| facts.modified());
        let (text, told) = match (fs::read_to_string(file), told) {
            (Ok(text), Ok(told)) => (text, told),
            (Err(error), _) | (_, Err(error)) => {
                return not_ready(format!("the installer has not reported yet: {error}"));
            }
        };
        // A clock that was set back makes the file look newer, not older. The only effect is a late
        // alarm.
        if now.duration_since(told).is_ok_and(|age| age > SILENCE) {
            return not_ready(format!(
                "the installer has not reported for {} s",
                SILENCE.as_secs()
            ));
        }
        match text.split_once('\n') {
            Some((READY, text)) => Self {
                ready: true,
                text: text.trim_end().to_owned(),
            },
            Some((_, text)) => not_ready(text.trim_end().to_owned()),
            None => not_ready("cannot read the installer's report".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(ready: bool, age: Duration) -> Health {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("health");
        let text = "0.1.0 runs: watching the Node".to_owned();
        Health { ready, text }.tell(&file).unwrap();
        Health::heard(&file, SystemTime::now() + age)
    }

    #[test]
    fn what_is_told_is_heard() {
        for ready in [true, false] {
            let heard = told(ready, Duration::ZERO);
            assert_eq!(heard.ready, ready);
            assert_eq!(heard.text, "0.1.0 runs: watching the Node");
        }
    }

    #[test]
    fn who_says_nothing_for_long_is_not_ready() {
        assert!(!told(true, SILENCE * 2).ready);
    }

    #[test]
    fn who_has_said_nothing_yet_is_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!Health::heard(&folder.path().join("health"), SystemTime::now()).ready);
    }
}
