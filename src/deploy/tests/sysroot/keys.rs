//! Two signing keys, made once: one that the node trusts and a stranger's.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::run::succeed;

const TRUSTED: &str = "trusted@careen.test";
const STRANGER: &str = "stranger@careen.test";
const RING: &str = "trusted.gpg";

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
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpg");
        if !home.exists() {
            make(&home);
        }
        read(&home)
    })
}

/// Made beside and renamed when it is whole. Kept between runs, since gpg leaves an agent running
/// for each home.
fn make(home: &Path) {
    let new = home.with_extension(std::process::id().to_string());
    fs::create_dir_all(&new).unwrap();
    fs::set_permissions(&new, Permissions::from_mode(0o700)).unwrap();
    for name in [TRUSTED, STRANGER] {
        succeed(gpg(&new).args([
            "--passphrase",
            "",
            "--quick-generate-key",
            name,
            "ed25519",
            "sign",
            "never",
        ]));
    }
    succeed(
        gpg(&new)
            .arg("--output")
            .arg(new.join(RING))
            .args(["--export", TRUSTED]),
    );
    succeed(
        Command::new("gpgconf")
            .arg("--homedir")
            .arg(&new)
            .args(["--kill", "all"]),
    );
    if fs::rename(&new, home).is_err() {
        // Another run was faster.
        fs::remove_dir_all(&new).unwrap();
    }
}

fn read(home: &Path) -> Keys {
    let [trusted, stranger] = [TRUSTED, STRANGER].map(|name| fingerprint(home, name));
    Keys {
        home: home.to_owned(),
        trusted,
        stranger,
        ring: home.join(RING),
    }
}

fn fingerprint(home: &Path, name: &str) -> String {
    let listing = succeed(gpg(home).args(["--with-colons", "--list-keys", name]));
    let line = listing
        .lines()
        .find(|line| line.starts_with("fpr:"))
        .unwrap();
    line.split(':').nth(9).unwrap().to_owned()
}

/// gpg with the keys of that folder.
pub fn gpg(home: &Path) -> Command {
    let mut command = Command::new("gpg");
    command
        .args(["--batch", "--quiet", "--yes", "--homedir"])
        .arg(home);
    command
}
