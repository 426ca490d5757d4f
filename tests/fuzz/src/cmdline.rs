//! The kernel command line.

use host::boot::Link;
use host::cmdline::Cmdline;

/// Careen selects the same system as libostree, and only the complete word makes a trial.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let cmdline = Cmdline::new(&text);
    let trial = text
        .split_ascii_whitespace()
        .any(|word| word == "careen.trial=1");
    assert_eq!(cmdline.is_trial(), trial);
    // libostree separates words only at spaces. The kernel passes other white space through.
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
