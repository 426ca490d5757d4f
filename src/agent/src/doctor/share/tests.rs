//! On real folders and a real bind mount in a mount namespace of the test's own. systemd and the
//! kubelet are a small world that fails where it is told to.

use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use host::Places;
use host::kubernetes::{self, Kept};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;
use upgrade::Deployment;

use super::{Services, Share, Shared, units};

const NONE: Option<&str> = None;

/// A node whose deployment's /etc is bind-mounted to /etc, as libostree does it.
struct World {
    folder: TempDir,
    booted: Deployment,
}

fn deployment() -> Deployment {
    Deployment {
        digest: "a".repeat(64).parse().unwrap(),
        serial: 0,
        stateroot: "os".to_owned(),
        bootcsum: "b".repeat(64),
        pinned: false,
        kept: false,
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn bind(from: &Path, to: &Path) {
    mount(Some(from), to, NONE, MsFlags::MS_BIND, NONE).unwrap();
}

impl World {
    fn new() -> Self {
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).unwrap();
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
            booted: deployment(),
        };
        let own = world.own();
        write(&own.join("manifests/kube-apiserver.yaml"), "kind: Pod\n");
        write(&own.join("pki/etcd/ca.key"), "secret\n");
        let key = own.join("pki/etcd/ca.key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("kubelet.conf", own.join("link")).unwrap();
        let etc = world.root().join("etc");
        fs::create_dir_all(&etc).unwrap();
        fs::create_dir_all(world.root().join("var/lib")).unwrap();
        bind(own.parent().unwrap(), &etc);
        world
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn places(&self) -> Places {
        Places::running(self.root())
    }

    fn own(&self) -> PathBuf {
        kubernetes::own(&self.places(), &self.booted)
    }

    fn kept(&self) -> Kept {
        kubernetes::kept(&self.places(), &self.booted).unwrap()
    }

    fn share(&self, fails: &'static str) -> (Result<Shared>, Share<Fake>) {
        let share = Share {
            places: self.places(),
            booted: self.booted.clone(),
            proc: self.root().join("proc"),
            services: Fake::new(self.root(), fails),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let shared = runtime.unwrap().block_on(share.share());
        (shared, share)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let etc = self.root().join("etc");
        let _ = umount2(&etc.join("kubernetes"), MntFlags::MNT_DETACH);
        umount2(&etc, MntFlags::MNT_DETACH).unwrap();
    }
}

/// systemd and a kubelet. The call with the name that it is given fails, once.
struct Fake {
    root: PathBuf,
    fails: Cell<&'static str>,
    runs: Cell<bool>,
    calls: RefCell<Vec<&'static str>>,
}

impl Fake {
    fn new(root: &Path, fails: &'static str) -> Self {
        Self {
            root: root.to_owned(),
            fails: Cell::new(fails),
            runs: Cell::new(true),
            calls: RefCell::default(),
        }
    }

    fn called(&self, name: &'static str) -> Result<()> {
        self.calls.borrow_mut().push(name);
        if self.fails.get() == name {
            self.fails.set("");
            bail!("{name} was told to fail");
        }
        Ok(())
    }
}

impl Services for Fake {
    async fn stop_kubelet(&self) -> Result<bool> {
        self.called("stop")?;
        Ok(self.runs.replace(false))
    }

    async fn start_kubelet(&self) -> Result<()> {
        // A kubelet that is not healthy runs nevertheless.
        self.runs.set(true);
        self.called("start")
    }

    async fn mount(&self) -> Result<()> {
        self.called("mount")?;
        assert!(units::are_there(&self.root), "systemd has no such unit");
        bind(
            &kubernetes::shared(&self.root),
            &kubernetes::folder(&self.root),
        );
        Ok(())
    }

    async fn unmount(&self) -> Result<()> {
        self.called("unmount")?;
        umount2(&kubernetes::folder(&self.root), MntFlags::empty())?;
        Ok(())
    }

    async fn reload(&self) -> Result<()> {
        self.called("reload")
    }
}

#[test]
fn fix_moves_everything_and_empties_the_own_folder() {
    let world = World::new();
    let (shared, share) = world.share("");
    assert_eq!(shared.unwrap(), Shared::Yes);
    assert_eq!(world.kept(), Kept::Shared { below: Vec::new() });
    assert!(share.services.runs.get(), "the kubelet runs again");
    let folder = kubernetes::folder(world.root());
    let key = fs::metadata(folder.join("pki/etcd/ca.key")).unwrap();
    assert_eq!(key.mode() & 0o777, 0o600);
    assert_eq!(
        fs::read_link(folder.join("link")).unwrap(),
        Path::new("kubelet.conf")
    );
    assert_eq!(fs::read_dir(world.own()).unwrap().count(), 0);
    let (again, share) = world.share("");
    assert_eq!(again.unwrap(), Shared::Yes);
    assert!(
        share.services.calls.borrow().is_empty(),
        "nothing is left to do"
    );
}

#[test]
fn fix_that_fails_anywhere_leaves_everything_as_before() {
    for fails in ["stop", "reload", "mount", "start"] {
        let world = World::new();
        let (failed, share) = world.share(fails);
        let told = format!("{:#}", failed.unwrap_err());
        assert!(told.contains("everything is as before"), "{told}");
        assert!(told.contains(fails), "{told}");
        assert_eq!(world.kept(), Kept::Own, "{fails}");
        assert!(!units::is_one_there(world.root()), "{fails}");
        assert!(!kubernetes::shared(world.root()).exists(), "{fails}");
        assert!(share.services.runs.get(), "{fails}");
        assert!(world.own().join("pki/etcd/ca.key").exists(), "{fails}");
        let (then, _) = world.share("");
        assert_eq!(then.unwrap(), Shared::Yes, "{fails}");
    }
}

#[test]
fn fix_leaves_a_folder_that_containers_still_use() {
    let world = World::new();
    let from = format!(
        "/ostree/deploy/os/deploy/{}.0/etc/kubernetes/pki",
        "a".repeat(64)
    );
    let etcd = world.root().join("proc/71");
    write(
        &etcd.join("mountinfo"),
        &format!("9 8 8:4 {from} /pki rw - ext4 x rw\n"),
    );
    write(&etcd.join("comm"), "etcd\n");
    let (shared, _) = world.share("");
    let Shared::InUse(users) = shared.unwrap() else {
        panic!("etcd uses the folder");
    };
    assert_eq!(users.first().unwrap().name, "etcd");
    assert!(world.own().join("pki/etcd/ca.key").exists());
    fs::remove_dir_all(etcd).unwrap();
    assert_eq!(world.share("").0.unwrap(), Shared::Yes);
    assert_eq!(fs::read_dir(world.own()).unwrap().count(), 0);
}

#[test]
fn fix_refuses_a_copy_that_may_have_been_used() {
    let world = World::new();
    write(
        &kubernetes::shared(world.root()).join("admin.conf"),
        "newer",
    );
    units::write(world.root()).unwrap();
    let (refused, share) = world.share("");
    let told = format!("{:#}", refused.unwrap_err());
    assert!(told.contains("exists and is not mounted"), "{told}");
    assert!(share.services.calls.borrow().is_empty());
    units::remove(world.root()).unwrap();
    let (then, _) = world.share("");
    assert_eq!(then.unwrap(), Shared::Yes, "no unit has ever mounted it");
}

#[test]
fn fix_never_removes_the_only_copy() {
    let world = World::new();
    assert_eq!(world.share("").0.unwrap(), Shared::Yes);
    // A person has removed the units and unmounted the folder.
    units::remove(world.root()).unwrap();
    umount2(&kubernetes::folder(world.root()), MntFlags::empty()).unwrap();
    let (refused, share) = world.share("");
    let told = format!("{:#}", refused.unwrap_err());
    assert!(told.contains("exists and is not mounted"), "{told}");
    assert!(share.services.calls.borrow().is_empty());
    let shared = kubernetes::shared(world.root());
    assert!(shared.join("pki/etcd/ca.key").exists());
}

#[test]
fn fix_does_nothing_on_a_worker_or_a_foreign_mount() {
    let world = World::new();
    let manifest = world.own().join("manifests/kube-apiserver.yaml");
    let text = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    assert_eq!(world.share("").0.unwrap(), Shared::Worker);
    let elsewhere = tempfile::tempdir().unwrap();
    write(&elsewhere.path().join("manifests/kube-apiserver.yaml"), "x");
    fs::write(&manifest, text).unwrap();
    bind(elsewhere.path(), &kubernetes::folder(world.root()));
    assert_eq!(world.kept(), Kept::Foreign);
    let (refused, share) = world.share("");
    assert!(refused.unwrap_err().to_string().contains("another place"));
    assert!(share.services.calls.borrow().is_empty());
}
