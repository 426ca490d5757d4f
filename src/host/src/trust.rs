//! Who may write a path. Root runs checks and hooks and relies on the policy, so only root may be
//! able to change them.
//!
//! One rule applies to all of it: the file, its link targets, and each folder on the path belong to
//! root, and neither a mode nor an ACL lets another user write there. The walk starts at the root
//! and takes one name at a time. Only root can add an entry to a folder that was checked, so the
//! walk sees what is used later.

mod acl;
mod env;
mod script;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use acl::Writer;

/// Write permission for the group, and for everybody.
const GROUP: u32 = 0o020;
const EVERYBODY: u32 = 0o002;
/// In a folder with this bit only root can rename or remove root's entries, as in /tmp.
const STICKY: u32 = 0o1000;
/// How many links one path may lead through, as in Linux (path_resolution(7)).
const LINKS: usize = 40;
/// How many scripts may interpret each other (execve(2)).
const INTERPRETERS: usize = 4;
/// PATH of the operator's checks and hooks: the image's programs come first, and the operator's own
/// tools are found too.
pub const OPERATORS_PATH: &str = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin";

/// Why users other than root can decide what is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file or folder at fault, with links resolved.
    pub place: PathBuf,
    /// What is wrong with it.
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// It belongs to this user, who can grant themselves any permission.
    Owner(u32),
    /// Its mode or its ACL gives this user or group write permission.
    Writer(Writer, u32),
    /// Its default ACL gives this user or group write permission for everything created in it.
    Default(Writer),
    /// It cannot be inspected.
    Unseen(String),
    /// Its first line does not say which program the kernel or env(1) runs.
    Untold(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.display();
        match &self.what {
            What::Owner(user) => write!(f, "{place} belongs to user {user}, not to root"),
            What::Writer(who, mode) => {
                write!(f, "{place} may be written by {who} (mode {mode:04o})")
            }
            What::Default(who) => {
                write!(
                    f,
                    "{place} has a default ACL that lets {who} write what is made there"
                )
            }
            What::Unseen(error) => write!(f, "cannot read {place}: {error}"),
            What::Untold(why) => write!(f, "cannot tell which program runs {place}: {why}"),
        }
    }
}

impl Fault {
    fn new(place: &Path, what: What) -> Self {
        let place = place.to_owned();
        Self { place, what }
    }

    fn unseen(place: &Path, error: &impl ToString) -> Self {
        Self::new(place, What::Unseen(error.to_string()))
    }

    /// What is wrong, and the command that fixes it.
    #[must_use]
    pub fn with_its_fix(&self) -> String {
        match &self.what {
            What::Untold(_) => format!("{self}; {}", self.fix()),
            What::Owner(_) | What::Writer(..) | What::Default(_) | What::Unseen(_) => {
                format!("{self}; run: {}", self.fix())
            }
        }
    }

    /// The command that fixes it, or what to change. `chmod` also removes an ACL's write permission, because the group
    /// bits are the ACL's mask (acl(5)).
    #[must_use]
    pub fn fix(&self) -> String {
        let place = self.place.display();
        let command = match &self.what {
            What::Owner(_) => format!("chown root:root {place}"),
            What::Writer(..) => format!("chmod go-w {place}"),
            What::Default(_) => format!("setfacl -k {place}"),
            What::Unseen(_) => format!("ls -ld {place}"),
            What::Untold(_) => format!("name the program by its path in the first line of {place}"),
        };
        match is_of_the_image(&self.place) {
            true => format!("{command} (in the build of the image)"),
            false => command,
        }
    }
}

/// Whether the place belongs to the image, which nobody changes on a running node.
fn is_of_the_image(place: &Path) -> bool {
    place.starts_with("/usr") && !place.starts_with("/usr/local")
}

/// Why users other than root can decide what is at a path; `None` if they cannot. If the path leads
/// nowhere, its folders are checked, because their writers decide whether it leads somewhere.
#[must_use]
pub fn fault(path: &Path) -> Option<Fault> {
    judged(path).err()
}

/// Like [`fault`], including the interpreters of a script and the program that env(1) finds. If a
/// first line does not say which program runs, that is a fault.
#[must_use]
pub fn fault_of_program(path: &Path) -> Option<Fault> {
    let untold = |script: &Path, why| Some(Fault::new(script, What::Untold(why)));
    let mut program = path.to_owned();
    for _ in 0..=INTERPRETERS {
        if let Some(fault) = fault(&program) {
            return Some(fault);
        }
        let by = match script::interpreters(&program, operators_path) {
            Ok(by) => by,
            Err(why) => return untold(&program, why),
        };
        if let Some(fault) = by.iter().find_map(|one| fault(one)) {
            return Some(fault);
        }
        program = by.last()?.clone();
    }
    let why = format!("more than {INTERPRETERS} scripts interpret each other");
    untold(path, why)
}

/// [`OPERATORS_PATH`] without the folders that users other than root may write: a check or a hook
/// runs as root.
#[must_use]
pub fn operators_path() -> String {
    safe_folders(OPERATORS_PATH)
}

fn safe_folders(path: &str) -> String {
    let safe = path
        .split(':')
        .filter(|folder| fault(Path::new(folder)).is_none());
    safe.collect::<Vec<_>>().join(":")
}

