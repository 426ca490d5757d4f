//! Ids of accounts that the new image adds, where another name has the id on this node. Both sides
//! take the first free id (`useradd -r`), so that is the usual case. The image's account gets a
//! free one here, as systemd-sysusers does it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::owners::Owners;
use super::table::{Both, File, Three, entries, name, new_entries};

/// The ids of system accounts, the first one taken last, and those of people, as in login.defs(5).
const SYSTEM: std::ops::RangeInclusive<u64> = 100..=999;
const PEOPLE: std::ops::RangeInclusive<u64> = 1000..=59_999;

/// Ids of the image that are other ones on this node.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Moved {
    users: BTreeMap<u64, u64>,
    groups: BTreeMap<u64, u64>,
    /// The group of a new user, by its id in the image.
    primary: BTreeMap<u64, u64>,
    /// What moved, for a person.
    pub told: Vec<String>,
}

impl Moved {
    /// Finds them. A user whose group moves gets the group's id if it moves as well.
    pub fn of(passwd: Both<'_>, group: Both<'_>) -> Self {
        let mut used = used([passwd.etc, passwd.lib, group.etc, group.lib]);
        let (passwd, group) = (passwd.etc, group.etc);
        let mut moved = Self::default();
        let mut by_name = BTreeMap::new();
        for (what, file, three) in [
            ("group", File::Group, group),
            ("user", File::Passwd, passwd),
        ] {
            for line in new_entries(three) {
                let (Some(id), Some(other)) = (id(line), file.taken(line, three)) else {
                    continue;
                };
                let name = name(line);
                let same = by_name.get(name).copied();
                let Some(free) = same.or_else(|| free(id, &mut used)) else {
                    continue;
                };
                by_name.insert(name, free);
                moved.of_file(file).insert(id, free);
                let other = super::table::name(other);
                let told = format!(
                    "{what} {name} gets the id {free}, because {other} has {id} on this node"
                );
                moved.told.push(told);
            }
        }
        moved.primary = primary(&moved.groups, group);
        moved
    }

    const fn of_file(&mut self, file: File) -> &mut BTreeMap<u64, u64> {
        match file {
            File::Group | File::Gshadow | File::Subgid => &mut self.groups,
            File::Passwd | File::Shadow | File::Subuid => &mut self.users,
        }
    }

    /// The image's file with the ids that it has on this node.
    pub fn applied(&self, file: File, theirs: &str) -> String {
        let change = |line: &str| {
            let mut fields: Vec<_> = line.split(':').map(str::to_owned).collect();
            let mut put = |at: usize, ids: &BTreeMap<u64, u64>| {
                let field = fields.get_mut(at);
                let new = field.as_ref().and_then(|text| ids.get(&text.parse().ok()?));
                if let (Some(field), Some(new)) = (field, new) {
                    *field = new.to_string();
                }
            };
            match file {
                File::Passwd => {
                    put(2, &self.users);
                    put(3, &self.primary);
                }
                File::Group => put(2, &self.groups),
                File::Shadow | File::Gshadow | File::Subuid | File::Subgid => {}
            }
            fields.join(":") + "\n"
        };
        theirs.lines().map(change).collect()
    }

