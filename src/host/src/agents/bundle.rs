//! An agent with its programs, in one folder.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use upgrade::{Malformed, Release};

use crate::durable;
use crate::error::{At, Error, Result};

/// The programs of a bundle. They are of one build and depend on each other, so they are replaced
/// together.
pub const PROGRAMS: [&str; 5] = [
    "careen-agent",
    "careen-control",
    "careen-deploy",
    "careen-grub",
    "careen-stage",
];

/// Those of [`PROGRAMS`] that bundles of earlier versions do not have. Such a bundle stays whole: it
/// may be the only agent of a node.
const LATER: [&str; 1] = ["careen-control"];

/// The file with their version.
const VERSION: &str = "VERSION";

/// The file with their digests, as sha256sum(1) writes and checks them.
const SUMS: &str = "SHA256SUMS";

/// How many digits of the digest of [`SUMS`] an id has: enough that two builds of one version get
/// two folders.
const SHORT: usize = 12;

/// The id of a bundle, derived from its content: version, `-`, and the start of the digest of its
/// digest file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

impl AgentId {
    fn new(release: &Release, sums: &str) -> Self {
        let digest = hex::encode(Sha256::digest(sums));
        Self(format!("{release}-{}", &digest[..SHORT]))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for AgentId {
    type Err = Malformed;
    fn from_str(text: &str) -> std::result::Result<Self, Malformed> {
        let hexadecimal = |digest: &str| {
            digest.len() == SHORT && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        match text.rsplit_once('-') {
            Some((release, digest))
                if hexadecimal(digest) && release.parse::<Release>().is_ok() =>
            {
                Ok(Self(text.to_owned()))
            }
            Some(_) | None => Err(Malformed::new(
                "id of an agent",
                text,
                "VERSION-DIGEST, as 0.1.0-0123456789ab",
            )),
        }
    }
}

impl TryFrom<String> for AgentId {
    type Error = Malformed;
    fn try_from(text: String) -> std::result::Result<Self, Malformed> {
        text.parse()
    }
}

impl From<AgentId> for String {
    fn from(id: AgentId) -> Self {
        id.0
    }
}

/// A bundle whose digests are verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Its id.
    pub id: AgentId,
    /// Its version.
    pub release: Release,
    /// Its folder.
    pub folder: PathBuf,
}

impl Bundle {
    /// Opens the bundle in a folder and verifies every digest.
    ///
    /// # Errors
    /// A file is missing or does not match `SHA256SUMS`.
    pub fn open(folder: &Path) -> Result<Self> {
        let version = read(folder, VERSION)?;
        let release: Release = version
            .trim()
            .parse()
            .map_err(|bad: Malformed| Error::damaged(&folder.join(VERSION), bad.to_string()))?;
        let sums = read(folder, SUMS)?;
        for program in programs(&sums) {
            check(folder, program, &sums)?;
        }
        Ok(Self {
            id: AgentId::new(&release, &sums),
            release,
            folder: folder.to_owned(),
        })
    }

    /// The path of one of its programs.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a copy into an empty folder, durably.
    pub(super) fn copy(&self, to: &Path) -> Result<()> {
        let sums = read(&self.folder, SUMS)?;
        let programs = programs(&sums).map(|name| (name, 0o755));
        for (name, mode) in programs.chain([(VERSION, 0o644), (SUMS, 0o644)]) {
            let from = self.folder.join(name);
            let content = fs::read(&from).at("reading", &from)?;
            durable::write_plain(&to.join(name), &content, mode)?;
        }
        durable::sync_folder(to)
    }
}

fn read(folder: &Path, name: &str) -> Result<String> {
    let path = folder.join(name);
    fs::read_to_string(&path).at("reading", &path)
}

/// The programs that a bundle with these digests must have.
fn programs(sums: &str) -> impl Iterator<Item = &'static str> {
    let must = move |program: &&str| !LATER.contains(program) || digest(sums, program).is_some();
    PROGRAMS.into_iter().filter(must)
}

/// The digest that a program must have.
fn digest<'a>(sums: &'a str, program: &str) -> Option<&'a str> {
    sums.lines().find_map(|line| {
        let (digest, name) = line.split_once("  ")?;
        (name == program).then_some(digest)
    })
}

fn check(folder: &Path, program: &str, sums: &str) -> Result<()> {
    let path = folder.join(program);
    let Some(wanted) = digest(sums, program) else {
        let detail = format!("{SUMS} does not have its digest");
        return Err(Error::damaged(&path, detail));
    };
    let content = fs::read(&path).at("reading", &path)?;
    let found = hex::encode(Sha256::digest(&content));
    if found == wanted {
        return Ok(());
    }
    Err(Error::damaged(
        &path,
        format!("its digest is {found}, but {SUMS} says {wanted}"),
    ))
}
