//! Primary groups of this node's users, where the new image gives a group another id. libostree
//! takes the image's /etc/group where the node did not change its own, and /usr/lib/group always. A
//! line of the node's /etc/passwd then has the old id, which is nobody's or another group's. The
//! user keeps its group, so its line gets the new id. Pure.

use std::collections::BTreeMap;

use super::table::{entries, name};

/// The users whose lines get another group id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Regrouped {
    /// The new text of /etc/passwd, if it differs.
    pub text: Option<String>,
    /// Who gets another id, for a person.
    pub told: Vec<String>,
    /// A user whose group is gone, and whose group id another group gets.
    pub conflict: Option<String>,
}

/// The texts of /etc/passwd.
pub struct Users<'a> {
    /// The running system's.
    pub now: &'a str,
    /// The new image's.
    pub theirs: &'a str,
    /// The one that the new system gets.
    pub merged: &'a str,
}

/// The groups in /etc, which go first, and in /usr/lib.
pub struct Groups<'a> {
    /// Those of the running system.
    pub now: [&'a str; 2],
    /// Those of the new system.
    pub new: [&'a str; 2],
}

/// What becomes of a primary group.
enum Fate<'a> {
    Stays,
    Moves(&'a str, u64),
    IsTaken(&'a str, &'a str),
}

impl Regrouped {
    /// Finds them. Only lines that the running system has count: a new one has the new ids.
    pub fn of(users: &Users<'_>, groups: &Groups<'_>) -> Self {
        let (now, new) = (ids(groups.now), ids(groups.new));
        let mut found = Self::default();
        let lines: Vec<_> = users
            .merged
            .lines()
            .map(|line| match group(line) {
                Some(id) if users.now.lines().any(|known| known == line) => {
                    let keeps = has(users.theirs, name(line), id);
                    found.line(line, id, &fate(id, keeps, &now, &new))
                }
                Some(_) | None => line.to_owned(),
            })
            .collect();
        let is_new = !lines.iter().map(String::as_str).eq(users.merged.lines());
        found.text = is_new.then(|| lines.iter().flat_map(|line| [line, "\n"]).collect());
        found
    }

    fn line(&mut self, line: &str, id: u64, fate: &Fate<'_>) -> String {
        let user = name(line);
        match fate {
            Fate::Stays => {}
            Fate::Moves(group, new) => {
                self.told.push(format!(
                    "user {user} keeps the group {group}, which has the id {new} in the new image and {id} on this node"
                ));
                return with_group(line, *new);
            }
            Fate::IsTaken(group, other) => {
                self.conflict.get_or_insert(format!(
                    "user {user} has the group {group} with the id {id} on this node, and the new image has no {group} and gives that id to {other}"
                ));
            }
        }
        line.to_owned()
    }
}

/// `keeps`: the new image has the same id in the user's line, so it has renamed the group.
fn fate<'a>(
    id: u64,
    keeps: bool,
    now: &BTreeMap<&'a str, u64>,
    new: &BTreeMap<&'a str, u64>,
) -> Fate<'a> {
    let names = || {
        now.iter()
            .filter(|(_, its)| **its == id)
            .map(|(name, _)| *name)
    };
    if names().any(|name| new.get(name) == Some(&id)) {
        return Fate::Stays;
    }
    if let Some((name, moved)) = names().find_map(|name| Some((name, *new.get(name)?))) {
        return Fate::Moves(name, moved);
    }
    let other = new.iter().find(|(_, its)| **its == id);
    match (names().next(), other) {
        (Some(gone), Some((other, _))) if !keeps => Fate::IsTaken(gone, other),
        (Some(_) | None, _) => Fate::Stays,
    }
}

/// The ids by name. The first line of a name counts.
fn ids(texts: [&str; 2]) -> BTreeMap<&str, u64> {
    let mut ids = BTreeMap::new();
    for line in texts.into_iter().flat_map(entries) {
        if let Some(id) = super::ids::id(line) {
            ids.entry(name(line)).or_insert(id);
        }
    }
    ids
}

/// Whether this user has this primary group.
fn has(passwd: &str, user: &str, id: u64) -> bool {
    entries(passwd).any(|line| name(line) == user && group(line) == Some(id))
}

/// The primary group in a line of passwd.
fn group(line: &str) -> Option<u64> {
    let is_entry = entries(line).next().is_some();
    is_entry
        .then(|| line.split(':').nth(3)?.parse().ok())
        .flatten()
}

fn with_group(line: &str, id: u64) -> String {
    let mut fields: Vec<_> = line.split(':').map(str::to_owned).collect();
    if let Some(field) = fields.get_mut(3) {
        *field = id.to_string();
    }
    fields.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "root:x:0:0::/:\nold:x:990:990::/:\nprobe:x:999:990::/:\n";
    const GROUP: &str = "root:x:0:\nold:x:990:\nnext:x:991:\n";

    fn regrouped(passwd: &str, now: [&str; 2], new: [&str; 2]) -> Regrouped {
        let theirs = "root:x:0:0::/:\nold:x:990:990::/:\n";
        let (now_users, merged) = (NOW, passwd);
        let users = Users {
            now: now_users,
            theirs,
            merged,
        };
        Regrouped::of(&users, &Groups { now, new })
    }

    #[test]
    fn user_keeps_the_group_that_the_image_renumbers() {
        // Each one takes the id of the next, so a second run must change nothing.
        let new = "root:x:0:\nold:x:991:\nnext:x:992:\n";
        for lib in [false, true] {
            let put = |text| if lib { ["", text] } else { [text, ""] };
            let first = regrouped(NOW, put(GROUP), put(new));
            let text = "root:x:0:0::/:\nold:x:990:991::/:\nprobe:x:999:991::/:\n";
            assert_eq!(first.text.as_deref(), Some(text));
            let told = "user probe keeps the group old, which has the id 991 in the new image and 990 on this node";
            assert_eq!(first.told.last().unwrap(), told);
            assert_eq!(first.conflict, None);
            let again = regrouped(text, put(GROUP), put(new));
            assert_eq!(again, Regrouped::default());
        }
    }

    #[test]
    fn user_stays_out_of_a_group_with_the_id_of_a_gone_one() {
        let found = regrouped(NOW, [GROUP, ""], ["root:x:0:\nweb:x:990:\n", ""]);
        assert_eq!(found.text, None);
        let why = found.conflict.unwrap();
        assert!(why.starts_with("user probe has the group old"), "{why}");
        assert!(why.ends_with("gives that id to web"), "{why}");
    }

    #[test]
    fn group_that_only_goes_or_stays_moves_nobody() {
        for new in [
            GROUP,
            "root:x:0:\n",
            "root:x:0:\nalias:x:990:\nold:x:990:\n",
        ] {
            let found = regrouped(NOW, [GROUP, ""], [new, ""]);
            assert_eq!(found, Regrouped::default(), "{new}");
        }
    }
}
