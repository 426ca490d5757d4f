//! Settings of this node under which a sound program crashes: limits and sandboxes of systemd, and
//! libraries that the loader puts into it or finds for it ([`libraries`]). A program that gets no
//! memory, no thread or no system call ends by SIGABRT, SIGSEGV or SIGSYS, as one that is broken
//! does.

use std::fs;
use std::path::{Path, PathBuf};

use upgrade::names::{AGENT_UNIT, KUBEADM_UNIT};

use super::libraries;
use super::ownership::{below, is_the_nodes};

/// How the names of such settings begin (systemd.resource-control(5), systemd.exec(5) and
/// systemd.service(5)).
const SETTINGS: [&str; 44] = [
    // Resources.
    "AllowedCPUs",
    "AllowedMemoryNodes",
    "CPU",
    "IO",
    "Limit",
    "ManagedOOM",
    "Memory",
    "NUMA",
    "OOM",
    "Slice",
    "Tasks",
    // Sandboxes.
    "AmbientCapabilities",
    "AppArmorProfile",
    "BindPaths",
    "BindReadOnlyPaths",
    "CapabilityBoundingSet",
    "Device",
    "DynamicUser",
    "ExecPaths",
    "ExtensionImages",
    "ExtensionDirectories",
    "Group",
    "IPAddress",
    "Inaccessible",
    "LockPersonality",
    "Mount",
    "NetworkNamespacePath",
    "NoExecPaths",
    "NoNewPrivileges",
    "Personality",
    "Private",
    "ProcSubset",
    "Protect",
    "ReadOnlyPaths",
    "ReadWritePaths",
    "Restrict",
    "Root",
    "SELinuxContext",
    "SecureBits",
    "Smack",
    "SocketBind",
    "SystemCall",
    "TemporaryFileSystem",
    "User",
];

/// How the manager's defaults for all units begin (systemd-system.conf(5)).
const DEFAULT: &str = "Default";

/// The end of a setting that only counts.
const COUNTS: &str = "Accounting";

/// Values that take a limit or a sandbox away.
const NONE: [&str; 4] = ["infinity", "no", "false", "off"];

/// Files with such settings. An environment file has none.
const WITH_SETTINGS: [&str; 3] = ["conf", "service", "slice"];

/// Variables by which another library or another allocator is in the program (ld.so(8)), or by
/// which a Go program ends a lack of something with SIGABRT (Go, package runtime).
const VARIABLES: [&str; 6] = [
    "LD_PRELOAD=",
    "LD_LIBRARY_PATH=",
    "LD_AUDIT=",
    "GLIBC_TUNABLES=",
    "GODEBUG=",
    "GOTRACEBACK=",
];

/// What applies to each service: systemd's own settings, and the slices around it.
const OF_EACH_SERVICE: [&str; 5] = [
    "/etc/systemd/system.conf",
    "/etc/systemd/system.conf.d",
    "/etc/systemd/system/system.slice.d",
    "/etc/systemd/system/-.slice.d",
    "/etc/systemd/system.control/system.slice.d",
];

/// Where the node's drop-ins of a unit are (systemd.unit(5), "Unit File Load Path").
const UNITS: [&str; 4] = [
    "/etc/systemd/system",
    "/etc/systemd/system.control",
    "/run/systemd/system",
    "/run/systemd/system.control",
];

/// Libraries that the loader puts into each program.
const PRELOADED: &str = "/etc/ld.so.preload";

/// The first file of this node under which a service of these files may crash that is sound.
pub fn by_the_node(root: &Path, files: &[PathBuf]) -> Option<PathBuf> {
    confining(root, files).or_else(|| loaded_by_the_node(root))
}

fn confining(root: &Path, files: &[PathBuf]) -> Option<PathBuf> {
    let each = OF_EACH_SERVICE.iter().map(Path::new);
    let each = each.flat_map(|path| files_of(root, path));
    let mut confining = files.iter().cloned().chain(each).filter(|file| {
        let text = fs::read(below(root, file)).unwrap_or_default();
        is_the_nodes(root, file) && confines(file, &String::from_utf8_lossy(&text))
    });
    confining.next()
}

/// The first file of this node by which a program of the image gets another library than the
/// image's.
pub fn loaded_by_the_node(root: &Path) -> Option<PathBuf> {
    preloaded(root).or_else(|| libraries::found_by_the_node(root))
}

fn preloaded(root: &Path) -> Option<PathBuf> {
    let preloaded = Path::new(PRELOADED);
    is_the_nodes(root, preloaded).then(|| preloaded.to_owned())
}

