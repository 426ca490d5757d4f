//! The digests of a deployment's critical files: written when it is deployed, checked before it is entered.
//!
//! Without composefs nothing else would notice a torn or tampered file. What is needed to boot and to fall back is checked in
//! the initramfs, the rest before the kubelet starts.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use upgrade::Digest;

use crate::error::{At, Error, Result};
use crate::{Places, durable, verity};

/// The format that is written and read.
const FORMAT: u32 = 1;

/// What a deployment must consist of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format of this file; 1.
    #[serde(default = "format")]
    pub format: u32,
    /// The commit it was read from.
    pub commit: Digest,
    /// libostree's checksum of kernel and initramfs.
    pub bootcsum: String,
    /// The files.
    pub files: Vec<FileDigest>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// Its path below the deployment, as "usr/bin/kubelet".
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// The SHA-256 of its content, where the kernel does not guard it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Needed to boot and to fall back: checked in the initramfs.
    pub boot: bool,
    /// Its fs-verity digest, when the kernel guards it: then it need not be read, neither now nor to be checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verity: Option<String>,
}

/// Which files to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those needed to boot and to fall back, kernel and initramfs among them.
    Boot,
    /// The others.
    Rest,
}

const fn format() -> u32 {
    FORMAT
}

impl FileDigest {
    /// Takes a file's digest as it is now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(root: &Path, path: &str, boot: bool) -> Result<Self> {
        let full = below(root, path)?;
        let mut file = File::open(&full).at("opening", &full)?;
        let size = file.metadata().at("looking at", &full)?.len();
        let verity = verity::measure(&file);
        let sha256 = match &verity {
            Some(_) => None,
            None => Some(hash([&mut file]).at("reading", &full)?),
        };
        Ok(Self {
            path: path.to_owned(),
            size,
            sha256,
            boot,
            verity,
        })
    }

    fn check(&self, root: &Path) -> std::result::Result<(), String> {
        let full = below(root, &self.path).map_err(|error| error.to_string())?;
        let bad = |detail: String| format!("/{}: {detail}", self.path);
        let mut file = File::open(&full).map_err(|error| bad(error.to_string()))?;
        let length = file
            .metadata()
            .map_err(|error| bad(error.to_string()))?
            .len();
        if length != self.size {
            return Err(bad(format!("{length} bytes instead of {}", self.size)));
        }
        if self.verity.is_some() && verity::measure(&file) == self.verity {
            return Ok(());
        }
        let Some(sha256) = &self.sha256 else {
            return Err(bad(
                "it is not the file that was sealed with fs-verity".to_owned()
            ));
        };
        let found = hash([&mut file]).map_err(|error| bad(error.to_string()))?;
        if found == *sha256 {
            Ok(())
        } else {
            Err(bad("its content has changed".to_owned()))
        }
    }
}

impl Manifest {
    /// Writes it where the stage looks for it.
    ///
    /// # Errors
    /// When it is not on the disk.
    pub fn write(&self, places: &Places) -> Result<()> {
        let path = places.manifest(&self.commit);
        durable::make_private_folder(&places.state())?;
        let text =
            serde_json::to_vec(self).map_err(|error| Error::damaged(&path, error.to_string()))?;
        durable::write(&path, &text, 0o600)
    }

    /// Reads the manifest of a commit.
    ///
    /// # Errors
    /// When there is none, or it is not of the accepted form, or another commit's.
    pub fn read(places: &Places, commit: &Digest) -> Result<Self> {
        let path = places.manifest(commit);
        let bytes = fs::read(&path).at("reading", &path)?;
        let found: Self = serde_json::from_slice(&bytes)
            .map_err(|error| Error::damaged(&path, error.to_string()))?;
        if found.format != FORMAT {
            return Err(Error::damaged(
                &path,
                format!("format is {}; accepted is {FORMAT}", found.format),
            ));
        }
        if found.commit != *commit {
            return Err(Error::damaged(
                &path,
                format!("it is of commit {}", found.commit),
            ));
        }
        Ok(found)
    }

    /// Checks files of the deployment in `root`.
    ///
    /// # Errors
    /// The first file that is not what it was, for a person.
    pub fn check(&self, root: &Path, which: Which) -> std::result::Result<(), String> {
        let wanted = self
            .files
            .iter()
            .filter(|file| file.boot == (which == Which::Boot));
        wanted.into_iter().try_for_each(|file| file.check(root))
    }
}

/// Checks kernel and initramfs against libostree's checksum: the copy that the loader takes, and, where /boot is not in
/// sight, the one in the deployment that it was made from.
///
/// # Errors
/// What does not fit, for a person.
pub fn check_kernel(
    places: &Places,
    root: &Path,
    stateroot: &str,
    bootcsum: &str,
) -> std::result::Result<(), String> {
    let copy = places
        .boot
        .join("ostree")
        .join(format!("{stateroot}-{bootcsum}"));
    let folder = if copy.is_dir() {
        copy
    } else {
        kernel_folder(root).map_err(|error| error.to_string())?
    };
    let found = boot_checksum(&folder).map_err(|error| error.to_string())?;
    if found == bootcsum {
        return Ok(());
    }
    Err(format!(
        "kernel and initramfs in {} have checksum {found} instead of {bootcsum}",
        folder.display()
    ))
}

/// libostree's checksum: SHA-256 over kernel, initramfs and device tree, one after the other (ostree-kernel-layout).
///
/// # Errors
/// When there is no kernel or it cannot be read.
pub fn boot_checksum(folder: &Path) -> Result<String> {
    let mut names = Vec::new();
    for child in fs::read_dir(folder).at("listing", folder)? {
        names.push(
            child
                .at("listing", folder)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    let mut files = Vec::new();
    for prefix in ["vmlinuz", "initramfs", "devicetree"] {
        let found = names
            .iter()
            .find(|name| name.starts_with(prefix) && !name.ends_with(".hmac"));
        match found {
            Some(name) => {
                files.push(File::open(folder.join(name)).at("opening", &folder.join(name))?)
            }
            None if prefix == "vmlinuz" => {
                return Err(Error::damaged(folder, "it holds no kernel"));
            }
            None => {}
        }
    }
    hash(files.iter_mut()).at("reading", folder)
}

/// The folder below usr/lib/modules that holds the kernel.
fn kernel_folder(root: &Path) -> Result<PathBuf> {
    let modules = root.join("usr/lib/modules");
    for child in fs::read_dir(&modules).at("listing", &modules)? {
        let folder = child.at("listing", &modules)?.path();
        if folder.join("vmlinuz").is_file() {
            return Ok(folder);
        }
    }
    Err(Error::damaged(&modules, "it holds no kernel"))
}

/// The SHA-256 of several files' content, one after the other.
fn hash<'a>(files: impl IntoIterator<Item = &'a mut File>) -> std::io::Result<String> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    for file in files {
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            sum.update(&buffer[..read]);
        }
    }
    Ok(crate::hex(&sum.finalize()))
}

/// A manifest is data: its paths may not lead out of the deployment.
fn below(root: &Path, path: &str) -> Result<PathBuf> {
    let relative = Path::new(path);
    if relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        Ok(root.join(relative))
    } else {
        Err(Error::damaged(
            relative,
            "a path in a manifest must lie below the deployment",
        ))
    }
}
