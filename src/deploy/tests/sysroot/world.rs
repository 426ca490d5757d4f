//! A node's disk and its remote: images are committed and signed by the real `ostree`, the first
//! one is installed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use host::Places;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;
use upgrade::{Deployment, id::Digest};

use crate::image::Image;
use crate::keys::keys;
use crate::remote::Server;
use crate::run::{Answer, succeed};

pub const BRANCH: &str = "os/stable";
pub const REMOTE: &str = "images";

/// What has this commit of the branch fetched.
pub fn fetching(commit: &Digest) -> [&str; 7] {
    [
        "fetch",
        "--remote",
        REMOTE,
        "--ref",
        BRANCH,
        "--commit",
        commit.as_str(),
    ]
}

pub struct World {
    pub folder: TempDir,
    pub server: Server,
    /// What the node was installed with.
    pub installed: Digest,
    /// Replaces grub-mkconfig for the runs of this world.
    pub generator: Option<PathBuf>,
    /// What libostree takes for the kernel's boot id: it trusts what a pull has begun in this boot,
    /// and no other.
    pub boot_id: Option<&'static str>,
}

/// A node with image 1 installed and running, and nothing else on the remote.
pub fn world() -> World {
    let world = remote_alone();
    fs::create_dir(world.root()).unwrap();
    world.with_first_image()
}

