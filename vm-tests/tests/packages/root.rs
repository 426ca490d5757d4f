//! A Debian root to install in: the rig's, with a layer on top that goes when it is dropped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;
use testkit::debian;

/// The root.
pub struct Root {
    work: TempDir,
}

impl Root {
    /// A root as Debian is bootstrapped, with what our package depends on.
    pub fn new() -> Self {
        let work = TempDir::new().unwrap();
        for folder in ["upper", "work", "root"] {
            std::fs::create_dir(work.path().join(folder)).unwrap();
        }
        let [upper, below, at] = ["upper", "work", "root"].map(|name| work.path().join(name));
        let layers = format!(
            "lowerdir={},upperdir={},workdir={}",
            debian().display(),
            upper.display(),
            below.display()
        );
        run(Command::new("mount")
            .args(["-t", "overlay", "overlay", "-o", &layers])
            .arg(&at));
        let root = Self { work };
        run(Command::new("mount")
            .args(["-t", "proc", "proc"])
            .arg(root.path().join("proc")));
        // The rig leaves documentation out.
        std::fs::remove_file(root.path().join("etc/dpkg/dpkg.cfg.d/99mmdebstrap")).unwrap();
        root
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.work.path().join("root")
    }

    /// Runs a command in it and gives what it prints.
    pub fn run(&self, words: &[&str]) -> String {
        run(Command::new("chroot").arg(self.path()).args(words))
    }

    /// Whether systemd would start a unit at boot.
    pub fn enabled(&self, unit: &str) -> bool {
        let mut ask = Command::new("chroot");
        let ask = ask
            .arg(self.path())
            .args(["systemctl", "is-enabled", "--quiet", unit]);
        ask.status().unwrap().success()
    }

    /// All there is: kind, mode, path and target of a link; without what package managers note.
    pub fn all(&self) -> BTreeSet<String> {
        list(&self.path())
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        drop(
            Command::new("umount")
                .args(["-R", "-l"])
                .arg(self.path())
                .status(),
        );
    }
}

/// The bootstrapped Debian. Tests ask for it at once, and it may have to be made.
fn debian() -> &'static Path {
    static DEBIAN: OnceLock<PathBuf> = OnceLock::new();
    DEBIAN.get_or_init(|| debian::root().unwrap())
}

/// All there is below a folder, as [`Root::all`] says it.
pub fn list(folder: &Path) -> BTreeSet<String> {
    let notes = ["./proc", "./var/lib/dpkg", "./var/log", "./var/lib/rpm"];
    let mut find = Command::new("find");
    find.current_dir(folder).arg(".");
    for path in notes {
        find.args(["-path", path, "-prune", "-o"]);
    }
    run(find.args(["-printf", "%y %m %p %l\n"]))
        .lines()
        .map(str::to_owned)
        .collect()
}

/// The same without folders: rpm removes only those that a package owns.
pub fn files(folder: &Path) -> BTreeSet<String> {
    let all = list(folder).into_iter();
    all.filter(|line| !line.starts_with('d')).collect()
}

/// Runs a command to its good end and gives what it prints.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{said}{failed}",
        output.status
    );
    said
}
