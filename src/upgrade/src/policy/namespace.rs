//! Names of namespaces, as Kubernetes accepts them.

/// The most letters of a label (RFC 1123).
const LONGEST: usize = 63;

/// Whether a namespace can have this name: an RFC 1123 label (k8s.io/apimachinery,
/// `IsDNS1123Label`).
pub(super) fn is_namespace(name: &str) -> bool {
    is_begin(name) && !name.is_empty() && !name.ends_with('-')
}

/// Whether the name of a namespace can begin with this text.
pub(super) fn is_begin(text: &str) -> bool {
    let is_inner = |letter: u8| letter == b'-' || is_outer(letter);
    text.len() <= LONGEST && text.bytes().all(is_inner) && text.bytes().next().is_none_or(is_outer)
}

const fn is_outer(letter: u8) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespace_is_a_label_of_lower_case_letters() {
        let (longest, long) = ("x".repeat(63), "x".repeat(64));
        for good in ["databases", "kube-system", "7", longest.as_str()] {
            assert!(is_namespace(good), "{good}");
        }
        for bad in [
            "",
            "Databases",
            "databases ",
            "databases,queues",
            "team/x",
            "-x",
            "x-",
            "x.y",
            "x_y",
            "x*",
            long.as_str(),
        ] {
            assert!(!is_namespace(bad), "{bad}");
        }
        assert!(is_begin("kube-") && is_begin("") && !is_begin("-"));
    }
}
