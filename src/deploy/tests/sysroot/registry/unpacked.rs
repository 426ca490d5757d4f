//! What skopeo unpacks of an archive is gone when nobody reads it any more, however that came.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use upgrade::Reason;
use upgrade::id::Digest;

use crate::image::{Image, noise};
use crate::keys::keys;
use crate::run::{Answer, succeed};
use crate::world::REMOTE;

use super::{Shop, shop};

const MIB: u64 = 1 << 20;

impl Shop {
    /// An archive of 4 MB in a file of this name.
    fn archive(&self, name: &str, key: Option<&str>) -> (String, Digest) {
        let image = Image::new(2).with("usr/share/big", &noise(9, 4_000_000));
        let commit = self.world.publish(&image, key);
        let place = self.world.path(name);
        let image = self.push(&commit, &format!("oci-archive:{}", place.display()));
        (image, commit)
    }

    fn signed_archive(&self) -> (String, Digest) {
        self.archive("os.tar", Some(&keys().trusted))
    }

    fn unpacked(&self) -> PathBuf {
        self.world.root().join("var/cache/careen")
    }

    fn nothing_is_unpacked(&self) {
        let left = fs::read_dir(self.unpacked());
        assert!(left.is_err(), "{:?}", left.map(Iterator::collect::<Vec<_>>));
    }

    /// A fetch of the archive in whose middle skopeo is: half of it has come, and the rest comes
    /// when what is returned is gone, or never.
    fn half_way(&self, image: &str) -> (Child, File) {
        let archive = self.world.path("os.tar");
        let bytes = fs::read(&archive).unwrap();
        fs::remove_file(&archive).unwrap();
        succeed(Command::new("mkfifo").arg(&archive));
        let mut command = self.command(image, &["--signed-by", REMOTE]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = command.spawn().unwrap();
        let mut pipe = OpenOptions::new().write(true).open(&archive).unwrap();
        // Ends when skopeo has taken all but what a pipe holds.
        pipe.write_all(&bytes[..bytes.len() / 2]).unwrap();
        fs::remove_file(&archive).unwrap();
        fs::write(&archive, bytes).unwrap();
        let unpacked = fs::read_dir(self.unpacked()).unwrap().count();
        assert_eq!(unpacked, 1, "skopeo unpacks elsewhere");
        (run, pipe)
    }

    /// As a power cut leaves it.
    fn cut_off(&self, image: &str) {
        let (mut run, _pipe) = self.half_way(image);
        run.kill().unwrap();
        run.wait().unwrap();
        assert_eq!(fs::read_dir(self.unpacked()).unwrap().count(), 1);
    }
}

#[test]
fn archive_leaves_nothing_unpacked_if_fetched_planned_or_wrong() {
    let shop = shop();
    let (image, commit) = shop.signed_archive();
    shop.plan(&image).planned().unwrap();
    shop.nothing_is_unpacked();
    let (path, _) = image.split_once('@').unwrap();
    let other = format!("{path}@sha256:{}", "b".repeat(64));
    let reason = shop.fetch(&other).reason();
    assert!(matches!(reason, Reason::NoSuchImage { .. }), "{reason}");
    shop.nothing_is_unpacked();
    assert_eq!(shop.fetch(&image).fetched().0, commit);
    shop.nothing_is_unpacked();
}

#[test]
fn archive_refused_for_its_signature_leaves_nothing_unpacked() {
    let shop = shop();
    let (unsigned, _) = shop.archive("unsigned.tar", None);
    assert_eq!(shop.fetch(&unsigned).reason().code(), "Unsigned");
    shop.nothing_is_unpacked();
    assert_eq!(
        shop.plan(&unsigned).planned().unwrap_err().code(),
        "Unsigned"
    );
    shop.nothing_is_unpacked();
    let (image, _) = shop.signed_archive();
    shop.policy(r#"{ "default": [{ "type": "reject" }] }"#);
    assert_eq!(shop.fetch(&image).reason().code(), "WrongSignature");
    shop.nothing_is_unpacked();
}

#[test]
fn fetch_terminated_while_unpacking_leaves_nothing_unpacked() {
    let shop = shop();
    let (image, commit) = shop.signed_archive();
    let (run, _pipe) = shop.half_way(&image);
    kill(Pid::from_raw(run.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    let answer = Answer::of(&run.wait_with_output().unwrap());
    let reason = answer.reason();
    assert!(matches!(reason, Reason::DeployDied { .. }), "{reason}");
    shop.nothing_is_unpacked();
    assert_eq!(shop.fetch(&image).fetched().0, commit);
}

#[test]
fn next_fetch_undo_or_clean_removes_files_of_a_cut_off_unpack() {
    let shop = shop();
    let (image, commit) = shop.signed_archive();
    for verb in ["undo", "clean"] {
        shop.cut_off(&image);
        shop.world.run(&[verb]).verdict.unwrap();
        shop.nothing_is_unpacked();
    }
    shop.cut_off(&image);
    assert_eq!(shop.fetch(&image).fetched().0, commit);
    shop.nothing_is_unpacked();
}

#[test]
fn archive_larger_than_the_disk_is_refused_before_unpacking() {
    let shop = shop();
    let (image, _) = shop.signed_archive();
    let size = fs::metadata(shop.world.path("os.tar")).unwrap().len();
    let _small = shop.world.small_file_system("", 4 * MIB);
    let reason = shop.fetch(&image).reason();
    let Reason::NoRoom {
        place, need, free, ..
    } = &reason
    else {
        panic!("{reason}");
    };
    // Its layers alone are smaller.
    assert!(place.contains("root") && *need >= size, "{reason}");
    assert!(free < need, "{reason}");
    shop.nothing_is_unpacked();
}

#[test]
fn archive_is_unpacked_in_a_unit_by_skopeos_own_user() {
    let shop = shop();
    let (image, commit) = shop.signed_archive();
    let everybody = fs::Permissions::from_mode(0o644);
    fs::set_permissions(shop.world.path("os.tar"), everybody).unwrap();
    let answer = shop.fetch_in_a_unit(&image, &["--signed-by", REMOTE]);
    assert_eq!(answer.fetched().0, commit);
    shop.nothing_is_unpacked();
}
