//! What pods and their volumes need of the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use upgrade::serving::{FILE_SYSTEM, MODULE};

/// Where the kubelet mounts the volumes of pods.
const VOLUMES: &str = "/var/lib/kubelet/";

/// Folders of modules for volumes and for the network of pods, below `kernel` of the kernel's
/// folder. Modules outside `kernel` count as well: somebody has added them to the image.
const FOLDERS: [&str; 9] = [
    "drivers/block/",
    "drivers/md/",
    "drivers/net/",
    "drivers/nvme/",
    "drivers/scsi/",
    "drivers/target/",
    "drivers/vhost/",
    "fs/",
    "net/",
];

/// How many names the agent keeps: the note is part of the record.
const MOST: usize = 128;

/// The file systems of the pods' volumes, and the loaded modules that no other module needs. Those
/// that another one needs come with it.
pub fn in_use(root: &Path) -> Option<BTreeSet<String>> {
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let kernel = Kernel::of(root)?;
    let volumes = mounts.lines().filter_map(of_a_volume);
    let volumes = BTreeSet::from_iter(volumes.map(|kind| format!("{FILE_SYSTEM}{kind}")));
    let modules = loaded(root).into_iter();
    let modules = modules.filter(|(name, needed)| !needed && kernel.is_for_pods(name));
    let modules = modules.map(|(name, _)| format!("{MODULE}{name}"));
    Some(volumes.into_iter().chain(modules).take(MOST).collect())
}

/// Looks for what is noted in the running kernel.
#[derive(Default)]
pub struct Search {
    missing: BTreeSet<String>,
    found: Option<BTreeSet<String>>,
}

impl Search {
    /// For these names.
    pub fn of(noted: &BTreeSet<String>) -> Self {
        Self {
            missing: noted.clone(),
            found: None,
        }
    }

    /// Those of the names that the kernel at this root has or can load. The image's modules stay as
    /// they are, so they are read once. A pod may load one of its own later.
    pub fn round(&mut self, root: &Path) -> Option<BTreeSet<String>> {
        if self.missing.is_empty() {
            return self.found.clone();
        }
        let mut there = running(root);
        if self.found.is_none() {
            let kernel = Kernel::of(root)?;
            let loadable = self.missing.iter().filter(|name| kernel.can_load(name));
            there.extend(loadable.cloned());
        }
        let (found, missing) = std::mem::take(&mut self.missing)
            .into_iter()
            .partition(|name| there.contains(name));
        self.missing = missing;
        self.found
            .get_or_insert_default()
            .extend::<BTreeSet<_>>(found);
        self.found.clone()
    }
}

/// What runs in the kernel: its file systems and loaded modules.
fn running(root: &Path) -> BTreeSet<String> {
    let kinds = read(root, "proc/filesystems");
    let kinds = kinds
        .lines()
        .filter_map(|line| line.split_whitespace().last());
    let kinds = kinds.map(|kind| format!("{FILE_SYSTEM}{kind}"));
    let modules = loaded(root).into_iter();
    kinds
        .chain(modules.map(|(name, _)| format!("{MODULE}{name}")))
        .collect()
}

/// The type of a mount of a volume, of a line of mountinfo (proc_pid_mountinfo(5)).
fn of_a_volume(line: &str) -> Option<&str> {
    let (mount, kind) = line.split_once(" - ")?;
    let is_volume = mount.split(' ').nth(4)?.starts_with(VOLUMES);
    // `fuse.sshfs` is FUSE with a program.
    let kind = kind.split([' ', '.']).next()?;
    is_volume.then_some(kind)
}

/// The loaded modules, each with whether another one needs it (proc_modules(5)).
fn loaded(root: &Path) -> Vec<(String, bool)> {
    let lines = read(root, "proc/modules");
    let module = |line: &str| {
        let mut words = line.split(' ');
        let (name, needed) = (words.next()?, words.nth(2)?);
        Some((name.to_owned(), needed != "-"))
    };
    lines.lines().filter_map(module).collect()
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap_or_default()
}

/// The modules of the running kernel in the image, as depmod(8) lists them.
struct Kernel {
    /// Where each module is.
    modules: BTreeMap<String, String>,
    aliases: String,
}