/// A remote without images, and no node yet.
pub fn remote_alone() -> World {
    assert!(
        nix::unistd::geteuid().is_root(),
        "these tests deploy into folders and need root"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    succeed(
        Command::new("ostree")
            .arg("init")
            .arg(format!("--repo={}", path.join("repo").display()))
            .arg("--mode=archive"),
    );
    let server = Server::start(&path.join("repo"));
    World {
        installed: "0".repeat(64).parse().unwrap(),
        folder,
        server,
        generator: None,
        boot_id: None,
    }
}

impl World {
    /// Installs image 1 in the root folder, which is there and empty.
    pub fn with_first_image(self) -> Self {
        let installed = self.publish(&Image::new(1), Some(&keys().trusted));
        self.install(&installed);
        Self { installed, ..self }
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub fn root(&self) -> PathBuf {
        self.path("root")
    }

    pub fn ostree(&self, arguments: &[&str]) -> String {
        succeed(
            Command::new("ostree")
                .args(arguments)
                .env("OSTREE_SYSROOT_DEBUG", "mutable-deployments"),
        )
    }

    fn sysroot_flag(&self) -> String {
        format!("--sysroot={}", self.root().display())
    }

    pub fn local(&self) -> String {
        format!("--repo={}/ostree/repo", self.root().display())
    }

    fn install(&self, commit: &Digest) {
        let (sysroot, local) = (self.sysroot_flag(), self.local());
        self.ostree(&[
            "admin",
            "init-fs",
            "--modern",
            self.root().to_str().unwrap(),
        ]);
        // As docs/install.md has it.
        let repository = self.root().join("ostree/repo");
        let inside = ["objects", "tmp"].map(|name| repository.join(name));
        for folder in inside.iter().chain([&repository]) {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        self.ostree(&["admin", "os-init", &sysroot, "node"]);
        self.ostree(&[&local, "config", "set", "sysroot.bootloader", "none"]);
        self.add_remote(
            REMOTE,
            &[&format!("--gpg-import={}", keys().ring.display())],
        );
        self.ostree(&[
            &local,
            "pull-local",
            self.path("repo").to_str().unwrap(),
            commit.as_str(),
        ]);
        let arguments = [
            "--karg=root=LABEL=node",
            "--karg=careen.trial=1",
            "--os=node",
        ];
        self.ostree(
            &[
                &["admin", "deploy", &sysroot],
                &arguments[..],
                &[commit.as_str()],
            ]
            .concat(),
        );
    }

    pub fn add_remote(&self, name: &str, flags: &[&str]) {
        let url = format!("http://127.0.0.1:{}", self.server.port);
        self.ostree(&[&[&self.local(), "remote", "add"], flags, &[name, &url]].concat());
    }

    /// Commits an image to the remote's branch.
    pub fn publish(&self, image: &Image, key: Option<&str>) -> Digest {
        self.publish_on(BRANCH, image, key)
    }

    pub fn publish_on(&self, branch: &str, image: &Image, key: Option<&str>) -> Digest {
        let tree = tempfile::tempdir_in(self.folder.path()).unwrap();
        image.write(tree.path());
        let mut command = Command::new("ostree");
        command.arg(format!("--repo={}", self.path("repo").display()));
        command.args(["commit", "--owner-uid=0", "--owner-gid=0", "-b", branch]);
        command.arg(format!("--tree=dir={}", tree.path().display()));
        command.arg(format!("--add-metadata-string=version={}", image.version));
        if let Some(key) = key {
            command
                .arg(format!("--gpg-sign={key}"))
                .arg(format!("--gpg-homedir={}", keys().home.display()));
        }
        succeed(&mut command).trim().parse().unwrap()
    }

    /// A good image, published and fetched.
    pub fn fetched(&self, image: &Image) -> Digest {
        let commit = self.publish(image, Some(&keys().trusted));
        self.fetch(&commit).fetched();
        commit
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_careen-deploy"));
        command.arg("--sysroot").arg(self.root()).args(arguments);
        // Lets the folder be deleted after the test; no other difference.
        command.env("OSTREE_SYSROOT_DEBUG", "mutable-deployments");
        // What glib complains of is a fault of ours.
        command.env("G_DEBUG", "fatal-criticals");
        if let Some(generator) = &self.generator {
            command.env("OSTREE_GRUB2_EXEC", generator);
        }
        if let Some(id) = self.boot_id {
            command.env("OSTREE_BOOTID", id);
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Answer {
        Answer::of(&self.command(arguments).output().unwrap())
    }

    /// Starts a run whose answer is read later.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    pub fn fetch(&self, commit: &Digest) -> Answer {
        self.run(&fetching(commit))
    }

    pub fn verb(&self, verb: &str, commit: &Digest) -> Answer {
        self.run(&[verb, "--commit", commit.as_str()])
    }

    /// Commits of the deployments, the default first, as the real `ostree` tells them.
    pub fn order(&self) -> Vec<String> {
        let status = self.ostree(&["admin", "status", &self.sysroot_flag()]);
        let lines = status
            .lines()
            .filter_map(|line| line.trim().strip_prefix("node "));
        lines
            .map(|line| line.split('.').next().unwrap().to_owned())
            .collect()
    }

    pub fn deployment(&self, commit: &Digest, serial: u32) -> PathBuf {
        self.root()
            .join(format!("ostree/deploy/node/deploy/{commit}.{serial}"))
    }

    /// The folders of a commit's deployments, also of those that no menu names.
    pub fn folders_of(&self, commit: &Digest) -> Vec<PathBuf> {
        let there = fs::read_dir(self.root().join("ostree/deploy/node/deploy")).unwrap();
        let paths = there.map(|entry| entry.unwrap().path());
        let of_the_commit = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            path.is_dir() && name.starts_with(commit.as_str())
        };
        paths.filter(of_the_commit).collect()
    }

    /// The /etc of the installed deployment.
    pub fn etc(&self, name: &str) -> PathBuf {
        self.deployment(&self.installed, 0).join("etc").join(name)
    }

    /// What the agent asks before it arms, on a node that runs the installed deployment.
    pub fn etc_has_changed(&self, commit: &Digest) -> bool {
        let booted = Deployment {
            digest: self.installed.clone(),
            serial: 0,
            stateroot: "node".to_owned(),
            bootcsum: "0".repeat(64),
            pinned: false,
            kept: false,
        };
        host::etc::has_changed(&Places::physical(&self.root()), &booted, commit).unwrap()
    }

    /// The boot menu: entries by name.
    pub fn menu(&self) -> Vec<(String, String)> {
        let folder = self.root().join("boot/loader/entries");
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut menu: Vec<_> = entries
            .map(|path| {
                (
                    path.file_name().unwrap().to_string_lossy().into_owned(),
                    fs::read_to_string(path).unwrap(),
                )
            })
            .collect();
        menu.sort();
        menu
    }

    /// Everything on the disk by name, as far as it should come back after an undo.
    pub fn disk(&self) -> Vec<String> {
        let root = self.root();
        let flags = [
            "-not",
            "-type",
            "d",
            "-not",
            "-path",
            "*/repo/tmp/*",
            "-not",
            "-name",
            ".commitpartial",
        ];
        let listing = succeed(
            Command::new("find")
                .current_dir(&root)
                .arg(".")
                .args(flags)
                .args(["-printf", "%P %s\n"]),
        );
        let mut lines: Vec<_> = listing
            .lines()
            .filter(|line| !swapped(line))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    }

    /// Puts a small file system under a folder of the disk, with what is there, seen by this test's
    /// thread alone.
    #[must_use = "it goes when this is dropped"]
    pub fn small_file_system(&self, below: &str, bytes: u64) -> Mounted {
        self.file_system(below, &format!("size={bytes}"))
    }

    /// The same with tmpfs options of any kind.
    #[must_use = "it goes when this is dropped"]
    pub fn file_system(&self, below: &str, options: &str) -> Mounted {
        let none = None::<&str>;
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
        let place = self.root().join(below);
        let aside = self.path("aside");
        succeed(Command::new("cp").arg("-a").arg(&place).arg(&aside));
        mount(
            Some("tmpfs"),
            &place,
            Some("tmpfs"),
            MsFlags::empty(),
            Some(options),
        )
        .unwrap();
        succeed(
            Command::new("cp")
                .arg("-a")
                .arg(format!("{}/.", aside.display()))
                .arg(&place),
        );
        Mounted(place)
    }

    /// Lays /var/tmp on the small file system under the whole disk, as it is on a node's:
    /// libostree keeps there what comes.
    #[must_use = "it goes when this is dropped"]
    pub fn small_var_tmp(&self, _small: &Mounted) -> Mounted {
        let (none, folder) = (None::<&str>, self.root().join("var-tmp"));
        fs::create_dir(&folder).unwrap();
        let place = PathBuf::from("/var/tmp");
        mount(Some(&folder), &place, none, MsFlags::MS_BIND, none).unwrap();
        Mounted(place)
    }
}

/// A mounted file system, which would keep the folder below it from being removed.
pub struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        umount2(&self.0, MntFlags::MNT_DETACH).unwrap();
    }
}

/// Names that alternate at every swap of the boot menu, and logs of nothing.
fn swapped(line: &str) -> bool {
    [
        "boot/loader",
        "ostree/boot.",
        "ostree/repo/refs/heads/ostree/",
        "ostree/lock",
        "ostree/repo/.lock",
    ]
    .iter()
    .any(|prefix| line.starts_with(prefix))
}

/// Fills a file with other bytes of the same length.
pub fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
    fs::write(path, bytes).unwrap();
}
