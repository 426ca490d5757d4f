//! Accounts that this node has under another id than the new image, by the same name. The node
//! keeps its own id. Files of the image belong to the image's id, so here they belong to somebody
//! else: a service cannot read its files, and a program that is setgid gets another group. Pure.

use std::collections::BTreeMap;

use super::ids::id;
use super::owners::Owners;
use super::table::{Three, entries, name};

/// The accounts that both have, under different ids.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    users: Vec<Apart>,
    groups: Vec<Apart>,
}

/// One of them.
#[derive(Debug, PartialEq, Eq)]
struct Apart {
    told: String,
    /// Its id in the new image.
    there: u64,
    /// Its id in the running image, where the node had another one there too.
    before: Option<u64>,
    /// Whether the new image has another id than the running one.
    is_new: bool,
}

impl Kept {
    /// Finds them.
    pub fn of(passwd: Three<'_>, group: Three<'_>) -> Self {
        Self {
            users: apart("user", passwd),
            groups: apart("group", group),
        }
    }

    /// What the new image changes, for a person.
    pub fn told(&self) -> impl Iterator<Item = &str> {
        let all = self.groups.iter().chain(&self.users);
        all.filter(|one| one.is_new).map(|one| one.told.as_str())
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty()
    }

    /// The first one that owns files in the new image. One that owned files in the running image,
    /// under an id that the node did not have either, is no worse off than before.
    pub fn owner(&self, running: &Owners, new: &Owners) -> Option<String> {
        let users = self.users.iter();
        let users = users.map(|one| (one, &running.users, &new.users));
        let groups = self.groups.iter();
        let groups = groups.map(|one| (one, &running.groups, &new.groups));
        users.chain(groups).find_map(|(one, running, new)| {
            let path = new.get(&one.there)?;
            let was_so = one.before.is_some_and(|id| running.contains_key(&id));
            (!was_so).then(|| {
                format!(
                    "{}; but /{} in the new image belongs to it",
                    one.told,
                    path.display()
                )
            })
        })
    }
}

fn apart(what: &str, three: Three<'_>) -> Vec<Apart> {
    let (base, ours) = (ids(three.base), ids(three.ours));
    let theirs = ids(three.theirs);
    let is_shared = |there: u64| {
        let mut others = theirs.iter().filter(|(_, id)| **id == there);
        others.any(|(other, id)| ours.get(other) == Some(id))
    };
    let one = |(name, there): (&&str, &u64)| {
        let here = ours.get(name).filter(|here| *here != there)?;
        let before = base.get(name);
        let one = Apart {
            told: format!(
                "{what} {name} keeps the id {here} of this node and has {there} in the new image"
            ),
            there: *there,
            before: before.filter(|id| *id != here).copied(),
            is_new: before != Some(there),
        };
        (!is_shared(*there)).then_some(one)
    };
    theirs.iter().filter_map(one).collect()
}

/// The ids by name. The first line of a name counts (getpwnam(3)).
fn ids(text: &str) -> BTreeMap<&str, u64> {
    let mut ids = BTreeMap::new();
    for line in entries(text) {
        if let Some(number) = id(line) {
            ids.entry(name(line)).or_insert(number);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "root:x:0:0::/:\n";

    fn owners(ids: &[u64]) -> Owners {
        Owners {
            users: ids.iter().map(|id| (*id, "usr/share/web".into())).collect(),
            ..Owners::default()
        }
    }

    /// The user's id in the running image, on the node and in the new image.
    fn kept(base: Option<u64>, ours: u64, theirs: u64) -> Kept {
        let text = |id: u64| format!("{ROOT}web:x:{id}:0::/:\n");
        let base = base.map_or_else(|| ROOT.to_owned(), text);
        let (ours, theirs) = (text(ours), text(theirs));
        let passwd = Three {
            base: &base,
            theirs: &theirs,
            ours: &ours,
        };
        let group = Three {
            base: "",
            theirs: "",
            ours: "",
        };
        Kept::of(passwd, group)
    }

    #[test]
    fn same_name_with_another_id_is_told_and_may_own_no_file() {
        for base in [None, Some(800)] {
            let kept = kept(base, 800, 998);
            let told: Vec<_> = kept.told().collect();
            let sentence = "user web keeps the id 800 of this node and has 998 in the new image";
            assert_eq!(told, [sentence]);
            assert_eq!(kept.owner(&owners(&[0, 800]), &owners(&[0])), None);
            let why = kept.owner(&owners(&[0, 800]), &owners(&[0, 998])).unwrap();
            assert!(
                why.ends_with("/usr/share/web in the new image belongs to it"),
                "{why}"
            );
        }
    }

    #[test]
    fn account_that_always_differed_is_refused_only_new_files() {
        for theirs in [998, 997] {
            let kept = kept(Some(998), 800, theirs);
            assert_eq!(kept.told().count(), usize::from(theirs == 997));
            assert_eq!(kept.owner(&owners(&[998]), &owners(&[theirs])), None);
            assert!(kept.owner(&owners(&[0]), &owners(&[theirs])).is_some());
        }
    }

    #[test]
    fn id_that_another_name_has_in_both_is_shared() {
        assert!(kept(None, 800, 0).is_empty(), "root has it as well");
        assert!(kept(None, 998, 998).is_empty());
    }
}
