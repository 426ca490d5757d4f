//! Accounts that this node has under another id than the new image, by the same name. The node
//! keeps its own id. Files of the image belong to the image's id, so here they belong to somebody
//! else: a service cannot read its files, and a program that is setgid gets another group. The same
//! holds for an account of the image's /usr/lib whose id another name has on this node. Pure.

use std::collections::BTreeMap;

use super::ids::id;
use super::owners::Owners;
use super::table::{Both, File, Three, entries, name};

/// The accounts that both have under different ids, and those that share an id.
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
    pub fn of(passwd: Both<'_>, group: Both<'_>) -> Self {
        Self {
            users: of_file("user", File::Passwd, passwd),
            groups: of_file("group", File::Group, group),
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

fn of_file(what: &str, file: File, both: Both<'_>) -> Vec<Apart> {
    let Both { etc, lib } = both;
    // A name in /etc goes before the same one in /usr/lib, as in nsswitch.conf(5).
    let base = [etc.base, lib.base].join("\n");
    let theirs = [etc.theirs, lib.theirs].join("\n");
    let (base, theirs, ours) = (&base, &theirs, lib.ours);
    let all = Three { base, theirs, ours };
    let mut found = apart(what, all);
    found.extend(shared(what, file, lib, all));
    found
}

/// Accounts of the new image's /usr/lib whose id another name has on this node. They cannot get
/// another id here.
fn shared(what: &str, file: File, lib: Three<'_>, all: Three<'_>) -> Vec<Apart> {
    let (running, ours) = (ids(lib.base), ids(lib.ours));
    let one = |line: &str| {
        let (name, there) = (name(line), id(line)?);
        let other = super::table::name(file.taken(line, all)?);
        let before = running.get(name).filter(|id| **id == there).copied();
        let path = file.name();
        let one = Apart {
            told: format!(
                "{what} {name} has the id {there} in the new image's /usr/lib/{path}, and {other} has it on this node"
            ),
            there,
            before,
            is_new: before.is_none(),
        };
        (!ours.contains_key(name)).then_some(one)
    };
    entries(lib.theirs).filter_map(one).collect()
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

    fn of_passwd(etc: Three<'_>, lib: Three<'_>) -> Kept {
        let (base, theirs, ours) = ("", "", "");
        let none = Three { base, theirs, ours };
        let group = Both {
            etc: none,
            lib: none,
        };
        Kept::of(Both { etc, lib }, group)
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
        let (base, theirs) = ("", "");
        let lib = Three {
            base,
            theirs,
            ..passwd
        };
        of_passwd(passwd, lib)
    }

    /// The node has `probe` with the id 999, which the new image's /usr/lib gives to `web`.
    fn shared(running: &str) -> Kept {
        let ours = format!("{ROOT}probe:x:999:0::/:\n");
        let (base, theirs) = (ROOT, ROOT);
        let etc = Three {
            base,
            theirs,
            ours: &ours,
        };
        let lib = Three {
            base: running,
            theirs: "web:x:999:0::/:\n",
            ..etc
        };
        of_passwd(etc, lib)
    }

    #[test]
    fn account_of_usr_lib_that_always_shared_its_id_is_no_worse() {
        for (running, is_new) in [
            ("", true),
            ("web:x:998:0::/:\n", true),
            ("web:x:999:0::/:\n", false),
        ] {
            let kept = shared(running);
            assert_eq!(kept.told().count(), usize::from(is_new));
            assert_eq!(kept.owner(&owners(&[999]), &owners(&[0])), None);
            let why = kept.owner(&owners(&[999]), &owners(&[999]));
            assert_eq!(why.is_some(), is_new, "{why:?}");
            assert!(kept.owner(&owners(&[0]), &owners(&[999])).is_some());
        }
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
