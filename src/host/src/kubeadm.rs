//! What kubeadm says of a failed run. This is for a person, and decides nothing.

/// Lines after the reason that are the same in every failure (kubernetes,
/// cmd/kubeadm/app/util/error.go and cmd/kubeadm/app/preflight/checks.go, `Error.Error`).
const ADVICE: [&str; 2] = [
    "To see the stack trace of this error",
    "[preflight] If you know what you are doing",
];

/// How a line begins that says which check of the node failed, and why (kubernetes,
/// cmd/kubeadm/app/preflight/checks.go, `RunChecks`). The last line says only that some did.
const CHECK: &str = "[ERROR ";

/// What says why a run failed: the checks of the node that failed, in one line, or else the last
/// error, or else all lines but the advice and the lines of libraries.
#[must_use]
pub fn telling(words: &[u8]) -> Vec<u8> {
    let words = String::from_utf8_lossy(words);
    let lines: Vec<_> = words.lines().map(str::trim).collect();
    let checks: Vec<_> = lines
        .iter()
        .copied()
        .filter(|line| line.starts_with(CHECK))
        .collect();
    if !checks.is_empty() {
        return checks.join("; ").into_bytes();
    }
    let lines: Vec<_> = lines.into_iter().filter(|line| !is_noise(line)).collect();
    let error = lines.iter().rfind(|line| line.starts_with("error"));
    error
        .map_or_else(|| lines.join("\n"), ToString::to_string)
        .into_bytes()
}

/// The lines of libraries begin with a level and a date: `W1129 19:51:57.907702`.
fn is_noise(line: &str) -> bool {
    let mut letters = line.bytes();
    let level = letters.next().is_some_and(|first| b"IWEF".contains(&first));
    let date = letters.by_ref().take(4).filter(u8::is_ascii_digit).count() == 4;
    line.is_empty()
        || ADVICE.iter().any(|advice| line.starts_with(advice))
        || (level && date && letters.next() == Some(b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &str) -> String {
        String::from_utf8(telling(words.as_bytes())).unwrap()
    }

    #[test]
    fn failed_checks_of_kubeadm_are_told_and_its_advice_is_not() {
        let head =
            "error: error execution phase preflight: [preflight] Some fatal errors occurred:\n";
        let checks =
            "\t[ERROR Swap]: running with swap on\n\t[ERROR Port-10250]: Port 10250 is in use\n";
        let advice = "[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`\nTo see the stack trace of this error execute with --v=5 or higher\n";
        assert_eq!(
            told(&format!("{head}{checks}{advice}")),
            "[ERROR Swap]: running with swap on; [ERROR Port-10250]: Port 10250 is in use"
        );
        assert_eq!(
            told(&format!("error: no server\n{advice}")),
            "error: no server"
        );
    }

    #[test]
    fn lines_of_libraries_are_left_out() {
        let library = "W1129 19:51:57.907702     128 logging.go:55] no socket";
        assert_eq!(told(&format!("begin\nerror: no\n{library}\n")), "error: no");
        let waiting = told(&format!("[upgrade] Waiting\n{library}\n"));
        assert_eq!(waiting, "[upgrade] Waiting");
        assert_eq!(told(""), "");
    }
}