    /// Of accounts that move, one that owns a file of the image.
    pub fn owner(&self, image: &Owners) -> Option<String> {
        let users = self.users.keys().filter_map(|id| image.users.get(id));
        let groups = self.groups.keys().filter_map(|id| image.groups.get(id));
        users.chain(groups).next().map(|path| {
            let (told, path) = (self.told.join("; "), path.display());
            format!("{told}; but /{path} in the new image belongs to it")
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }
}

/// What the ids of the image's groups are on this node: by name, because the node may have a group
/// of the same name with another id.
fn primary(moved: &BTreeMap<u64, u64>, group: Three<'_>) -> BTreeMap<u64, u64> {
    let ours: BTreeMap<_, _> = ids(group.ours).collect();
    let here = |(name, id): (&str, u64)| {
        let here = ours.get(name).or_else(|| moved.get(&id)).copied()?;
        (here != id).then_some((id, here))
    };
    ids(group.theirs).filter_map(here).collect()
}

/// The ids that the node and the new image have.
fn used(files: [Three<'_>; 4]) -> BTreeSet<u64> {
    let texts = files.into_iter().flat_map(|file| [file.ours, file.theirs]);
    texts.flat_map(ids).map(|(_, id)| id).collect()
}

fn free(id: u64, used: &mut BTreeSet<u64>) -> Option<u64> {
    let (mut people, mut system) = (PEOPLE, SYSTEM.rev());
    if PEOPLE.contains(&id) {
        people.find(|id| used.insert(*id))
    } else {
        system.find(|id| used.insert(*id))
    }
}

fn ids(text: &str) -> impl Iterator<Item = (&str, u64)> {
    entries(text).filter_map(|line| Some((name(line), id(line)?)))
}

/// The id in a line of passwd or group.
pub fn id(line: &str) -> Option<u64> {
    line.split(':').nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: Three<'_> = Three {
        base: "root:x:0:\n",
        theirs: "root:x:0:\nweb:x:999:\n",
        ours: "root:x:0:\nprobe:x:999:\n",
    };

    fn both(etc: Three<'_>) -> Both<'_> {
        let lib = Three { theirs: "", ..etc };
        Both { etc, lib }
    }

    fn moved(theirs: &str, group: Three<'_>) -> (Moved, String) {
        let (base, ours) = ("root:x:0:0::/:\n", "root:x:0:0::/:\nprobe:x:999:999::/:\n");
        let moved = Moved::of(both(Three { base, theirs, ours }), both(group));
        let text = moved.applied(File::Passwd, theirs);
        (moved, text)
    }

    #[test]
    fn account_whose_id_is_taken_gets_a_free_one_with_its_group() {
        let (moved, passwd) = moved("root:x:0:0::/:\nweb:x:999:999::/:\n", GROUP);
        assert_eq!(passwd, "root:x:0:0::/:\nweb:x:998:998::/:\n");
        let group = moved.applied(File::Group, GROUP.theirs);
        assert_eq!(group, "root:x:0:\nweb:x:998:\n");
        assert_eq!(moved.told.len(), 2);
        assert!(moved.told[1].contains("user web gets the id 998"));
        let of = |user: u64, group: u64| Owners {
            users: BTreeMap::from([(user, "usr/a".into())]),
            groups: BTreeMap::from([(group, "usr/b".into())]),
        };
        assert!(moved.owner(&of(999, 0)).unwrap().contains("/usr/a in"));
        assert!(moved.owner(&of(0, 999)).unwrap().contains("/usr/b in"));
        assert_eq!(moved.owner(&of(0, 0)), None);
    }

    #[test]
    fn group_of_a_user_is_found_by_name() {
        let group = Three {
            ours: "root:x:0:\nweb:x:800:\n",
            ..GROUP
        };
        let (moved, passwd) = moved("root:x:0:0::/:\nweb:x:990:999::/:\n", group);
        assert_eq!(passwd, "root:x:0:0::/:\nweb:x:990:800::/:\n");
        assert!(moved.is_empty(), "no id of the image moves");
    }

    #[test]
    fn ids_that_nobody_else_has_stay() {
        let group = Three {
            ours: GROUP.base,
            ..GROUP
        };
        let theirs = "root:x:0:0::/:\nweb:x:990:999::/:\n";
        let (moved, passwd) = moved(theirs, group);
        assert_eq!((moved, passwd.as_str()), (Moved::default(), theirs));
    }

    #[test]
    fn id_of_a_person_moves_among_those_of_people() {
        let mut used = BTreeSet::from([1000, 1001, 999]);
        assert_eq!(free(1000, &mut used), Some(1002));
        assert_eq!(free(999, &mut used), Some(998));
    }
}