/// As [`by_the_node`], of the programs that the agent starts. They run in the agent's unit, or
/// before the kubelet in one of their own. Libraries that the loader only finds do not count: a
/// program that looks for the image's first is asked under these too.
pub fn around_the_agent(root: &Path) -> Option<PathBuf> {
    let folders = UNITS.iter().flat_map(|folder| {
        let own = [AGENT_UNIT, KUBEADM_UNIT, "careen-.service", "service"];
        own.map(|unit| Path::new(folder).join(format!("{unit}.d")))
    });
    let files: Vec<_> = folders.flat_map(|path| files_of(root, &path)).collect();
    confining(root, &files).or_else(|| preloaded(root))
}

/// This file, or those in this folder.
fn files_of(root: &Path, path: &Path) -> Vec<PathBuf> {
    let here = below(root, path);
    if !here.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(here).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| path.join(entry.file_name())).collect();
    files.sort();
    files
}

fn confines(file: &Path, text: &str) -> bool {
    let has_settings = file.extension().and_then(|end| end.to_str());
    let has_settings = has_settings.is_some_and(|end| WITH_SETTINGS.contains(&end));
    let lines = text.lines().map(str::trim_start);
    let mut lines = lines.filter(|line| !line.starts_with(['#', ';']));
    lines.any(|line| {
        has_settings && is_a_setting(line) || VARIABLES.iter().any(|name| line.contains(name))
    })
}

fn is_a_setting(line: &str) -> bool {
    let Some((name, value)) = line.split_once('=') else {
        return false;
    };
    let name = name.trim_end();
    let name = name.strip_prefix(DEFAULT).unwrap_or(name);
    let confines = SETTINGS.iter().any(|start| name.starts_with(start));
    confines && !name.ends_with(COUNTS) && !NONE.contains(&value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DROP_IN: &str = "etc/systemd/system/kubelet.service.d/20-site.conf";

    fn with(path: &str, text: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        root
    }

    fn is_confined(path: &str, text: &str) -> bool {
        let file = Path::new("/").join(path);
        let root = with(path, text);
        let found = by_the_node(root.path(), std::slice::from_ref(&file));
        assert!(found.as_ref().is_none_or(|found| *found == file));
        found.is_some()
    }

    #[test]
    fn limit_or_sandbox_in_a_drop_in_of_the_node_is_found() {
        for setting in [
            "MemoryMax=64M",
            " TasksMax = 10",
            "LimitNOFILE=64",
            "LimitAS=1G",
            "CPUQuota=1%",
            "OOMPolicy=kill",
            "SystemCallFilter=~mmap",
            "PrivateTmp=yes",
            "CapabilityBoundingSet=",
            "Environment=A=b LD_PRELOAD=/opt/site/x.so",
        ] {
            assert!(is_confined(DROP_IN, &format!("[Service]\n{setting}\n")));
        }
        for harmless in [
            "MemoryMax=infinity",
            "ProtectSystem=no",
            "# MemoryMax=64M",
            "Environment=HTTPS_PROXY=http://10.0.0.1:3128",
            "Restart=always",
            "MemoryAccounting=yes",
        ] {
            let text = format!("[Service]\n{harmless}\n");
            assert!(!is_confined(DROP_IN, &text), "{harmless}");
        }
    }

    #[test]
    fn limit_that_the_image_sets_is_not_the_nodes() {
        let unit = "usr/lib/systemd/system/kubelet.service";
        assert!(!is_confined(unit, "[Service]\nMemoryMax=1G\n"));
        assert!(!is_confined("etc/default/kubelet", "CPUS=4\nUser=x\n"));
        assert!(is_confined("etc/default/kubelet", "LD_PRELOAD=/opt/x.so\n"));
    }

    #[test]
    fn limit_of_all_units_and_of_the_slice_is_found() {
        for (path, text) in [
            ("etc/systemd/system.conf", "DefaultLimitNOFILE=64"),
            ("etc/systemd/system.conf.d/1.conf", "DefaultTasksMax=9"),
            ("etc/systemd/system/system.slice.d/1.conf", "MemoryMax=1G"),
            ("etc/ld.so.preload", "/opt/site/x.so"),
            ("etc/ld.so.conf.d/00-site.conf", "/opt/site/lib"),
        ] {
            let found = by_the_node(with(path, text).path(), &[]);
            assert_eq!(found, Some(Path::new("/").join(path)));
        }
        let other = with("etc/systemd/system.conf.d/1.conf", "DefaultEnvironment=A=b");
        assert_eq!(by_the_node(other.path(), &[]), None);
    }

    #[test]
    fn limit_around_the_agent_is_found() {
        let path = "etc/systemd/system/careen-agent.service.d/1.conf";
        let root = with(path, "[Service]\nTasksMax=5\n");
        assert!(around_the_agent(root.path()).is_some());
        let other = with(DROP_IN, "[Service]\nTasksMax=5\n");
        assert_eq!(around_the_agent(other.path()), None);
        let libraries = with("etc/ld.so.conf.d/00-site.conf", "/opt/site/lib");
        assert_eq!(around_the_agent(libraries.path()), None);
    }
}
