//! The programs that are first in PATH are not run: on a node those are of /usr/local, which
//! outlives images.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::image::Image;
use crate::run::Answer;
use crate::world::REMOTE;

use super::{path_with, shop};

/// The programs that careen-deploy starts for a container image, and those that its libraries start
/// by name.
const PROGRAMS: [&str; 5] = ["skopeo", "setpriv", "gpg", "gpgconf", "gpgsm"];

/// A folder of programs that leave a note and fail.
fn old_programs(folder: &Path, note: &Path) {
    fs::create_dir_all(folder).unwrap();
    for name in PROGRAMS {
        let path = folder.join(name);
        let script = format!("#!/bin/sh\necho $0 >>{}\nexit 1\n", note.display());
        fs::write(&path, script).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn programs_that_are_first_in_the_path_are_not_run() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    let (folder, note) = (shop.world.path("local"), shop.world.path("ran"));
    old_programs(&folder, &note);
    let mut command = shop.command(&image, &["--signed-by", REMOTE]);
    command.env("PATH", path_with(&folder));
    let answer = Answer::of(&command.output().unwrap());
    assert_eq!(answer.fetched().0, commit);
    let ran = fs::read_to_string(&note).unwrap_or_default();
    assert_eq!(ran, "");
}
