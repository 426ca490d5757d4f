//! Users and groups that the node and the image added are both in the new system.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use upgrade::Reason;
use upgrade::id::Digest;

use crate::image::Image;
use crate::keys::keys;
use crate::plan::plan;
use crate::refuse::refused;
use crate::world::{World, world};

const PASSWD: &str = "root:x:0:0::/root:/bin/sh\nold:x:990:990::/:/bin/false\n";
const GROUP: &str = "root:x:0:\nold:x:990:\n";
const SHADOW: &str = "root:*:1::::::\nold:!:1::::::\n";
const WEB: &str = "web:x:998:998::/:/bin/false\n";
const PROBE: &str = "probe:x:999:999::/:/bin/sh\n";

fn image(version: u32, passwd: &str, group: &str, shadow: &str) -> Image {
    Image::new(version)
        .with("usr/etc/passwd", passwd.as_bytes())
        .with("usr/etc/group", group.as_bytes())
        .with("usr/etc/shadow", shadow.as_bytes())
}

/// A node that runs image 2, and its /etc.
fn node() -> (World, PathBuf) {
    let world = world();
    let second = world.fetched(&image(2, PASSWD, GROUP, SHADOW));
    world.verb("deploy", &second).deployed();
    world.verb("bless", &second).verdict.unwrap();
    let etc = world.deployment(&second, 0).join("etc");
    (world, etc)
}

/// As `useradd -r probe` leaves it.
fn adds_a_user(etc: &Path) {
    fs::write(etc.join("passwd"), format!("{PASSWD}{PROBE}")).unwrap();
    fs::write(etc.join("group"), format!("{GROUP}probe:x:999:\n")).unwrap();
    fs::write(etc.join("shadow"), format!("{SHADOW}probe:!:2::::::\n")).unwrap();
    fs::set_permissions(etc.join("shadow"), fs::Permissions::from_mode(0o640)).unwrap();
    chown(etc.join("shadow"), None, Some(42)).unwrap();
}

fn third() -> Image {
    let group = format!("{GROUP}web:x:998:\n").replace("old:x:990:", "old:x:990:web");
    image(
        3,
        &format!("{PASSWD}{WEB}"),
        &group,
        &format!("{SHADOW}web:!:3::::::\n"),
    )
}

fn of_the_new(world: &World, commit: &Digest, name: &str) -> String {
    fs::read_to_string(world.deployment(commit, 0).join("etc").join(name)).unwrap()
}

