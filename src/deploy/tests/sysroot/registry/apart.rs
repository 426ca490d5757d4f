//! As every node runs it: in a unit of systemd, where skopeo gives up its rights, and nobody reads
//! what it has.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::fchown;
use upgrade::container::SKOPEO;

use crate::image::{Image, noise};
use crate::keys::keys;
use crate::run::Answer;
use crate::world::REMOTE;

use super::attack::{self, Who};
use super::server::{Server, USER};
use super::wire::{Then, Wire};
use super::{Shop, shop, tools};

/// The group of a client's key, as former versions wanted it.
const FORMER: u32 = 65_534;

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

impl Shop {
    /// A skopeo that notes as whom it speaks to a registry. The tools may lie below a folder of
    /// root's alone, so it runs them from a place of the world's own.
    fn skopeo_that_says_who_it_is(&self) -> PathBuf {
        let folder = self.world.path("nobody");
        fs::create_dir_all(folder.join("tools")).unwrap();
        fs::create_dir_all(self.notes()).unwrap();
        open_to_all(&self.notes(), 0o777);
        self.runs(&format!(
            "who=\"$(id -u) $(id -g) $(id -G)\"\n\
             case \"$*\" in *proxy*|*inspect*) echo \"$who\" >>{notes}/who ;; esac\n\
             case \"$*\" in *proxy*) echo $$ >>{notes}/pids ;; esac\n\
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
        Answer::of(&self.in_a_unit(image, flags).output().unwrap())
    }

    fn in_a_unit(&self, image: &str, flags: &[&str]) -> Command {
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
        command
    }
}

#[test]
fn skopeo_in_a_unit_has_a_user_that_no_pod_may_be() {
    const LAST_OF_PODS: u32 = i32::MAX as u32;
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    let answer = shop.fetch_in_a_unit(&image, &["--signed-by", REMOTE]);
    assert_eq!(answer.fetched().0, commit);
    let who = shop.who();
    assert!(!who.is_empty());
    let own = format!("{SKOPEO} {SKOPEO} {SKOPEO} {FORMER}");
    assert!(who.iter().all(|who| *who == own), "{who:?}");
    const { assert!(SKOPEO > LAST_OF_PODS) };
}

#[test]
fn skopeo_in_a_unit_uses_credentials_that_only_root_reads() {
    let shop = super::with(Server::start(Some(USER)));
    shop.credentials(shop.server.port);
    open_to_all(&shop.settings("etc/ostree/auth.json"), 0o600);
    let (image, commit) = shop.offer_signed(&Image::new(2));
    let answer = shop.fetch_in_a_unit(&image, &["--signed-by", REMOTE]);
    assert_eq!(answer.fetched().0, commit);
}

#[test]
fn container_policy_signature_is_checked_in_a_unit() {
    let shop = shop();
    let (image, commit) = shop.offer(&Image::new(2), None);
    shop.demands_a_signature();
    shop.vouch(&image, &keys().trusted, "team/os");
    assert_eq!(shop.fetch_in_a_unit(&image, &[]).fetched().0, commit);
}

/// A skopeo that waits for a registry which has fallen silent, with credentials and the secret of
/// the relay.
fn with_a_waiting_skopeo(look: impl FnOnce(i32)) {
    let shop = super::with(Server::start(Some(USER)));
    shop.credentials(shop.server.port);
    let big = Image::new(2).with("usr/share/big", &noise(9, 1_500_000));
    let (image, _) = shop.offer_signed(&big);
    let wire = Wire::new(shop.server.port, 1_000_000, Then::Silent);
    shop.credentials(wire.port);
    let image = super::broken::by_way_of(&shop, &wire, &image);
    let flags = ["--signed-by", REMOTE, "--bandwidth", "100000000"];
    let mut run = shop.in_a_unit(&image, &flags);
    let mut run = run.stdout(Stdio::null()).spawn().unwrap();
    wire.wait_until_its_end();
    look(shop.last_skopeo());
    run.kill().unwrap();
    run.wait().unwrap();
}

impl Shop {
    fn last_skopeo(&self) -> i32 {
        let pids = fs::read_to_string(self.notes().join("pids")).unwrap();
        pids.lines().last().unwrap().parse().unwrap()
    }
}

#[test]
fn no_other_process_gets_what_skopeo_has() {
    with_a_waiting_skopeo(|skopeo| {
        // There is something to be had: root sees it.
        let secret = fs::read_to_string(format!("/proc/{skopeo}/environ")).unwrap();
        assert!(secret.contains("socks5://careen:"), "{secret}");
        for who in [Who::User(SKOPEO), Who::User(65_534), Who::RootWithoutRights] {
            assert_eq!(attack::on(skopeo, who), Vec::<&str>::new(), "{who:?}");
        }
    });
}

#[test]
fn attacker_gets_everything_of_a_process_not_kept_apart() {
    let mut sleep = Command::new("setpriv");
    let user = SKOPEO.to_string();
    sleep.args([
        "--reuid",
        &user,
        "--regid",
        &user,
        "--clear-groups",
        "sleep",
        "60",
    ]);
    // A pipe of its own, as skopeo makes one for each layer.
    let (reader, _writer) = std::io::pipe().unwrap();
    fchown(&reader, Some(SKOPEO.into()), Some(SKOPEO.into())).unwrap();
    let mut sleep = sleep.stdin(reader).spawn().unwrap();
    let pid = sleep.id().try_into().unwrap();
    crate::fetch::wait_for(|| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim() == "sleep")
    });
    assert_eq!(attack::on(pid, Who::User(SKOPEO)), attack::ALL);
    sleep.kill().unwrap();
    sleep.wait().unwrap();
}
