//! One file of accounts, and what the new image adds to it. Pure: text in, text out.

use std::collections::BTreeSet;

/// A file of accounts below /etc: lines of fields, separated by colons, the name first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    Passwd,
    Group,
    Shadow,
    Gshadow,
    Subuid,
    Subgid,
}

impl File {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Passwd,
        Self::Group,
        Self::Shadow,
        Self::Gshadow,
        Self::Subuid,
        Self::Subgid,
    ];

    /// Its name below /etc.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passwd => "passwd",
            Self::Group => "group",
            Self::Shadow => "shadow",
            Self::Gshadow => "gshadow",
            Self::Subuid => "subuid",
            Self::Subgid => "subgid",
        }
    }

    /// What one line is, if a person knows it by that name.
    const fn entry(self) -> Option<&'static str> {
        match self {
            Self::Passwd => Some("user"),
            Self::Group => Some("group"),
            Self::Shadow | Self::Gshadow | Self::Subuid | Self::Subgid => None,
        }
    }

    /// How far the ids of a line reach: the first one, and how many there are.
    fn ids(self, fields: &[&str]) -> Option<(u64, u64)> {
        let number = |at: usize| fields.get(at).and_then(|text| text.parse().ok());
        match self {
            Self::Passwd | Self::Group => Some((number(2)?, 1)),
            Self::Subuid | Self::Subgid => Some((number(1)?, number(2)?)),
            Self::Shadow | Self::Gshadow => None,
        }
    }

    /// The field of the last one, with a group's members.
    const fn has_members(self) -> bool {
        match self {
            Self::Group | Self::Gshadow => true,
            Self::Passwd | Self::Shadow | Self::Subuid | Self::Subgid => false,
        }
    }

    /// The node's entry that has an id of this line, unless the image gives it to both as well.
    pub fn taken<'a>(self, line: &str, three: Three<'a>) -> Option<&'a str> {
        let wanted = self.ids(&fields(line))?;
        entries(three.ours).find(|other| {
            let its = self.ids(&fields(other));
            let mut in_the_image = of_name(three.theirs, name(other));
            its.is_some_and(|its| overlap(wanted, its))
                && !in_the_image.any(|there| self.ids(&fields(there)) == its)
        })
    }
}

fn overlap((first, count): (u64, u64), (other, its_count): (u64, u64)) -> bool {
    first < other.saturating_add(its_count) && other < first.saturating_add(count)
}

/// The three versions of a file.
#[derive(Clone, Copy, Debug)]
pub struct Three<'a> {
    /// The running image's default.
    pub base: &'a str,
    /// The new image's default.
    pub theirs: &'a str,
    /// The node's.
    pub ours: &'a str,
}

/// The versions in /etc, and the images' accounts in /usr/lib beside the node's file.
#[derive(Clone, Copy, Debug)]
pub struct Both<'a> {
    pub etc: Three<'a>,
    pub lib: Three<'a>,
}

/// What comes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The new text, if it differs from the node's.
    pub text: Option<String>,
    /// The users and groups that are added, for a person.
    pub added: Vec<String>,
    /// Why an entry cannot be added.
    pub conflict: Option<String>,
}

/// Adds what the new image adds to its own default, by name: entries that neither the running image
/// nor the node has, and new members of groups. What the image removes or changes, the node keeps.
pub fn merge(file: File, three: Three<'_>) -> Merged {
    let mut merged = Merged::default();
    let mut lines: Vec<String> = three.ours.lines().map(str::to_owned).collect();
    if file.has_members() {
        add_members(file, three, &mut lines, &mut merged);
    }
    for line in new_entries(three) {
        if let Some(other) = file.taken(line, three) {
            merged.conflict.get_or_insert(conflict(file, line, other));
        }
        if let Some(entry) = file.entry() {
            merged
                .added
                .push(format!("{entry} {}{}", name(line), id(file, line)));
        }
        lines.push(line.to_owned());
    }
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    merged.text = (!text.lines().eq(three.ours.lines())).then_some(text);
    merged
}

