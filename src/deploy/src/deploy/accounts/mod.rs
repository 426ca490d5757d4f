//! Users and groups that the new image adds. libostree's merge keeps the node's whole /etc/passwd
//! as soon as one line of it was changed here. A service of the new image whose user is only in the
//! image's file then does not start (coreos/rpm-ostree, issues 67 and 3459).
//!
//! Users in `/usr/lib/sysusers.d` need nothing: libostree removes `/etc/.updated` from a new
//! deployment (ostree-sysroot-deploy.c, `sysroot_finalize_deployment`), so systemd-sysusers.service
//! creates them at its first boot, before any service.
//!
//! Users in `/usr/lib/passwd` (nss-altfiles) come with the image and need no line in /etc. Their
//! ids are taken all the same, and a node's own account may have one of them already.

mod ids;
mod kept;
mod owners;
mod put;
mod regrouped;
mod table;

use std::io;
use std::path::Path;

use upgrade::Reason;

use crate::site::Site;
use crate::verify::image::Tree;
use ids::Moved;
use kept::Kept;
use owners::Owners;
use regrouped::{Groups, Regrouped, Users};
use table::{Both, File, Merged, Three, copied, merge};

/// Checks that everything that the image adds can be added.
///
/// # Errors
/// [`Reason::AccountTaken`] with the first that cannot.
pub fn check(current: &Path, image: &Tree) -> Result<(), Reason> {
    Added::by(current, image).conflict()
}

/// What an image adds to the files of accounts of a system.
pub struct Added {
    files: Vec<(File, Merged)>,
    moved: Moved,
    kept: Kept,
    /// What users of this node are told about their primary groups.
    regrouped: Vec<String>,
}

impl Added {
    /// Looks, without a change. `current` is the folder of the running deployment. libostree takes
    /// the image's file where the node has not changed its own, and nothing is added then. Groups
    /// of its users can still have other ids here.
    pub fn by(current: &Path, image: &Tree) -> Self {
        Self::to(File::ALL.map(|file| {
            let mut texts = Texts::of(file, current, &current.join("etc"), &|path| {
                in_image(image, path)
            });
            if texts.ours.as_ref() == Some(&texts.base) {
                texts.ours.clone_from(&texts.theirs);
            }
            texts
        }))
    }

    fn to(texts: [Texts; 6]) -> Self {
        let [passwd, group, ..] = &texts;
        let moved = Moved::of(passwd.both(), group.both());
        let kept = Kept::of(passwd.both(), group.both());
        let merged = |(file, texts): (File, &Texts)| {
            let three = texts.three();
            let theirs = moved.applied(file, three.theirs);
            if three.ours == three.theirs {
                return (file, copied(three, &theirs));
            }
            let theirs = &theirs;
            (file, merge(file, Three { theirs, ..three }))
        };
        let mut files: Vec<_> = File::ALL.into_iter().zip(&texts).map(merged).collect();
        let regrouped = regroup(&texts, &mut files);
        Self {
            files,
            moved,
            kept,
            regrouped,
        }
    }

    /// Users and groups, for a person.
    pub fn told(self) -> Vec<String> {
        let ids: Vec<_> = self.ids_told().map(str::to_owned).collect();
        let added = self.files.into_iter().flat_map(|(_, file)| file.added);
        added.chain(ids).collect()
    }

    /// The ids that differ between the image and this node, for a person.
    fn ids_told(&self) -> impl Iterator<Item = &str> {
        let moved = self.moved.told.iter().map(String::as_str);
        let regrouped = self.regrouped.iter().map(String::as_str);
        moved.chain(self.kept.told()).chain(regrouped)
    }

    fn conflict(&self) -> Result<(), Reason> {
        let mut conflicts = self
            .files
            .iter()
            .filter_map(|(_, file)| file.conflict.clone());
        let conflict = conflicts.next();
        conflict.map_or(Ok(()), |detail| Err(Reason::AccountTaken { detail }))
    }
}

/// Gives users of this node the ids that their groups get. In a copied file all are the image's.
fn regroup([passwd, group, ..]: &[Texts; 6], files: &mut [(File, Merged)]) -> Vec<String> {
    let [(_, users), (_, groups), ..] = files else {
        return Vec::new();
    };
    let (etc, lib) = (passwd.three(), &group.lib);
    if etc.ours == etc.theirs {
        return Vec::new();
    }
    let of_groups = Groups {
        now: [&group.now, &lib[0]],
        new: [
            groups.text.as_deref().unwrap_or(group.three().ours),
            &lib[1],
        ],
    };
    let of_users = Users {
        now: &passwd.now,
        theirs: etc.theirs,
        merged: users.text.as_deref().unwrap_or(etc.ours),
    };
    let found = Regrouped::of(&of_users, &of_groups);
    users.text = found.text.or_else(|| users.text.take());
    users.conflict = users.conflict.take().or(found.conflict);
    found.told
}

