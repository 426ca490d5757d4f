//! What the kernel and the system have for pods.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use upgrade::serving::{APPARMOR, CERTIFICATES, CGROUP, Limits, RESOLVER, SELINUX};

use super::kernel::Search;
use super::limits::limits;
use super::settings::settings;
use crate::health::network::resolver;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_secs(2);

/// The bundles of certificates that programs in Go read, such as containerd (go, crypto/x509,
/// root_linux.go).
const BUNDLES: [&str; 6] = [
    "etc/ssl/certs/ca-certificates.crt",
    "etc/pki/tls/certs/ca-bundle.crt",
    "etc/ssl/ca-bundle.pem",
    "etc/pki/tls/cacert.pem",
    "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "etc/ssl/cert.pem",
];

/// Looks now and then.
#[derive(Default)]
pub struct SystemWatch {
    looked: Option<Instant>,
    system: BTreeSet<String>,
    settings: Option<BTreeSet<String>>,
    limits: Option<Limits>,
    search: Option<Search>,
    kernel: Option<BTreeSet<String>>,
}

impl SystemWatch {
    /// Looks also for what of the kernel was in use before the drain.
    #[must_use]
    pub fn against(in_use: Option<&BTreeSet<String>>) -> Self {
        Self {
            search: in_use.map(Search::of),
            ..Self::default()
        }
    }

    /// Looks, unless it has just looked: what the kernel and the system have for pods.
    pub async fn round(&mut self) -> BTreeSet<String> {
        let now = Instant::now();
        if self.looked.is_none_or(|at| now - at >= PAUSE) {
            self.system = system().await;
            self.settings = settings().await.or_else(|| self.settings.take());
            self.limits = limits().await.or_else(|| self.limits.take());
            let search = self.search.as_mut();
            self.kernel = search.and_then(|search| search.round(Path::new("/")));
            self.looked = Some(now);
        }
        self.system.clone()
    }

    /// What the last look found of the system's settings, once systemd has answered.
    #[must_use]
    pub fn settings(&self) -> Option<BTreeSet<String>> {
        self.settings.clone()
    }

    /// What a container gets at most, once systemd has answered.
    #[must_use]
    pub fn limits(&self) -> Option<Limits> {
        self.limits.clone()
    }

    /// What the kernel has or can load of what was in use before the drain.
    #[must_use]
    pub fn kernel(&self) -> Option<BTreeSet<String>> {
        self.kernel.clone()
    }
}

/// What this system has.
pub async fn system() -> BTreeSet<String> {
    let root = Path::new("/");
    let own = [
        (RESOLVER, resolver::is_there().await),
        (CERTIFICATES, has_certificates(root)),
    ];
    of_the_kernel(root).into_iter().chain(there(own)).collect()
}

/// The names of those that are there.
fn there<const N: usize>(all: [(&str, bool); N]) -> impl Iterator<Item = String> {
    let there = all.into_iter().filter(|(_, is_there)| *is_there);
    there.map(|(name, _)| name.to_owned())
}

fn has_certificates(root: &Path) -> bool {
    let mut bundles = BUNDLES.iter().map(|path| fs::metadata(root.join(path)));
    bundles.any(|file| file.is_ok_and(|file| file.is_file() && file.len() > 0))
}

/// The kernel's parts that the kubelet and the runtime look for in the same files (containerd,
/// pkg/apparmor; opencontainers/selinux; kubernetes, pkg/kubelet/cm).
fn of_the_kernel(root: &Path) -> BTreeSet<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let apparmor = read("sys/module/apparmor/parameters/enabled").starts_with('Y');
    let selinux = root.join("sys/fs/selinux/enforce").exists();
    let modules = there([(APPARMOR, apparmor), (SELINUX, selinux)]);
    let controllers = read("sys/fs/cgroup/cgroup.controllers");
    let controllers = controllers.split_whitespace();
    let controllers = controllers.map(|name| format!("{CGROUP}{name}"));
    modules.chain(controllers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_bundle_of_certificates_is_none() {
        let root = tempfile::tempdir().unwrap();
        let bundle = root.path().join(BUNDLES[1]);
        fs::create_dir_all(bundle.parent().unwrap()).unwrap();
        assert!(!has_certificates(root.path()));
        fs::write(&bundle, "").unwrap();
        assert!(!has_certificates(root.path()));
        fs::write(&bundle, "-----BEGIN CERTIFICATE-----\n").unwrap();
        assert!(has_certificates(root.path()));
    }

    #[test]
    fn parts_of_the_kernel_that_pods_need_are_noted() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert!(of_the_kernel(root.path()).is_empty());
        write("sys/module/apparmor/parameters/enabled", "Y\n");
        write("sys/fs/selinux/enforce", "1");
        write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        let all = ["apparmor", "cgroup/cpu", "cgroup/memory", "selinux"];
        let all = BTreeSet::from(all.map(str::to_owned));
        assert_eq!(of_the_kernel(root.path()), all);
        write("sys/module/apparmor/parameters/enabled", "N\n");
        assert!(!of_the_kernel(root.path()).contains("apparmor"));
    }
}