/// The image's file, which libostree takes where the node has the running image's. `here` is the
/// same file with the ids of this node. Lines that the running image has too stay as they are.
pub fn copied(three: Three<'_>, here: &str) -> Merged {
    let known: BTreeSet<_> = three.base.lines().collect();
    let lines = three.theirs.lines().zip(here.lines());
    let lines = lines.map(|(there, here)| if known.contains(there) { there } else { here });
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    Merged {
        text: (!text.lines().eq(three.ours.lines())).then_some(text),
        ..Merged::default()
    }
}

/// Whether a merge with this image loses nothing of it: a node with the running image's default
/// comes to have the new one's.
pub fn only_adds(file: File, base: &str, theirs: &str) -> bool {
    let ours = base;
    let merged = merge(file, Three { base, theirs, ours }).text;
    let merged = merged.as_deref().unwrap_or(base);
    let lines = |text| str::lines(text).collect::<BTreeSet<_>>();
    lines(merged) == lines(theirs)
}

/// What the new image adds: entries that neither the running image nor the node has, by name.
pub fn new_entries(three: Three<'_>) -> impl Iterator<Item = &str> {
    let known: BTreeSet<_> = names(three.base).chain(names(three.ours)).collect();
    entries(three.theirs).filter(move |line| !known.contains(name(line)))
}

/// The lines with an account: neither remarks nor those of NIS.
pub fn entries(text: &str) -> impl Iterator<Item = &str> {
    let is_entry = |line: &&str| line.contains(':') && !line.starts_with(['#', '+', '-']);
    text.lines().filter(is_entry)
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    entries(text).map(name)
}

fn of_name<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = &'a str> {
    entries(text).filter(move |line| name(line) == wanted)
}

/// The name in a line.
pub fn name(line: &str) -> &str {
    line.split(':').next().unwrap_or_default()
}

fn fields(line: &str) -> Vec<&str> {
    line.split(':').collect()
}

fn id(file: File, line: &str) -> String {
    let first = file
        .ids(&fields(line))
        .map(|(first, _)| format!(" ({first})"));
    first.unwrap_or_default()
}

fn conflict(file: File, line: &str, other: &str) -> String {
    let (path, new, old) = (file.name(), name(line), name(other));
    let (first, count) = file.ids(&fields(line)).unwrap_or_default();
    let last = first.saturating_add(count.saturating_sub(1));
    format!(
        "the new image gives {new} the ids {first} to {last} in /etc/{path}, and {old} has some of them on this node"
    )
}

fn add_members(file: File, three: Three<'_>, lines: &mut [String], merged: &mut Merged) {
    for line in lines {
        let group = name(line).to_owned();
        let Some(theirs) = of_name(three.theirs, &group).next() else {
            continue;
        };
        let base = of_name(three.base, &group).next().unwrap_or_default();
        let (before, now) = (members(base), members(line));
        let new: Vec<_> = members(theirs)
            .into_iter()
            .filter(|member| !before.contains(member) && !now.contains(member))
            .map(str::to_owned)
            .collect();
        for member in new {
            let comma = if members(line).is_empty() { "" } else { "," };
            line.push_str(comma);
            line.push_str(&member);
            if file.entry().is_some() {
                merged
                    .added
                    .push(format!("member {member} of group {group}"));
            }
        }
    }
}