/// The versions of a file, as far as each is there.
struct Texts {
    base: String,
    /// The running system's.
    now: String,
    ours: Option<String>,
    theirs: Option<String>,
    /// The running image's and the new image's file in /usr/lib.
    lib: [String; 2],
}

impl Texts {
    /// Those of the running deployment, of this /etc and of the new image. A file that is missing,
    /// a link or no text is the business of its owner.
    fn of(file: File, current: &Path, etc: &Path, new: &dyn Fn(&str) -> Option<String>) -> Self {
        let lib = format!("usr/lib/{}", file.name());
        let running = |path: &str| text(&current.join(path)).unwrap_or_default();
        Self {
            base: running(&default(file)),
            now: running(&format!("etc/{}", file.name())),
            ours: text(&etc.join(file.name())),
            theirs: new(&default(file)),
            lib: [running(&lib), new(&lib).unwrap_or_default()],
        }
    }

    fn both(&self) -> Both<'_> {
        let [base, theirs] = &self.lib;
        let ours = self.ours.as_deref().unwrap_or_default();
        Both {
            etc: self.three(),
            lib: Three { base, theirs, ours },
        }
    }

    fn three(&self) -> Three<'_> {
        let (ours, theirs) = self
            .ours
            .as_deref()
            .zip(self.theirs.as_deref())
            .unwrap_or_default();
        let base = &self.base;
        Three { base, theirs, ours }
    }
}

fn default(file: File) -> String {
    format!("usr/etc/{}", file.name())
}

/// Adds them to the merged /etc of a new deployment, which is in no menu yet.
///
/// # Errors
/// [`Reason::AccountTaken`] if files of the image belong to an account that must have another id
/// here. Another one if a file cannot be written.
pub fn add(site: &Site, current: &Path, made: &Path) -> Result<(), Reason> {
    let etc = made.join("etc");
    let new = |path: &str| text(&made.join(path));
    let added = Added::to(File::ALL.map(|file| Texts::of(file, current, &etc, &new)));
    added.conflict()?;
    owns_nothing(current, made, &added).map_err(|error| site.broken(error))??;
    for told in added.ids_told() {
        eprintln!("careen-deploy deploy: {told}");
    }
    for (file, merged) in added.files {
        let path = etc.join(file.name());
        if let Some(text) = merged.text {
            put::instead(&path, &text)
                .map_err(|error| site.broken(format!("{}: {error}", path.display())))?;
        }
    }
    Ok(())
}

/// An account may have another id than in the image if the image has no file of it: the numbers in
/// the image are those of its own /etc.
fn owns_nothing(current: &Path, made: &Path, added: &Added) -> io::Result<Result<(), Reason>> {
    let (moved, kept) = (&added.moved, &added.kept);
    if moved.is_empty() && kept.is_empty() {
        return Ok(Ok(()));
    }
    let new = Owners::of(made)?;
    let owner = match moved.owner(&new) {
        None if !kept.is_empty() => kept.owner(&Owners::of(current)?, &new),
        other => other,
    };
    Ok(owner.map_or(Ok(()), |detail| Err(Reason::AccountTaken { detail })))
}

/// Whether a file of /etc is one of accounts to which the new image only adds. Its merge loses
/// nothing.
pub fn is_merged(path: &Path, current: &Path, image: &Tree) -> bool {
    let Some(file) = File::ALL
        .into_iter()
        .find(|file| path == Path::new(file.name()))
    else {
        return false;
    };
    let default = format!("usr/etc/{}", file.name());
    let both = text(&current.join(&default)).zip(in_image(image, &default));
    both.is_some_and(|(base, theirs)| table::only_adds(file, &base, &theirs))
}

/// The text of a file that is no link.
fn text(path: &Path) -> Option<String> {
    let is_file = path.symlink_metadata().is_ok_and(|facts| facts.is_file());
    is_file
        .then(|| std::fs::read_to_string(path).ok())
        .flatten()
}

fn in_image(image: &Tree, path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    image.read(path, &mut |piece| bytes.extend_from_slice(piece))?;
    String::from_utf8(bytes).ok()
}
