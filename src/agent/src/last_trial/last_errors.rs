//! The last errors in the journal of a trial, where the journal outlives a boot. Only the messages
//! are told: they are of any program, so they are cleaned and cut, and decide nothing.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::programs::Program;
use serde::Deserialize;
use serde_json::Value;
use upgrade::{BootId, sanitize};

/// The folder of a journal that outlives a boot (journald.conf(5), `Storage=`).
const JOURNAL: &str = "var/log/journal";

/// How many messages are told, and how long each may be, in characters.
const LINES: usize = 3;
const LONGEST: usize = 160;

/// How long journalctl may take. The old system waits with the next trial for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often to look whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The most that is read of it, in bytes.
const MOST: u64 = 256 << 10;

/// The last errors of that boot, the latest last. Empty without any.
pub fn errors(root: &Path, boot: &BootId) -> Vec<String> {
    let folder = root.join(JOURNAL);
    if !folder.is_dir() {
        return Vec::new();
    }
    let Ok(mut command) = Program::Journalctl.command() else {
        return Vec::new();
    };
    command
        .arg(format!("--directory={}", folder.display()))
        .args(["--quiet", "--no-pager", "--output=json", "--priority=err"])
        .arg("--output-fields=SYSLOG_IDENTIFIER,MESSAGE")
        .arg(format!("--lines={LINES}"))
        .arg(format!("_BOOT_ID={}", boot.as_str().replace('-', "")));
    told(&output(command).unwrap_or_default())
}

fn output(mut command: Command) -> Option<String> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let reader = child.stdout.take().map(|out| {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = out.take(MOST).read_to_end(&mut text);
            text
        })
    });
    end(&mut child);
    let text = reader?.join().ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Waits until the program has ended, and kills it after [`PATIENCE`].
fn end(child: &mut Child) {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(LOOK);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// A message of the journal (systemd, Journal Export Formats: JSON).
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "SYSLOG_IDENTIFIER", default)]
    of: Value,
    #[serde(rename = "MESSAGE", default)]
    message: Value,
}

fn told(text: &str) -> Vec<String> {
    let entries = text.lines().filter_map(|line| {
        let entry: Entry = serde_json::from_str(line).ok()?;
        let message = sanitize::cut(&field(&entry.message)?, LONGEST);
        let of = field(&entry.of).unwrap_or_else(|| "kernel".to_owned());
        (!message.is_empty()).then(|| format!("{}: {message}", sanitize::cut(&of, LONGEST / 4)))
    });
    let mut told: Vec<_> = entries.collect();
    told.dedup();
    told.split_off(told.len().saturating_sub(LINES))
}

/// A text, or the bytes of what is no UTF-8.
fn field(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let bytes = value.as_array()?.iter();
    let bytes: Option<Vec<u8>> = bytes
        .map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok()))
        .collect();
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_errors_are_cleaned_cut_and_few() {
        let long = "x".repeat(5000);
        let text = [
            r#"{"SYSLOG_IDENTIFIER":"early","MESSAGE":"first"}"#.to_owned(),
            r#"{"MESSAGE":"BUG: \u001b]0;pwned\u0007 at 0"}"#.to_owned(),
            "no JSON".to_owned(),
            r#"{"SYSLOG_IDENTIFIER":"app","MESSAGE":[110,111,255]}"#.to_owned(),
            format!(r#"{{"SYSLOG_IDENTIFIER":"kubelet","MESSAGE":"{long}"}}"#),
            r#"{"SYSLOG_IDENTIFIER":"big","MESSAGE":null}"#.to_owned(),
        ];
        let told = told(&text.join("\n"));
        assert_eq!(told.len(), LINES);
        assert!(told[0].starts_with("kernel: BUG:"), "{told:?}");
        assert!(told[1].starts_with("app: no"), "{told:?}");
        assert!(told[2].chars().count() < LONGEST + 20, "{told:?}");
        assert!(
            !told.concat().contains(|c: char| c.is_control()),
            "{told:?}"
        );
    }

    #[test]
    fn node_without_a_persistent_journal_says_nothing() {
        let root = tempfile::tempdir().unwrap();
        let boot = "0b1c2d3e-0000-4000-8000-000000000001".parse().unwrap();
        assert!(errors(root.path(), &boot).is_empty());
    }

    #[test]
    fn program_that_does_not_end_is_killed() {
        let begun = Instant::now();
        let mut command = host::programs::of_careen(Path::new("/bin/sleep"));
        command.arg("60");
        assert_eq!(output(command).as_deref(), Some(""));
        assert!(begun.elapsed() < 4 * PATIENCE);
    }
}