impl Kernel {
    /// `None` if a list cannot be read. A kernel whose folder is not there can load nothing.
    fn of(root: &Path) -> Option<Self> {
        let release = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).ok()?;
        let folder = root.join("usr/lib/modules").join(release.trim());
        let lists = ["modules.dep", "modules.builtin"];
        let lists = lists.map(|list| listed(folder.join(list)));
        let [loadable, builtin] = lists;
        let all = loadable? + &builtin?;
        let path = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
        let paths = all.lines().map(path);
        Some(Self {
            modules: paths.map(|path| (name_of(&path), path)).collect(),
            aliases: listed(folder.join("modules.alias"))?,
        })
    }

    fn is_for_pods(&self, name: &str) -> bool {
        let path = self.modules.get(name);
        path.is_some_and(|path| match path.strip_prefix("kernel/") {
            Some(path) => FOLDERS.iter().any(|folder| path.starts_with(folder)),
            None => true,
        })
    }

    fn can_load(&self, noted: &str) -> bool {
        if let Some(module) = noted.strip_prefix(MODULE) {
            return self.modules.contains_key(module);
        }
        // The kernel asks for the module of a type by this alias (Linux, fs/filesystems.c).
        let kind = noted.trim_start_matches(FILE_SYSTEM);
        let alias = format!("alias fs-{kind} ");
        self.aliases.lines().any(|line| line.starts_with(&alias))
    }
}

fn listed(file: PathBuf) -> Option<String> {
    match fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(String::new()),
        Err(_) => None,
    }
}

/// The name of a module in the form of /proc/modules.
fn name_of(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or_default();
    let name = file.split(".ko").next().unwrap_or_default();
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEP: &str = "kernel/fs/nfs/nfsv4.ko.xz: kernel/fs/nfs/nfs.ko.xz\n\
        kernel/fs/nfs/nfs.ko.xz:\nkernel/drivers/block/rbd.ko:\n\
        kernel/drivers/md/dm-thin-pool.ko:\nkernel/sound/snd.ko:\nextra/drbd.ko:\n";

    struct System(tempfile::TempDir);

    impl System {
        /// With these lists of modules of the kernel that runs.
        fn with(modules: &[(&str, &str)]) -> Self {
            let system = Self(tempfile::tempdir().unwrap());
            system.write("proc/sys/kernel/osrelease", "6.12.1\n");
            for (list, text) in modules {
                system.write(&format!("usr/lib/modules/6.12.1/{list}"), text);
            }
            system
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn volumes_and_modules_for_pods_are_noted() {
        let system = System::with(&[("modules.dep", DEP)]);
        system.write(
            "proc/self/mountinfo",
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
             2 1 0:9 / /var/lib/kubelet/pods/p/volumes/x/v rw shared:7 - nfs4 s:/x rw\n\
             3 1 0:8 / /var/lib/kubelet/pods/p/volumes/y/v rw - fuse.s3fs s3 rw\n",
        );
        system.write(
            "proc/modules",
            "nfsv4 9 1 - Live 0x0\nnfs 9 1 nfsv4, Live 0x0\nsnd 9 0 - Live 0x0\n\
             dm_thin_pool 9 0 - Live 0x0\ndrbd 9 0 - Live 0x0\nof_a_pod 9 0 - Live 0x0 (OE)\n",
        );
        let noted = in_use(system.0.path()).unwrap();
        let all = [
            "filesystem/fuse",
            "filesystem/nfs4",
            "module/dm_thin_pool",
            "module/drbd",
            "module/nfsv4",
        ];
        assert_eq!(noted, names(&all));
    }

    #[test]
    fn module_in_use_is_looked_for_in_the_new_kernel() {
        let noted = names(&[
            "filesystem/ceph",
            "filesystem/ext4",
            "filesystem/nfs4",
            "module/dm_thin_pool",
            "module/rbd",
            "module/vxlan",
        ]);
        let has = |modules: &[(&str, &str)]| {
            let system = System::with(modules);
            system.write("proc/filesystems", "nodev\ttmpfs\n\text4\n");
            system.write("proc/modules", "vxlan 9 0 - Live 0x0\n");
            Search::of(&noted).round(system.0.path()).unwrap()
        };
        let bare = ["filesystem/ext4", "module/vxlan"];
        assert_eq!(has(&[]), names(&bare), "a kernel without its folder");
        let lists = [
            ("modules.dep", DEP),
            ("modules.alias", "alias fs-nfs4 nfsv4\nalias fs-nfs nfs\n"),
        ];
        let loadable = ["filesystem/nfs4", "module/dm_thin_pool", "module/rbd"];
        let all = [&bare[..], &loadable].concat();
        assert_eq!(has(&lists), names(&all));
        let builtin = [("modules.builtin", "kernel/drivers/block/rbd.ko\n")];
        assert!(has(&builtin).contains("module/rbd"));
    }

    #[test]
    fn file_system_that_a_pod_brings_later_is_found() {
        let system = System::with(&[("modules.dep", DEP)]);
        system.write("proc/filesystems", "\text4\n");
        let mut search = Search::of(&names(&["filesystem/lustre"]));
        assert_eq!(search.round(system.0.path()), Some(names(&[])));
        system.write("proc/filesystems", "\text4\nnodev\tlustre\n");
        let found = names(&["filesystem/lustre"]);
        assert_eq!(search.round(system.0.path()), Some(found.clone()));
        assert_eq!(search.round(system.0.path()), Some(found));
    }
}
