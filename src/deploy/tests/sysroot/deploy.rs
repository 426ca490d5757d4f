use std::fs;

use serde_json::Value;
use upgrade::id::Digest;

use crate::image::{Image, noise};
use crate::world::{World, world};

#[test]
fn deploy_puts_the_new_system_after_the_default_old_one() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let made = world.verb("deploy", &commit).deployed();
    assert_eq!(
        (&made.digest, made.serial, made.pinned),
        (&commit, 0, false)
    );
    assert_eq!(world.order(), [world.installed.as_str(), commit.as_str()]);
    let menu = world.menu();
    assert!(
        menu.iter().max().unwrap().1.contains("title Test 1 "),
        "{menu:?}"
    );
}

#[test]
fn a_kept_system_stays_between_the_two() {
    let world = world();
    let second = world.fetched(&Image::new(2));
    world.verb("deploy", &second).deployed();
    world.verb("bless", &second).verdict.unwrap();
    let third = world.fetched(&Image::new(3));
    world.verb("deploy", &third).deployed();
    assert_eq!(
        world.order(),
        [second.as_str(), world.installed.as_str(), third.as_str()]
    );
}

#[test]
fn deploy_copies_running_kernel_arguments_except_trial_ones() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let menu = world.menu();
    let (_, new) = menu
        .iter()
        .find(|(_, text)| text.contains("Test 2"))
        .unwrap();
    let options = new
        .lines()
        .find(|line| line.starts_with("options "))
        .unwrap();
    assert!(options.contains("root=LABEL=node"), "{options}");
    assert!(!options.contains("careen."), "{options}");
    assert_eq!(options.matches("ostree=").count(), 1, "{options}");
}

#[test]
fn the_list_of_critical_files_says_what_they_are_and_what_boots() {
    let world = world();
    let image = ["stage", "agent", "control"]
        .iter()
        .fold(Image::new(2), |image, name| {
            image.with(&format!("usr/libexec/careen/careen-{name}"), &noise(3, 10))
        })
        .with("usr/lib/x86_64-linux-gnu/libseccomp.so.2", &noise(4, 10));
    let commit = world.fetched(&image);
    let made = world.verb("deploy", &commit).deployed();
    let path = world
        .root()
        .join(format!("ostree/careen/manifest-{commit}.json"));
    let manifest: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(manifest["bootcsum"], made.bootcsum.as_str());
    let files = manifest["files"].as_array().unwrap();
    let boot = |path: &str| {
        files
            .iter()
            .find(|file| file["path"] == path)
            .map(|file| file["boot"].clone())
    };
    assert_eq!(boot("usr/lib/systemd/systemd"), Some(true.into()));
    assert_eq!(boot("usr/bin/kubelet"), Some(false.into()));
    assert_eq!(boot("usr/libexec/careen/careen-stage"), Some(true.into()));
    assert_eq!(boot("usr/libexec/careen/careen-agent"), Some(false.into()));
    assert_eq!(
        boot("usr/libexec/careen/careen-control"),
        Some(false.into())
    );
    let library = boot("usr/lib/x86_64-linux-gnu/libseccomp.so.2");
    assert_eq!(library, Some(true.into()), "systemd and runc load it");
}

#[test]
fn of_a_program_that_is_a_link_the_file_behind_it_is_critical() {
    let world = world();
    let image = Image::new(2)
        .with("usr/libexec/kube/all", b"kubelet and more")
        .with_link("usr/bin/kubelet", "../bin/kube")
        .with_link("usr/bin/kube", "/lib/../libexec/kube/all")
        .with_link("usr/bin/runc", "runc");
    let commit = world.fetched(&image);
    world.verb("deploy", &commit).deployed();
    let critical = critical_files(&world, &commit);
    assert!(
        critical.contains(&"usr/libexec/kube/all".to_owned()),
        "{critical:?}"
    );
    assert!(
        !critical.iter().any(|path| path.starts_with("usr/bin/")),
        "{critical:?}"
    );
}

fn critical_files(world: &World, commit: &Digest) -> Vec<String> {
    let list = format!("ostree/careen/manifest-{commit}.json");
    let list: Value = serde_json::from_slice(&fs::read(world.root().join(list)).unwrap()).unwrap();
    let files = list["files"].as_array().unwrap().iter();
    files
        .map(|file| file["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn deploying_twice_deploys_once() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let first = world.verb("deploy", &commit).deployed();
    let before = world.disk();
    assert_eq!(world.verb("deploy", &commit).deployed(), first);
    assert_eq!(world.disk(), before);
}

#[test]
fn deploying_again_replaces_the_first_one() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let again = world
        .run(&["deploy", "--commit", commit.as_str(), "--again"])
        .deployed();
    assert_eq!(again.serial, 1);
    assert_eq!(world.order(), [world.installed.as_str(), commit.as_str()]);
    assert!(!world.deployment(&commit, 0).exists());
    assert!(world.deployment(&commit, 1).exists());
}

#[test]
fn the_boot_checksum_is_the_one_that_names_the_folder_on_boot() {
    let world = world();
    let commit = world.fetched(&Image::new(2).with("usr/share/x", &noise(1, 10)));
    let made = world.verb("deploy", &commit).deployed();
    assert!(
        world
            .root()
            .join(format!("boot/ostree/node-{}", made.bootcsum))
            .is_dir()
    );
}

#[test]
fn the_real_ostree_reads_what_was_written() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    world.ostree(&[
        "admin",
        "status",
        &format!("--sysroot={}", world.root().display()),
    ]);
    world.ostree(&[&world.local(), "fsck", "--quiet"]);
}
