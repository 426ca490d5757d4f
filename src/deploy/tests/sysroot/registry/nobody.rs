//! As every node runs it: in a unit of systemd, where skopeo gives up its rights.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::image::Image;
use crate::keys::keys;
use crate::run::Answer;
use crate::world::REMOTE;

use super::{Shop, shop, tools};

/// User, group and all groups of nobody, as Debian and Fedora number it.
const NOBODY: &str = "65534 65534 65534";

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

impl Shop {
    /// A skopeo that notes as whom it speaks to a registry. The tools may lie below a folder of root's alone, so it runs them from a
    /// place of the world's own.
    fn skopeo_that_says_who_it_is(&self) -> PathBuf {
        let folder = self.world.path("nobody");
        fs::create_dir_all(folder.join("tools")).unwrap();
        fs::create_dir(self.notes()).unwrap();
        open_to_all(&self.notes(), 0o777);
        self.runs(&format!(
            "who=\"$(id -u) $(id -g) $(id -G)\"\n\
             case \"$*\" in *proxy*) echo \"$who\" >>{notes}/who ;; esac\n\
             libraries=$(echo {tools}/usr/lib/*-linux-gnu)\n\
             [ -d \"$libraries\" ] || exec {tools}/skopeo \"$@\"\n\
             exec $libraries/ld-linux*.so.* --library-path \"$libraries\" {tools}/usr/bin/skopeo \"$@\"",
            notes = self.notes().display(),
            tools = folder.join("tools").display(),
        ));
        open_to_all(self.world.folder.path(), 0o755);
        folder
    }

    fn notes(&self) -> PathBuf {
        self.world.path("notes")
    }

    /// As whom skopeo spoke to the registry, each time.
    fn who(&self) -> Vec<String> {
        let text = fs::read_to_string(self.notes().join("who")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn fetch_in_a_unit(&self, image: &str, flags: &[&str]) -> Answer {
        let folder = self.skopeo_that_says_who_it_is();
        let inner = self.command(image, flags);
        // In a mount namespace, so that what is mounted goes with the command.
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c"]);
        command.arg("mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"");
        command.arg("sh").arg(tools()).arg(folder.join("tools"));
        command.arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("INVOCATION_ID", "0123456789abcdef0123456789abcdef");
        Answer::of(&command.output().unwrap())
    }
}

#[test]
fn in_a_unit_of_systemd_skopeo_fetches_with_the_rights_of_nobody() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    let answer = shop.fetch_in_a_unit(&image, &["--signed-by", REMOTE]);
    assert_eq!(answer.fetched().0, commit);
    let who = shop.who();
    assert!(!who.is_empty());
    assert!(who.iter().all(|who| who == NOBODY), "{who:?}");
}

#[test]
fn and_checks_the_signature_that_the_container_policy_demands() {
    let shop = shop();
    let (image, commit) = shop.offer(&Image::new(2), None);
    shop.demands_a_signature();
    shop.vouch(&image, &keys().trusted, "team/os");
    assert_eq!(shop.fetch_in_a_unit(&image, &[]).fetched().0, commit);
}
