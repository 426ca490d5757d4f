//! The part of GLib's key file format that libostree's configuration uses: groups of `key=value`.

/// A group: its name, as `remote "careen"`, and its keys in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The text in the brackets.
    name: String,
    keys: Vec<(String, String)>,
}

impl Group {
    /// The last value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let found = self.keys.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    /// The name in `remote "name"`.
    pub(crate) fn remote(&self) -> Option<&str> {
        self.name.strip_prefix("remote \"")?.strip_suffix('"')
    }

    /// The paths in a remote's `gpgkeypath=`.
    pub(crate) fn key_paths(&self) -> impl Iterator<Item = &str> {
        let named = self.get("gpgkeypath").unwrap_or_default();
        named.split([';', ',']).filter(|path| !path.is_empty())
    }
}

/// The groups of a file. Skips lines that are not valid, because libostree decides about those.
pub(crate) fn parse(text: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for line in text.lines().map(str::trim) {
        let name = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = name {
            let (name, keys) = (name.to_owned(), Vec::new());
            groups.push(Group { name, keys });
        } else if let (Some(group), Some((key, value))) = (groups.last_mut(), line.split_once('='))
            && !line.starts_with('#')
        {
            let (key, value) = (key.trim_end().to_owned(), value.trim_start().to_owned());
            group.keys.push((key, value));
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keys_and_comments_are_told_apart() {
        let text = "# ours\n[core]\nmode=bare\n[remote \"site\"]\nurl = https://x/a=b\n#url=old\ngpg-verify=false\n";
        let groups = parse(text);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].remote(), None);
        let remote = &groups[1];
        assert_eq!(
            (remote.remote(), remote.get("url")),
            (Some("site"), Some("https://x/a=b"))
        );
        assert_eq!(remote.get("gpg-verify"), Some("false"));
    }
}
