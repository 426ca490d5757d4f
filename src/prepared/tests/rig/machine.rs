//! A machine that does what a real one would do to the folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use life::{Checks, ClaimId};
use prepared::{Disk, Ended, Hands, Machine, Paths, clean, join, kubernetes};
use upgrade::{BootId, SinceBoot};

use super::cutting::Cutting;
use super::put;

pub struct Fake {
    paths: Paths,
    disk: Rc<Cutting>,
    pub boot: u32,
    pub now: u64,
    pub kubelet: bool,
    pub pods: bool,
    /// How often kubeadm has joined for a claim.
    pub runs: BTreeMap<ClaimId, u32>,
    claim: Option<ClaimId>,
    pub join_works: bool,
    pub reset_works: bool,
    pub mounts: Vec<PathBuf>,
    pub links: Vec<String>,
    /// What careen-host remembers of the check list. A boot forgets it.
    pub checked: Option<(BootId, SinceBoot, Checks)>,
    /// How often the machine was told to reboot.
    pub reboots: u32,
}

impl Fake {
    pub fn new(paths: Paths, disk: Rc<Cutting>) -> Self {
        Self {
            paths,
            disk,
            boot: 1,
            now: 60_000,
            kubelet: false,
            pods: false,
            runs: BTreeMap::new(),
            claim: None,
            join_works: true,
            reset_works: false,
            mounts: Vec::new(),
            links: Vec::new(),
            checked: None,
            reboots: 0,
        }
    }

    /// The power comes back, or the machine reboots. The kubelet starts if it finds a credential.
    pub fn start(&mut self) {
        self.disk.on();
        self.boot += 1;
        for name in fs::read_dir(self.paths.below("/run")).unwrap() {
            fs::remove_dir_all(name.unwrap().path()).unwrap();
        }
        fs::create_dir_all(self.paths.below("/run/careen")).unwrap();
        self.kubelet = kubernetes::is_alive(&self.paths.below("/etc/kubernetes")).unwrap();
        self.pods = self.kubelet;
        (self.mounts, self.links) = (Vec::new(), Vec::new());
        self.checked = None;
    }

    /// What kubeadm and the kubelet leave, one change after the other.
    fn join(&mut self) -> bool {
        for (path, text) in [
            ("/etc/kubernetes/pki/ca.crt", "ca"),
            ("/var/lib/kubelet/config.yaml", "config"),
            ("/etc/kubernetes/kubelet.conf", "credential"),
            ("/var/lib/kubelet/pki/kubelet.pem", "key"),
            ("/etc/cni/net.d/10-cilium.conflist", "cni"),
            ("/var/log/pods/default_web_1/0.log", "log"),
        ] {
            if !self.disk.point() {
                return false;
            }
            put(&self.paths.below(path), text);
            self.kubelet |= path.ends_with("kubelet.conf");
            self.pods = self.kubelet;
        }
        self.links.push("cilium_host".to_owned());
        true
    }
}

impl Machine for Fake {
    fn run(&mut self, script: &Path) -> Ended {
        let text = fs::read_to_string(script).unwrap();
        let failed = Ended {
            well: false,
            tail: "no token".to_owned(),
        };
        if !self.disk.point() || !text.contains("kubeadm join") {
            return failed;
        }
        let claim = self.claim.clone().unwrap();
        *self.runs.entry(claim).or_default() += 1;
        if !self.join() || !self.join_works {
            return failed;
        }
        put(&self.paths.sentinel(), "success");
        Ended {
            well: true,
            tail: String::new(),
        }
    }

    fn end_join(&mut self) {}

    fn stop_kubelet(&mut self) {
        if self.disk.point() {
            self.kubelet = false;
        }
    }

    fn kill_pods(&mut self) {
        if self.disk.point() {
            self.pods = false;
        }
    }

    fn unmount(&mut self, path: &Path) {
        self.mounts.retain(|mount| mount != path);
    }

    fn reset(&mut self) -> Ended {
        if self.reset_works && self.disk.point() {
            let _ = fs::remove_dir_all(self.paths.below("/var/lib/kubelet"));
        }
        Ended {
            well: self.reset_works,
            tail: "runtime is not running".to_owned(),
        }
    }

    fn alive(&self) -> Vec<String> {
        let parts = [(self.kubelet, "kubelet.service"), (self.pods, "pods")];
        let alive = parts.iter().filter(|part| part.0);
        alive.map(|part| part.1.to_owned()).collect()
    }

    fn mounts(&self) -> Vec<PathBuf> {
        self.mounts.clone()
    }

    fn links(&self) -> Vec<String> {
        self.links.clone()
    }
}

impl Hands for Fake {
    fn boot(&self) -> BootId {
        format!("{:x}", self.boot).parse().unwrap()
    }

    fn now(&self) -> SinceBoot {
        SinceBoot(self.now)
    }

    /// The unit runs to its end at once.
    fn start_join(&mut self, claim: &ClaimId) {
        self.claim = Some(claim.clone());
        let (paths, disk) = (self.paths.clone(), self.disk.clone());
        let disk: &dyn Disk = disk.as_ref();
        let _ = join::run_and_note(&paths, disk, self, claim);
    }

    fn joins(&self, _: &ClaimId) -> bool {
        false
    }

    fn start_clean(&mut self, claim: &ClaimId) {
        let (paths, disk) = (self.paths.clone(), self.disk.clone());
        let disk: &dyn Disk = disk.as_ref();
        let left = clean::clean(&paths, disk, self, claim);
        let _ = clean::note(&paths, disk, claim, &left);
    }

    fn cleans(&self, _: &ClaimId) -> Option<u64> {
        None
    }

    fn end_clean(&mut self, _: &ClaimId) {}

    fn reboot(&mut self) {
        if self.disk.point() {
            self.reboots += 1;
            self.start();
        }
    }
}
