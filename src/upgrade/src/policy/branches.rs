//! The branches that the policy allows.
//!
//! A pattern is a branch's name in which `*` matches any characters of one part, or none. A part is
//! the text between two slashes. So `site/*` allows `site/stable`, but neither `site` nor
//! `site/debug/x`.

use super::Policy;

/// The accepted form of a pattern.
pub(super) const ACCEPTED: &str =
    "branches as site/stable, where * matches any characters but a slash, as site/*";

impl Policy {
    /// Whether the policy allows an image of this branch.
    #[must_use]
    pub fn allows_branch(&self, branch: &str) -> bool {
        let mut patterns = self.branches.iter();
        self.branches.is_empty() || patterns.any(|pattern| fits(pattern, branch))
    }
}

/// Whether the text is a branch's name, apart from its `*`. `**` is rejected: it would suggest more
/// than `*` matches.
pub(super) fn is_pattern(text: &str) -> bool {
    // A character that is valid inside a name replaces `*`, also at the beginning of a part.
    !text.contains("**") && crate::target::is_reference(&text.replace('*', "x"))
}

fn fits(pattern: &str, branch: &str) -> bool {
    let parts = |text: &str| text.split('/').count();
    let mut pairs = pattern.split('/').zip(branch.split('/'));
    parts(pattern) == parts(branch) && pairs.all(|(pattern, part)| fits_part(pattern, part))
}

/// The text before the first `*` and after the last one must be at the ends of the part. The text
/// between them must follow in this order.
fn fits_part(pattern: &str, part: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == part;
    };
    let (between, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let middle = part.strip_prefix(head);
    let Some(mut left) = middle.and_then(|middle| middle.strip_suffix(tail)) else {
        return false;
    };
    between.split('*').all(|word| {
        let found = left.split_once(word);
        left = found.map_or(left, |(_, after)| after);
        found.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_of_one_part() {
        for (pattern, branch) in [
            ("site/stable", "site/stable"),
            ("site/*", "site/stable"),
            ("site/v1.*", "site/v1."),
            ("*/stable", "site/stable"),
            ("site/*-*-x86", "site/a-b-c-x86"),
            ("*", "stable"),
        ] {
            assert!(fits(pattern, branch), "{pattern} {branch}");
        }
        for (pattern, branch) in [
            ("site/stable", "site/stable2"),
            ("site/*", "site"),
            ("site/*", "site/debug/x"),
            ("site/*", "other/stable"),
            ("*", "site/stable"),
            ("site/a*a", "site/a"),
            ("site/*-x86", "site/x86"),
            ("site/*b*a*", "site/ab"),
        ] {
            assert!(!fits(pattern, branch), "{pattern} {branch}");
        }
    }

    #[test]
    fn what_is_no_branch_but_for_its_stars_is_no_pattern() {
        for good in ["site/stable", "site/*", "*", "*/v1.*", "a_b-c.d/*-*"] {
            assert!(is_pattern(good), "{good}");
        }
        let long = "x".repeat(256);
        for bad in [
            "",
            "/",
            "site/",
            "/site",
            "site//x",
            "site/**",
            "**",
            "site/st?ble",
            "site/[ab]",
            "../x",
            "-x",
            "site stable",
            "site:stable",
            long.as_str(),
        ] {
            assert!(!is_pattern(bad), "{bad}");
        }
    }
}
