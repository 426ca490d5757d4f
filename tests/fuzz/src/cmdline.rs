//! The kernel command line.

use host::boot::Link;
use host::cmdline::Cmdline;

/// The system that we take to be meant is the one that libostree enters; only the whole word makes a trial.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let cmdline = Cmdline::new(&text);
    let trial = text
        .split_ascii_whitespace()
        .any(|word| word == "careen.trial=1");
    assert_eq!(cmdline.is_trial(), trial);
    // libostree parts words at blanks alone; the kernel lets through what else is white.
    if text
        .trim_ascii()
        .contains(|letter: char| letter.is_ascii_whitespace() && letter != ' ')
    {
        return;
    }
    assert_eq!(cmdline.ostree(), libostrees(text.trim_ascii()));
    if let Some(Ok(link)) = cmdline.ostree().map(str::parse::<Link>) {
        for part in [&link.stateroot, &link.bootcsum] {
            assert!(!part.contains('/') && part != "..", "{part:?}");
        }
    }
}

/// `otcore_find_proc_cmdline_key` (src/libotcore/otcore-prepare-root.c).
fn libostrees(cmdline: &str) -> Option<&str> {
    let mut words = cmdline.split(' ');
    words.find_map(|word| word.strip_prefix("ostree="))
}
