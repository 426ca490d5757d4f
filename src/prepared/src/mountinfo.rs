//! The mount points in /proc/self/mountinfo (proc(5)).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The mount points of a table.
#[must_use]
pub fn points(table: &str) -> Vec<PathBuf> {
    let fields = table.lines().filter_map(|line| line.split(' ').nth(4));
    fields
        .map(|field| OsString::from_vec(plain(field)).into())
        .collect()
}

/// Blanks and backslashes are written as a backslash and three octal digits.
fn plain(field: &str) -> Vec<u8> {
    let mut rest = field.as_bytes();
    let mut plain = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *first == b'\\').and_then(octal);
        rest = if code.is_some() { &after[3..] } else { after };
        plain.push(code.unwrap_or(*first));
    }
    plain
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::points;

    #[test]
    fn mount_points_are_read_with_their_blanks() {
        let table = "36 35 98:0 / /var/lib/kubelet/pods/a\\040b rw - ext4 /dev/x rw\n37 35 0:5 / /proc rw - proc proc rw\n";
        assert_eq!(
            points(table),
            [Path::new("/var/lib/kubelet/pods/a b"), Path::new("/proc")]
        );
    }
}
