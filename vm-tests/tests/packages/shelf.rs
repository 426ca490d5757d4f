//! The packages of this source tree, built once per run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A folder with packages.
pub struct Shelf(PathBuf);

impl Shelf {
    /// The packages of this tree, or those in `$CAREEN_PACKAGES` if that is set.
    pub fn ours() -> &'static Self {
        static OURS: OnceLock<Shelf> = OnceLock::new();
        OURS.get_or_init(|| {
            if let Some(built) = std::env::var_os("CAREEN_PACKAGES") {
                return Self(built.into());
            }
            let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
            drop(fs::remove_dir_all(&out));
            Self::built(&mut Command::new(source().join("packaging/build.sh")), &out)
        })
    }

    /// What `build`, a call of `build.sh` without its argument, puts into `out`.
    pub fn built(build: &mut Command, out: &Path) -> Self {
        assert!(build.arg(out).status().unwrap().success());
        Self(out.to_owned())
    }

    /// The node's package for dpkg.
    pub fn deb(&self) -> PathBuf {
        self.find("careen_", ".deb")
    }

    /// The node's package for rpm.
    pub fn rpm(&self) -> PathBuf {
        let mut rpms = names(&self.0).filter(|name| name.ends_with(".rpm"));
        // Behind its name begins the version.
        let ours = |name: &String| {
            let rest = name.strip_prefix("careen-");
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        self.0.join(rpms.find(ours).unwrap())
    }

    /// The package for dpkg of what pushes images.
    pub fn image_deb(&self) -> PathBuf {
        self.find("careen-image_", ".deb")
    }

    /// The same for rpm.
    pub fn image_rpm(&self) -> PathBuf {
        self.find("careen-image-", ".rpm")
    }

    /// The package for dpkg of the plugin for kubectl.
    pub fn plugin_deb(&self) -> PathBuf {
        self.find("kubectl-careen_", ".deb")
    }

    /// The same for rpm.
    pub fn plugin_rpm(&self) -> PathBuf {
        self.find("kubectl-careen-", ".rpm")
    }

    /// All packages for dpkg.
    pub fn debs(&self) -> Vec<PathBuf> {
        let debs = names(&self.0).filter(|name| name.ends_with(".deb"));
        debs.map(|name| self.0.join(name)).collect()
    }

    /// Every package with its content, by name.
    pub fn all(&self) -> Vec<(String, Vec<u8>)> {
        let mut all: Vec<_> = names(&self.0)
            .map(|name| (name.clone(), fs::read(self.0.join(name)).unwrap()))
            .collect();
        all.sort();
        all
    }

    fn find(&self, begin: &str, end: &str) -> PathBuf {
        let name = names(&self.0).find(|name| name.starts_with(begin) && name.ends_with(end));
        self.0.join(name.unwrap())
    }
}

/// The source tree. Asked when it runs: clones share one target folder.
pub fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("..")
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap())
}
