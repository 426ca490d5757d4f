//! Removes credentials from URLs: the user before the host, often with a password or a token. Error
//! messages repeat whole URLs, and the Node shows them to everybody who can read it.

/// The replacement.
const VEIL: &str = "…@";

/// The text without credentials.
#[must_use]
pub fn veiled(text: &str) -> String {
    let mut pieces = text.split("://");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown.push_str("://");
        let end = piece.find(|letter: char| letter == '/' || letter.is_whitespace());
        let (authority, rest) = piece.split_at(end.unwrap_or(piece.len()));
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                shown.push_str(VEIL);
                shown.push_str(host);
            }
            None => shown.push_str(authority),
        }
        shown.push_str(rest);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::veiled;

    #[test]
    fn users_and_passwords_in_urls_are_not_repeated() {
        for (said, shown) in [
            (
                "While fetching https://u:p@h.example.com/repo/config: [22] 404",
                "While fetching https://…@h.example.com/repo/config: [22] 404",
            ),
            ("http://token@h", "http://…@h"),
            (
                "https://u:p@ss@h:8443/x@y and http://other@h2 too",
                "https://…@h:8443/x@y and http://…@h2 too",
            ),
            ("no url at all, a@b", "no url at all, a@b"),
            ("https://h/x@sha256:1", "https://h/x@sha256:1"),
        ] {
            assert_eq!(veiled(said), shown);
        }
    }
}
