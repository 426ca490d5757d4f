//! A node small enough to be seen whole: a folder for its root, the real launcher and the real
//! generator, and a systemd that starts, restarts and loses services as the real one does. It can
//! be made to refuse from the n-th call on.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use host::agents::{Agents, PROGRAMS, Pick};
use host::record::Store;
use installer::health::Health;
use installer::node::Node;
use installer::systemd::{Active, Origin, Refused, Service, Systemd};
use installer::{remove, turns};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use upgrade::launch::LASTS;
use upgrade::{Deployment, Phase, RawRequest, Record, RecordStore, Release, Upgrade, names};

/// How often a service that ends at once is restarted before the test looks at it. systemd never
/// ends.
const RESTARTS: u32 = 10;

const IMAGE_UNIT: &str = "usr/lib/systemd/system/careen-agent.service";
const LATE: &str = "run/systemd/generator.late";

pub struct World {
    root: TempDir,
    /// The image's own agent.
    pub image: RefCell<Option<Release>>,
    /// The versions that end as soon as they are started.
    pub dying: RefCell<BTreeSet<String>>,
    /// What runs, by its version.
    pub running: RefCell<Option<String>>,
    /// For how long.
    pub seconds: Cell<u64>,
    /// How often a service was stopped.
    pub stops: Cell<u32>,
    /// Whether the image's unit starts the launcher, and not the agent itself.
    pub launches: Cell<bool>,
    /// Units of careen-deploy that run.
    pub steps: RefCell<Vec<String>>,
    /// After so many calls systemd is away.
    pub calls_left: Cell<u32>,
    /// What happens while the agent ends.
    pub on_stop: RefCell<Option<OnStop>>,
}

/// Something that happens to a world once.
type OnStop = Box<dyn FnOnce(&World)>;

/// A bundle as a pod brings it.
pub struct Pod {
    folder: TempDir,
}

pub fn pod(version: &str) -> Pod {
    let folder = tempfile::tempdir().unwrap();
    let mut sums = String::new();
    for program in PROGRAMS {
        let content = format!("{program} of {version}");
        sums += &format!("{}  {program}\n", hex::encode(Sha256::digest(&content)));
        fs::write(folder.path().join(program), content).unwrap();
    }
    fs::write(folder.path().join("SHA256SUMS"), sums).unwrap();
    fs::write(folder.path().join("VERSION"), version).unwrap();
    Pod { folder }
}

