//! The fence: the old kubelet does not come back, whichever deployment boots.
#![allow(clippy::unwrap_used)]

mod rig;

use std::fs;
use std::os::unix::fs::symlink;

use life::{Checks, Fence};
use prepared::{Disk, check, clean, fence};
use rig::{Rig, id, put};

fn close(rig: &mut Rig) {
    let disk = rig.disk.clone();
    let disk: &dyn Disk = disk.as_ref();
    fence::close(&rig.paths, disk, &mut rig.machine, &id('a')).unwrap();
}

fn open(rig: &Rig) -> Vec<String> {
    match fence::look(&rig.paths, &rig.machine) {
        Fence::Whole => Vec::new(),
        Fence::Open(open) => open,
    }
}

#[test]
fn each_thing_that_lets_a_kubelet_start_is_open() {
    for path in [
        "/etc/kubernetes/kubelet.conf",
        "/etc/kubernetes/bootstrap-kubelet.conf",
        "/etc/kubernetes/manifests/etcd.yaml",
        "/var/lib/careen/kubernetes/kubelet.conf",
    ] {
        let mut rig = Rig::new();
        assert_eq!(open(&rig), Vec::<String>::new());
        rig.put(path, "x");
        assert_eq!(open(&rig).len(), 1, "{path}");
        close(&mut rig);
        assert_eq!(open(&rig), Vec::<String>::new(), "{path}");
        assert!(!rig.has(path));
    }
}

#[test]
fn kubelet_and_pods_are_open_while_they_run() {
    let mut rig = Rig::new();
    (rig.machine.kubelet, rig.machine.pods) = (true, true);
    assert_eq!(open(&rig), ["kubelet.service", "pods"]);
    close(&mut rig);
    assert_eq!(open(&rig), Vec::<String>::new());
}

#[test]
fn another_deployment_is_fenced_too() {
    let mut rig = Rig::new();
    let conf = rig.other.join("etc/kubernetes/kubelet.conf");
    put(&conf, "credential");
    assert_eq!(open(&rig).len(), 1);
    close(&mut rig);
    assert!(open(&rig).is_empty() && !conf.exists());
}

#[test]
fn a_folder_that_is_made_again_is_fenced_again() {
    let mut rig = Rig::new();
    for _ in 0..3 {
        rig.put("/etc/kubernetes/kubelet.conf", "credential");
        close(&mut rig);
        assert_eq!(open(&rig), Vec::<String>::new());
    }
}

#[test]
fn keys_that_were_put_aside_are_removed_by_the_cleaning() {
    let mut rig = Rig::new();
    let before = rig.tree();
    rig.put("/etc/kubernetes/kubelet.conf", "credential");
    rig.put("/etc/kubernetes/pki/ca.key", "key");
    close(&mut rig);
    let Checks::Red(found) = check::check(&rig.paths, &rig.machine) else {
        unreachable!("it holds keys")
    };
    assert!(
        found
            .iter()
            .any(|path| path.contains("kubernetes.careen-aaaaaaaa-0")),
        "{found:?}"
    );
    let disk = rig.disk.clone();
    let disk: &dyn Disk = disk.as_ref();
    let left = clean::clean(&rig.paths, disk, &mut rig.machine, &id('a'));
    assert_eq!(
        left,
        ["kubeadm reset: runtime is not running"],
        "it is only noted"
    );
    assert_eq!(rig.tree(), before);
    assert_eq!(check::check(&rig.paths, &rig.machine), Checks::Green);
}

#[test]
fn a_shared_folder_is_there_again_for_its_mount() {
    let mut rig = Rig::new();
    rig.put("/etc/systemd/system/etc-kubernetes.mount", "unit");
    rig.put("/var/lib/careen/kubernetes/kubelet.conf", "credential");
    close(&mut rig);
    let disk = rig.disk.clone();
    let disk: &dyn Disk = disk.as_ref();
    clean::clean(&rig.paths, disk, &mut rig.machine, &id('a'));
    assert!(rig.paths.below("/var/lib/careen/kubernetes").is_dir());
    assert_eq!(check::check(&rig.paths, &rig.machine), Checks::Green);
}

/// A volume that is still mounted may be the data of a user.
#[test]
fn cleaning_never_goes_through_a_mount() {
    let mut rig = Rig::new();
    let volume = "/var/lib/kubelet/pods/1/volumes/data";
    rig.put(&format!("{volume}/precious"), "data");
    rig.put("/var/log/pods/x", "log");
    rig.machine.mounts = vec![rig.paths.below(volume)];
    let disk = rig.disk.clone();
    let disk: &dyn Disk = disk.as_ref();
    let left = clean::clean(&rig.paths, disk, &mut rig.machine, &id('a'));
    assert!(
        left.iter().any(|text| text.contains("is mounted")),
        "{left:?}"
    );
    assert_eq!(rig.read(&format!("{volume}/precious")), "data");
    assert!(!rig.has("/var/log/pods"), "the other lines are done");
    let Checks::Red(found) = check::check(&rig.paths, &rig.machine) else {
        unreachable!("a volume is mounted")
    };
    assert!(
        found.iter().any(|text| text.starts_with("mount ")),
        "{found:?}"
    );
}

#[test]
fn a_link_is_removed_and_not_followed() {
    let mut rig = Rig::new();
    rig.put("/var/precious/file", "data");
    fs::create_dir_all(rig.paths.below("/var/lib/kubelet")).unwrap();
    symlink("../../precious", rig.paths.below("/var/lib/kubelet/link")).unwrap();
    let disk = rig.disk.clone();
    let disk: &dyn Disk = disk.as_ref();
    clean::clean(&rig.paths, disk, &mut rig.machine, &id('a'));
    assert!(!rig.has("/var/lib/kubelet"));
    assert_eq!(rig.read("/var/precious/file"), "data");
}