#[test]
fn accounts_added_on_both_sides_are_in_the_new_system() {
    let (world, etc) = node();
    adds_a_user(&etc);
    let commit = world.fetched(&third());
    world.verb("deploy", &commit).deployed();
    let text = |name: &str| of_the_new(&world, &commit, name);
    assert_eq!(text("passwd"), format!("{PASSWD}{PROBE}{WEB}"));
    let group = "root:x:0:\nold:x:990:web\nprobe:x:999:\nweb:x:998:\n";
    assert_eq!(text("group"), group);
    let shadow = format!("{SHADOW}probe:!:2::::::\nweb:!:3::::::\n");
    assert_eq!(text("shadow"), shadow);
    let etc = world.deployment(&commit, 0).join("etc");
    let facts = fs::metadata(etc.join("shadow")).unwrap();
    assert_eq!((facts.mode() & 0o7777, facts.gid()), (0o640, 42));
    let names = fs::read_dir(etc)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names
        .filter(|name| name.to_str().unwrap().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(
        world.verb("deploy", &commit).deployed().serial,
        0,
        "made once"
    );
}

#[test]
fn node_without_own_accounts_takes_the_images_as_they_are() {
    let (world, _) = node();
    // It gives the id of one that it changes to a new one.
    let passwd = PASSWD.replace("990", "991") + &WEB.replace("998", "990");
    let commit = world.fetched(&image(3, &passwd, GROUP, SHADOW));
    world.verb("deploy", &commit).deployed();
    assert_eq!(of_the_new(&world, &commit, "passwd"), passwd);
    let found = plan(&world, &["--commit", commit.as_str()]).unwrap();
    assert_eq!((found.accounts, found.etc_refusal), (vec![], None));
}

/// As `useradd -r` takes the first free id on the node and where the image is built.
fn with_the_same_id() -> Image {
    let passwd = format!("{PASSWD}{WEB}").replace("998", "999");
    image(3, &passwd, &format!("{GROUP}web:x:999:\n"), SHADOW)
}

#[test]
fn account_with_an_id_of_another_name_gets_a_free_one() {
    let (world, etc) = node();
    adds_a_user(&etc);
    let commit = world.fetched(&with_the_same_id());
    world.verb("deploy", &commit).deployed();
    let text = |name: &str| of_the_new(&world, &commit, name);
    assert_eq!(text("passwd"), format!("{PASSWD}{PROBE}{WEB}"));
    assert_eq!(text("group"), format!("{GROUP}probe:x:999:\nweb:x:998:\n"));
    let found = plan(&world, &["--commit", commit.as_str()]).unwrap();
    let last = found.accounts.last().unwrap();
    assert_eq!(
        last,
        "user web gets the id 998, because probe has 999 on this node"
    );
    assert_eq!(found.etc_refusal, None);
}

#[test]
fn new_user_of_an_unchanged_passwd_gets_the_moved_group() {
    for (ours, here) in [("sshusers:x:999:\n", 998), ("web:x:800:\n", 800)] {
        let (world, etc) = node();
        fs::write(etc.join("group"), format!("{GROUP}{ours}")).unwrap();
        let commit = world.fetched(&with_the_same_id());
        world.verb("deploy", &commit).deployed();
        let text = |name: &str| of_the_new(&world, &commit, name);
        let web = format!("web:x:999:{here}::/:/bin/false\n");
        assert_eq!(text("passwd"), format!("{PASSWD}{web}"));
        assert!(text("group").contains(&format!("web:x:{here}:\n")));
    }
}

/// `adm-probe` is a user of the node in the image's group `old`, which the new image renumbers.
#[test]
fn user_of_the_node_keeps_a_group_that_the_image_renumbers() {
    let (world, etc) = node();
    let own = "adm-probe:x:999:990::/:/bin/sh\n";
    fs::write(etc.join("passwd"), format!("{PASSWD}{own}")).unwrap();
    let passwd = PASSWD.replace("990:990", "990:991");
    let group = GROUP.replace("990", "991") + "web:x:990:\n";
    let commit = world.fetched(&image(3, &passwd, &group, SHADOW));
    let found = plan(&world, &["--commit", commit.as_str()]).unwrap();
    let told = |user: &str| {
        format!(
            "user {user} keeps the group old, which has the id 991 in the new image and 990 on this node"
        )
    };
    assert_eq!(found.accounts, [told("old"), told("adm-probe")]);
    assert_eq!(found.etc_refusal, None);
    world.verb("deploy", &commit).deployed();
    let text = |name: &str| of_the_new(&world, &commit, name);
    assert_eq!(text("group"), group);
    assert_eq!(text("passwd"), passwd + &own.replace("990", "991"));
}

#[test]
fn group_id_of_the_nodes_user_goes_to_no_other_group() {
    let (world, etc) = node();
    let own = "adm-probe:x:999:990::/:/bin/sh\n";
    fs::write(etc.join("passwd"), format!("{PASSWD}{own}")).unwrap();
    let commit = world.fetched(&image(3, PASSWD, "root:x:0:\nweb:x:990:\n", SHADOW));
    let deploy = ["deploy", "--commit", commit.as_str()];
    let reason = refused(&world, &deploy, &["adm-probe", "old", "990", "web"]);
    assert!(matches!(reason, Reason::AccountTaken { .. }), "{reason}");
    let found = plan(&world, &["--commit", commit.as_str()]).unwrap();
    assert_eq!(found.etc_refusal, Some(reason));
}

#[test]
fn account_that_owns_files_of_the_image_is_refused_another_id() {
    let (world, etc) = node();
    adds_a_user(&etc);
    // All files of these images have the owner 0.
    fs::write(etc.join("passwd"), PASSWD.replace("root:", "admin:")).unwrap();
    let passwd = format!("{PASSWD}{WEB}").replace("998", "0");
    let commit = world.fetched(&image(3, &passwd, GROUP, SHADOW));
    let order = world.order();
    let reason = world.verb("deploy", &commit).verdict.unwrap_err();
    assert!(matches!(reason, Reason::AccountTaken { .. }), "{reason}");
    let told = reason.to_string();
    assert!(
        told.contains("user web") && told.contains("/usr/"),
        "{told}"
    );
    assert_eq!(world.order(), order);
    assert!(world.folders_of(&commit).is_empty());
}

#[test]
fn free_id_is_none_of_usr_lib_passwd() {
    let (world, etc) = node();
    adds_a_user(&etc);
    let image = with_the_same_id()
        .with("usr/lib/passwd", b"cockpit:x:998:998::/:\n")
        .with("usr/lib/group", b"cockpit:x:998:\nrender:x:997:\n");
    let commit = world.fetched(&image);
    world.verb("deploy", &commit).deployed();
    let text = |name: &str| of_the_new(&world, &commit, name);
    let web = WEB.replace("998", "996");
    assert_eq!(text("passwd"), format!("{PASSWD}{PROBE}{web}"));
    assert_eq!(text("group"), format!("{GROUP}probe:x:999:\nweb:x:996:\n"));
}

#[test]
fn id_of_usr_lib_that_the_node_has_given_away_is_told() {
    let (world, etc) = node();
    adds_a_user(&etc);
    let image = image(3, PASSWD, GROUP, SHADOW)
        .with("usr/lib/passwd", b"web:x:999:998::/:\n")
        .with("usr/lib/group", b"web:x:998:\n");
    let commit = world.fetched(&image);
    let found = plan(&world, &["--commit", commit.as_str()]).unwrap();
    let told =
        "user web has the id 999 in the new image's /usr/lib/passwd, and probe has it on this node";
    assert_eq!(found.accounts, [told]);
    assert_eq!(found.etc_refusal, None);
    world.verb("deploy", &commit).deployed();
}

#[test]
fn id_of_usr_lib_that_owns_files_is_refused_another_name() {
    let (world, etc) = node();
    // All files of these images have the owner 0.
    fs::write(etc.join("passwd"), PASSWD.replace("root:", "admin:")).unwrap();
    let image = image(3, PASSWD, GROUP, SHADOW).with("usr/lib/passwd", b"web:x:0:0::/:\n");
    let commit = world.fetched(&image);
    let order = world.order();
    let reason = world.verb("deploy", &commit).verdict.unwrap_err();
    assert!(matches!(reason, Reason::AccountTaken { .. }), "{reason}");
    let owns = "/usr/lib/passwd, and admin has it on this node; but /usr/";
    assert!(reason.to_string().contains(owns), "{reason}");
    assert_eq!(world.order(), order);
    assert!(world.folders_of(&commit).is_empty());
}

#[test]
fn same_name_with_another_id_that_owns_files_is_refused() {
    let (world, etc) = node();
    // All files of these images have the owner 0, which is nobody else's here.
    let ours = PASSWD.replace("root:", "admin:") + &WEB.replace("998", "800");
    fs::write(etc.join("passwd"), ours).unwrap();
    let passwd = format!("{PASSWD}{WEB}").replace("998", "0");
    let commit = world.fetched(&image(3, &passwd, GROUP, SHADOW));
    let order = world.order();
    let reason = world.verb("deploy", &commit).verdict.unwrap_err();
    assert!(matches!(reason, Reason::AccountTaken { .. }), "{reason}");
    let owns = "user web keeps the id 800 of this node and has 0 in the new image; but /usr/";
    assert!(reason.to_string().contains(owns), "{reason}");
    assert_eq!(world.order(), order);
    assert!(world.folders_of(&commit).is_empty());
}

#[test]
fn same_name_with_another_id_that_owns_no_file_is_told() {
    let (world, etc) = node();
    fs::write(
        etc.join("passwd"),
        format!("{PASSWD}{}", WEB.replace("998", "800")),
    )
    .unwrap();
    let commit = world.fetched(&image(3, &format!("{PASSWD}{WEB}"), GROUP, SHADOW));
    let found = plan(&world, &["--commit", commit.as_str()]).unwrap();
    let told = "user web keeps the id 800 of this node and has 998 in the new image";
    assert_eq!(found.accounts, [told]);
    assert_eq!(found.etc_refusal, None);
    world.verb("deploy", &commit).deployed();
    assert!(of_the_new(&world, &commit, "passwd").contains("web:x:800:"));
}

#[test]
fn overlapping_subordinate_ids_are_refused_and_planned() {
    let (world, etc) = node();
    fs::write(etc.join("subuid"), "me:100000:65536\n").unwrap();
    let commit = world.fetched(&third().with("usr/etc/subuid", b"kubelet:165535:65536\n"));
    let deploy = ["deploy", "--commit", commit.as_str()];
    let reason = refused(&world, &deploy, &["kubelet", "165535", "me", "/etc/subuid"]);
    assert!(matches!(reason, Reason::AccountTaken { .. }), "{reason}");
    let found = plan(&world, &["--commit", commit.as_str()]).unwrap();
    assert_eq!(found.etc_refusal, Some(reason));
}

#[test]
fn plan_tells_what_is_added_and_no_conflict_of_files() {
    let (world, etc) = node();
    adds_a_user(&etc);
    let told = |image: &Image| {
        let commit = world.publish(image, Some(&keys().trusted));
        plan(&world, &["--commit", commit.as_str()]).unwrap()
    };
    let found = told(&third());
    let added = [
        "user web (998)",
        "member web of group old",
        "group web (998)",
    ];
    assert_eq!(found.accounts, added);
    assert!(found.etc_conflicts.is_empty(), "{:?}", found.etc_conflicts);
    assert_eq!(found.etc_refusal, None);
    let found = told(&image(
        4,
        &PASSWD.replace("/bin/sh", "/bin/zsh"),
        GROUP,
        SHADOW,
    ));
    // The node keeps its line.
    assert_eq!(found.etc_conflicts, ["/etc/passwd"]);
}

#[test]
fn systemd_creates_the_users_of_sysusers_at_the_first_boot() {
    let (world, etc) = node();
    fs::write(etc.join(".updated"), "").unwrap();
    let commit = world.fetched(&third());
    world.verb("deploy", &commit).deployed();
    // systemd-sysusers.service runs if it is missing (ConditionNeedsUpdate=/etc).
    let there = world.deployment(&commit, 0).join("etc/.updated");
    assert!(!there.exists());
}
