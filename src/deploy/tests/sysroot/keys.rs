//! Two signing keys, made once a run: one that the node trusts and a stranger's.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::run::succeed;

pub struct Keys {
    pub home: PathBuf,
    pub trusted: String,
    pub stranger: String,
    /// The trusted key alone, as a remote's keyring wants it.
    pub ring: PathBuf,
}

pub fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        make(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gpg-{}", std::process::id())))
    })
}

fn make(home: &Path) -> Keys {
    fs::create_dir_all(home).unwrap();
    fs::set_permissions(home, Permissions::from_mode(0o700)).unwrap();
    let trusted = generate(home, "trusted@careen.test");
    let stranger = generate(home, "stranger@careen.test");
    let ring = home.join("trusted.gpg");
    succeed(
        gpg(home)
            .arg("--output")
            .arg(&ring)
            .args(["--export", &trusted]),
    );
    Keys {
        home: home.to_owned(),
        trusted,
        stranger,
        ring,
    }
}

fn generate(home: &Path, name: &str) -> String {
    succeed(gpg(home).args([
        "--passphrase",
        "",
        "--quick-generate-key",
        name,
        "ed25519",
        "sign",
        "never",
    ]));
    let listing = succeed(gpg(home).args(["--with-colons", "--list-keys", name]));
    let line = listing
        .lines()
        .find(|line| line.starts_with("fpr:"))
        .unwrap();
    line.split(':').nth(9).unwrap().to_owned()
}

fn gpg(home: &Path) -> Command {
    let mut command = Command::new("gpg");
    command
        .args(["--batch", "--quiet", "--yes", "--homedir"])
        .arg(home);
    command
}
