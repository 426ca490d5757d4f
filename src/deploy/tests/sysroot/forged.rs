//! A commit that no `ostree commit` makes: with a valid signature, and a name in its tree that
//! leads out of it.

use std::fs;

use ostree_ext::glib::{Variant, VariantTy};
use ostree_ext::ostree::{ObjectType, Repo};
use ostree_ext::{gio, glib::prelude::*};
use sha2::{Digest as _, Sha256};
use upgrade::id::Digest;

use crate::keys::keys;
use crate::world::World;

/// Where the commit keeps the checksum of its tree (libostree, `OSTREE_COMMIT_GVARIANT_FORMAT`).
const TREE: usize = 6;

/// Makes a signed commit like this one on the remote, whose root folder holds one of its files
/// under this name too.
pub fn with_name(world: &World, commit: &Digest, name: &str) -> Digest {
    let repo = Repo::new(&gio::File::for_path(world.path("repo")));
    repo.open(None::<&gio::Cancellable>).unwrap();
    let old = repo
        .load_variant(ObjectType::Commit, commit.as_str())
        .unwrap();
    let root = hex(old.child_value(TREE).fixed_array().unwrap());
    let root = repo.load_variant(ObjectType::DirTree, &root).unwrap();
    let tree = write(world, "dirtree", &with_entry(&root, name));
    let forged = write(world, "commit", &with_child(&old, TREE, tree.to_variant()));
    sign(world, &forged);
    hex(&forged).parse().unwrap()
}

/// A folder is its files, each a name and a checksum, and its folders.
fn with_entry(root: &Variant, name: &str) -> Variant {
    let (files, folders) = (root.child_value(0), root.child_value(1));
    let content = files.child_value(0).child_value(1);
    let entry = Variant::tuple_from_iter([name.to_variant(), content]);
    let all = std::iter::once(entry).chain(files.iter());
    let kind = VariantTy::new("(say)").unwrap();
    Variant::tuple_from_iter([Variant::array_from_iter_with_type(kind, all), folders])
}

fn with_child(tuple: &Variant, place: usize, child: Variant) -> Variant {
    let mut children: Vec<_> = tuple.iter().collect();
    children[place] = child;
    Variant::tuple_from_iter(children)
}

/// An object is called by the checksum of its bytes.
fn write(world: &World, kind: &str, object: &Variant) -> Vec<u8> {
    let checksum = Sha256::digest(object.data()).to_vec();
    let name = hex(&checksum);
    let (first, rest) = name.split_at(2);
    let folder = world.path("repo/objects").join(first);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{rest}.{kind}")), object.data()).unwrap();
    checksum
}

fn sign(world: &World, commit: &[u8]) {
    let repo = format!("--repo={}", world.path("repo").display());
    let home = format!("--gpg-homedir={}", keys().home.display());
    world.ostree(&["gpg-sign", &repo, &home, &hex(commit), &keys().trusted]);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