/// The members in the last of a group's four fields.
fn members(line: &str) -> Vec<&str> {
    let fields = fields(line);
    let last = fields.get(3).copied().unwrap_or_default();
    last.split(',').filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "root:x:0:0::/root:/bin/sh\nold:x:990:990::/:/bin/false\n";

    fn passwd(theirs: &str, ours: &str) -> Merged {
        let base = BASE;
        merge(File::Passwd, Three { base, theirs, ours })
    }

    #[test]
    fn entries_added_on_both_sides_are_all_there() {
        let ours = format!("{BASE}probe:x:999:999::/:/bin/sh");
        let theirs = format!("{BASE}web:x:998:998::/:/bin/false\n");
        let merged = passwd(&theirs, &ours);
        let text = format!("{ours}\nweb:x:998:998::/:/bin/false\n");
        assert_eq!(merged.text, Some(text.clone()));
        assert_eq!(merged.added, ["user web (998)"]);
        assert_eq!(merged.conflict, None);
        assert_eq!(passwd(&theirs, &text), Merged::default(), "done once");
    }

    #[test]
    fn copy_of_the_image_gets_ids_in_its_new_lines_alone() {
        let theirs = &format!("{BASE}web:x:999:990::/:\n");
        let here = theirs.replace("990", "800");
        let (base, ours) = (BASE, theirs);
        let three = Three { base, theirs, ours };
        let text = format!("{BASE}web:x:999:800::/:\n");
        assert_eq!(copied(three, &here).text, Some(text));
        assert_eq!(copied(three, theirs), Merged::default());
    }

    #[test]
    fn removed_and_changed_entries_are_not_forced_on_the_node() {
        let without = "root:x:0:0::/home:/bin/zsh\n";
        assert_eq!(passwd(BASE, without), Merged::default());
        let theirs = "root:x:0:0::/root:/bin/bash\n";
        assert_eq!(passwd(theirs, BASE), Merged::default());
    }

    #[test]
    fn nodes_own_entry_of_the_same_name_stays() {
        let ours = format!("{BASE}web:x:800:800::/:/bin/sh\n");
        let theirs = format!("{BASE}web:x:998:998::/:/bin/false\n");
        assert_eq!(passwd(&theirs, &ours), Merged::default());
    }

    #[test]
    fn id_of_another_name_that_did_not_move_is_a_conflict() {
        let ours = format!("{BASE}probe:x:999:999::/:/bin/sh\n");
        let theirs = format!("{BASE}web:x:999:999::/:/bin/false\n");
        let why = passwd(&theirs, &ours).conflict.unwrap();
        for word in ["web", "probe", "999", "/etc/passwd"] {
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn id_that_the_image_gives_to_both_names_is_no_conflict() {
        let theirs = format!("{BASE}toor:x:0:0::/:/bin/sh\n");
        let ours = format!("{BASE}{}", "probe:x:999:999::/:/bin/sh\n");
        let merged = passwd(&theirs, &ours);
        assert_eq!(
            (merged.conflict, merged.added),
            (None, vec!["user toor (0)".to_owned()])
        );
    }

    #[test]
    fn ranges_of_subordinate_ids_must_not_overlap() {
        let three = |theirs| Three {
            base: "",
            theirs,
            ours: "me:100000:65536\nme:300000:10\n",
        };
        let conflict = |theirs| merge(File::Subuid, three(theirs)).conflict;
        assert_eq!(conflict("kubelet:165536:100\n"), None);
        let why = conflict("kubelet:165535:100\n").unwrap();
        assert!(
            why.contains("165535 to 165634") && why.contains("me"),
            "{why}"
        );
        let text = merge(File::Subuid, three("me:500000:5\n")).text;
        assert_eq!(text, None, "the node's own ranges stay");
    }

    #[test]
    fn new_member_joins_a_group_of_both() {
        let three = Three {
            base: "adm:x:4:\ntls:x:110:old\n",
            theirs: "adm:x:4:web\ntls:x:110:web\nweb:x:998:\n",
            ours: "adm:x:4:me\ntls:x:110:old\nmine:x:999:\n",
        };
        let merged = merge(File::Group, three);
        let text = "adm:x:4:me,web\ntls:x:110:old,web\nmine:x:999:\nweb:x:998:\n";
        assert_eq!(merged.text.as_deref(), Some(text));
        let added = [
            "member web of group adm",
            "member web of group tls",
            "group web (998)",
        ];
        assert_eq!(merged.added, added);
    }

    #[test]
    fn secrets_come_along_and_are_not_told() {
        let three = Three {
            base: "root:*:1::::::\n",
            theirs: "root:*:1::::::\nweb:!:2::::::\n",
            ours: "root:$6$mine:1::::::\n",
        };
        let merged = merge(File::Shadow, three);
        let text = "root:$6$mine:1::::::\nweb:!:2::::::\n";
        assert_eq!(merged.text.as_deref(), Some(text));
        assert!(merged.added.is_empty());
    }

    #[test]
    fn image_that_only_adds_loses_nothing() {
        let passwd = |theirs: &str| only_adds(File::Passwd, BASE, theirs);
        assert!(passwd(&format!("{BASE}web:x:998:998::/:/bin/false\n")));
        assert!(!passwd("root:x:0:0::/root:/bin/sh\n"));
        assert!(!passwd(&BASE.replace("/root", "/home")));
        assert!(only_adds(
            File::Group,
            "adm:x:4:\n",
            "adm:x:4:web\nweb:x:998:\n"
        ));
    }
}