fn judged(path: &Path) -> Result<(), Fault> {
    let path = std::path::absolute(path).map_err(|error| Fault::unseen(path, &error))?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return judge(&path, Sticky::Counts);
    };
    let mut walk = Walk::from_the_root()?;
    if !walk.go(folder.as_os_str())? {
        return judge(&walk.at, Sticky::Counts);
    }
    // A user who can add a name where a check is can make root run any program, sticky or not.
    judge(&walk.at, Sticky::Counts)?;
    match walk.go(name)? {
        true => judge(&walk.at, Sticky::Counts),
        false => Ok(()),
    }
}

/// Whether a sticky folder that others may write counts as a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sticky {
    Counts,
    Excuses,
}

/// How far a path was walked, through checked folders only.
struct Walk {
    /// The current place, with links resolved.
    at: PathBuf,
    links: usize,
}

impl Walk {
    fn from_the_root() -> Result<Self, Fault> {
        let at = PathBuf::from("/");
        judge(&at, Sticky::Excuses)?;
        Ok(Self { at, links: 0 })
    }

    /// Walks along these names. Returns whether they lead somewhere.
    fn go(&mut self, names: &OsStr) -> Result<bool, Fault> {
        let mut left: VecDeque<OsString> = parts(names).collect();
        while let Some(name) = left.pop_front() {
            match name.as_bytes() {
                b"" | b"." => {}
                b".." => {
                    self.at.pop();
                }
                _ => match self.enter(&name)? {
                    Entered::Nothing => return Ok(false),
                    Entered::It => {}
                    Entered::Link(target) => {
                        for part in parts(target.as_os_str())
                            .collect::<Vec<_>>()
                            .into_iter()
                            .rev()
                        {
                            left.push_front(part);
                        }
                    }
                },
            }
        }
        Ok(true)
    }

    /// Walks one name.
    fn enter(&mut self, name: &OsStr) -> Result<Entered, Fault> {
        let next = self.at.join(name);
        let facts = match fs::symlink_metadata(&next) {
            Ok(facts) => facts,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Entered::Nothing),
            Err(error) => return Err(Fault::unseen(&next, &error)),
        };
        if !facts.is_symlink() {
            judge_facts(&next, &facts, Sticky::Excuses)?;
            self.at = next;
            return Ok(Entered::It);
        }
        judge_owner(&next, &facts)?;
        self.follow(&next)
    }

    fn follow(&mut self, link: &Path) -> Result<Entered, Fault> {
        self.links += 1;
        if self.links > LINKS {
            return Err(Fault::unseen(link, &"it has too many links on its path"));
        }
        let target = fs::read_link(link).map_err(|error| Fault::unseen(link, &error))?;
        if target.is_absolute() {
            self.at = PathBuf::from("/");
        }
        Ok(Entered::Link(target))
    }
}

/// What a name refers to.
enum Entered {
    Nothing,
    It,
    Link(PathBuf),
}

fn parts(path: &OsStr) -> impl Iterator<Item = OsString> {
    let parts = path.as_bytes().split(|byte| *byte == b'/');
    parts.map(|part| OsStr::from_bytes(part).to_owned())
}

fn judge(place: &Path, sticky: Sticky) -> Result<(), Fault> {
    let facts = fs::symlink_metadata(place).map_err(|error| Fault::unseen(place, &error))?;
    judge_facts(place, &facts, sticky)
}

fn judge_facts(place: &Path, facts: &Metadata, sticky: Sticky) -> Result<(), Fault> {
    judge_owner(place, facts)?;
    let is_shared = facts.is_dir() && facts.mode() & STICKY != 0;
    if !(is_shared && sticky == Sticky::Excuses)
        && let Some(who) = writer(place, facts)?
    {
        return Err(Fault::new(place, What::Writer(who, facts.mode() & 0o7777)));
    }
    if facts.is_dir()
        && let Some(who) = acl::writer(place, acl::DEFAULT).map_err(unseen(place))?
    {
        return Err(Fault::new(place, What::Default(who)));
    }
    Ok(())
}

/// Which user other than the owner may write. With an ACL the mode's group bits are the mask, so
/// the ACL is more precise.
fn writer(place: &Path, facts: &Metadata) -> Result<Option<Writer>, Fault> {
    if acl::is_there(place, acl::ACCESS).map_err(unseen(place))? {
        return acl::writer(place, acl::ACCESS).map_err(unseen(place));
    }
    let mode = facts.mode();
    let group = (mode & GROUP != 0).then_some(Writer::Group(facts.gid()));
    Ok((mode & EVERYBODY != 0)
        .then_some(Writer::Everybody)
        .or(group))
}

fn unseen(place: &Path) -> impl Fn(io::Error) -> Fault {
    let place = place.to_owned();
    move |error| Fault::unseen(&place, &error)
}

/// Tests run as the user who starts them.
fn judge_owner(place: &Path, facts: &Metadata) -> Result<(), Fault> {
    let owner = facts.uid();
    match owner == 0 || owner == nix::unistd::geteuid().as_raw() {
        true => Ok(()),
        false => Err(Fault::new(place, What::Owner(owner))),
    }
}

#[cfg(test)]
mod tests;