impl World {
    /// An OSTree system without Careen.
    pub fn bare() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sysroot/ostree/repo")).unwrap();
        fs::create_dir_all(root.path().join("usr/lib/systemd/system")).unwrap();
        Self {
            root,
            image: RefCell::new(None),
            dying: RefCell::default(),
            running: RefCell::new(None),
            seconds: Cell::new(0),
            stops: Cell::new(0),
            launches: Cell::new(true),
            steps: RefCell::default(),
            calls_left: Cell::new(u32::MAX),
            on_stop: RefCell::new(None),
        }
    }

    /// One whose image has this agent, which runs.
    pub fn with_image(version: &str) -> Self {
        let world = Self::bare();
        world.new_image(version);
        world.start(names::AGENT_UNIT).unwrap();
        world
    }

    pub fn path(&self, on_the_node: &str) -> PathBuf {
        self.root.path().join(on_the_node.trim_start_matches('/'))
    }

    pub fn agents(&self) -> Agents {
        Agents::below(self.root.path())
    }

    /// The node runs another image from now on; /etc and /var are what they were.
    pub fn new_image(&self, version: &str) {
        fs::write(self.path(IMAGE_UNIT), "of the image").unwrap();
        *self.image.borrow_mut() = Some(version.parse().unwrap());
    }

    /// A boot: what ran is gone, and what lay in /run; generators run, what is enabled starts.
    pub fn boot(&self) {
        *self.running.borrow_mut() = None;
        let _ = fs::remove_dir_all(self.path(names::RUN_DIR));
        self.reload().unwrap();
        let _ = self.start(names::AGENT_UNIT);
    }

    pub fn dies(&self, version: &str) {
        self.dying.borrow_mut().insert(version.to_owned());
    }

    pub fn runs(&self) -> Option<String> {
        self.running.borrow().clone()
    }

    pub fn pass(&self, seconds: u64) {
        self.seconds.set(self.seconds.get() + seconds);
        let ran = self.agents().launched().and_then(|last| last.ran);
        if let Some(id) = ran.filter(|_| self.seconds.get() >= LASTS && self.runs().is_some()) {
            self.agents().lasted(&id).unwrap();
        }
    }

    /// One turn of a pod that has just come.
    pub fn turn(&self, pod: &Pod) -> Health {
        let node = Node::new(self.root.path(), pod.folder.path()).unwrap();
        turns::outcome(turns::install(&node, self))
    }

    /// Turns, with time between them, until nothing more can change.
    pub fn settle(&self, pod: &Pod) -> Health {
        let mut last = self.turn(pod);
        for _ in 0..10 {
            self.pass(30);
            last = self.turn(pod);
        }
        last
    }

    /// What the pods' folder for this version holds.
    pub fn bundle(&self, version: &str) -> PathBuf {
        let all = fs::read_dir(self.agents().folder()).unwrap();
        let mut all = all.map(|entry| entry.unwrap().path());
        let name = format!("/{version}-");
        all.find(|path| path.display().to_string().contains(&name))
            .unwrap()
    }

    /// A bad block in the agent of this version.
    pub fn spoil(&self, version: &str) {
        fs::write(self.bundle(version).join("careen-agent"), "bad").unwrap();
    }

    /// The agent's process is gone, and systemd does not start it again.
    pub fn is_down(&self) {
        *self.running.borrow_mut() = None;
    }

    /// Lays a file system of this size over a folder, with what is there; the test's thread alone
    /// sees it. Needs root.
    #[must_use = "it goes when this is dropped"]
    pub fn disk(&self, folder: &str, bytes: u64) -> Mounted {
        let none = None::<&str>;
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
        let (place, aside) = (self.path(folder), self.path("aside"));
        fs::create_dir_all(&place).unwrap();
        copy(&place, &aside);
        let size = format!("size={bytes}");
        let (kind, flags) = (Some("tmpfs"), MsFlags::empty());
        mount(kind, &place, kind, flags, Some(size.as_str())).unwrap();
        copy(&aside, &place);
        fs::remove_dir_all(aside).unwrap();
        Mounted(place)
    }

    /// From now on nothing can be written there, or all again.
    pub fn is_read_only(&self, folder: &str, it_is: bool) {
        let none = None::<&str>;
        let flags = match it_is {
            true => MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY,
            false => MsFlags::MS_REMOUNT,
        };
        mount(none, &self.path(folder), none, flags, none).unwrap();
    }

    /// One turn of a pod of the uninstall.
    pub fn uninstall(&self) -> Health {
        let pod = pod("9.9.9");
        let node = Node::new(self.root.path(), pod.folder.path()).unwrap();
        turns::outcome(remove::remove(&node, self))
    }

    /// The record as an agent has left it.
    pub fn upgrade_in(&self, phase: Phase, tries: u32) {
        self.upgrade_as(|up| (up.phase, up.attempt.tries) = (phase, tries));
    }

    /// The same, with more of it.
    pub fn upgrade_as(&self, change: impl FnOnce(&mut Upgrade)) {
        let mut up = upgrade();
        change(&mut up);
        let mut store = Store::new(&self.path("sysroot"));
        let last = store.read().unwrap();
        let record = Record {
            upgrade: Some(up),
            generation: last.generation + 1,
            ..last
        };
        store.store(&record).unwrap();
    }

    fn call(&self) -> Result<(), Refused> {
        match self.calls_left.get() {
            0 => Err(Refused::Call("the bus is away".to_owned())),
            left => {
                self.calls_left.set(left - 1);
                Ok(())
            }
        }
    }

    fn origin(&self) -> Origin {
        if self.path(IMAGE_UNIT).exists() {
            Origin::Image
        } else if self.path(LATE).join(names::AGENT_UNIT).exists() {
            Origin::Elsewhere
        } else {
            Origin::Nobody
        }
    }

    /// The real generator, with the node's folders in place of the machine's.
    fn generate(&self) {
        let late = self.path(LATE);
        let _ = fs::remove_dir_all(&late);
        fs::create_dir_all(&late).unwrap();
        let Ok(script) = fs::read_to_string(self.path(names::POD_GENERATOR)) else {
            return;
        };
        let there = |path: &str| self.path(path).display().to_string();
        let script = script
            .replace("/usr/lib/", &format!("{}/", there("usr/lib")))
            .replace("/etc/careen/units", &there("etc/careen/units"));
        // Whatever systemd's own PATH is, the image's programs are meant.
        let ran = Command::new("/bin/sh")
            .env("PATH", "/nowhere")
            .args(["-c", &script, "generator", "normal", "early"])
            .arg(&late)
            .status();
        assert!(ran.unwrap().success());
    }

    /// One start: the launcher picks, and what it has picked runs or ends at once. Where the image
    /// has none the launcher is the proven one.
    fn launch(&self) -> bool {
        let image = self.image.borrow().clone();
        let ours = self.agents().folder().join("proven/careen-agent");
        if image.is_none() && !ours.exists() {
            return false;
        }
        let picked = match self.launches.get() {
            true => self.agents().pick(image.as_ref()),
            false => Pick::default(),
        };
        let version = match (picked.bundle, image) {
            (Some(bundle), _) => bundle.release.to_string(),
            (None, Some(image)) => image.to_string(),
            (None, None) => return false,
        };
        let lives = !self.dying.borrow().contains(&version);
        *self.running.borrow_mut() = lives.then_some(version);
        lives
    }
}

impl Systemd for World {
    fn service(&self, _: &str) -> Result<Service, Refused> {
        self.call()?;
        let running = self.runs();
        Ok(Service {
            origin: self.origin(),
            active: if running.is_some() {
                Active::Running
            } else {
                Active::Down
            },
            seconds: self.seconds.get(),
            status: "watching the Node".to_owned(),
        })
    }

    fn alive(&self, _: &str) -> Result<Vec<String>, Refused> {
        self.call()?;
        Ok(self.steps.borrow().clone())
    }

    fn reload(&self) -> Result<(), Refused> {
        self.call()?;
        self.generate();
        Ok(())
    }

    fn start(&self, unit: &str) -> Result<(), Refused> {
        self.call()?;
        if self.runs().is_some() {
            return Ok(());
        }
        if self.origin() == Origin::Nobody {
            return Err(Refused::Call(format!("Unit {unit} not found.")));
        }
        self.seconds.set(0);
        for _ in 0..RESTARTS {
            if self.launch() {
                break;
            }
        }
        Ok(())
    }

    fn stop(&self, unit: &str) -> Result<(), Refused> {
        self.call()?;
        self.steps.borrow_mut().retain(|step| step != unit);
        if unit != names::AGENT_UNIT {
            return Ok(());
        }
        self.stops.set(self.stops.get() + 1);
        *self.running.borrow_mut() = None;
        let meanwhile = self.on_stop.borrow_mut().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile(self);
        }
        Ok(())
    }
}

/// A mounted file system, which would keep the world's folder from being removed.
pub struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        umount2(&self.0, MntFlags::MNT_DETACH).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    assert!(copy.arg("-aT").args([from, to]).status().unwrap().success());
}

fn upgrade() -> Upgrade {
    let digest = "a".repeat(64);
    let image = format!("ostree:careen:os@{digest}");
    let request = RawRequest::scheduled(&image);
    let from = Deployment {
        digest: digest.parse().unwrap(),
        serial: 0,
        stateroot: "debian".to_owned(),
        bootcsum: digest,
        pinned: false,
        kept: false,
    };
    Upgrade::new("u1".parse().unwrap(), request, image.parse().unwrap(), from)
}

/// Every file below a folder, with its content: to see that nothing has changed.
pub fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                all.push((path, target.into_os_string().into_encoded_bytes()));
            } else if path.is_dir() {
                open.push(path);
            } else {
                all.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    all.sort();
    all
}
