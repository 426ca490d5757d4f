//! Boot Loader Specification entries, as libostree writes them into /boot/loader/entries.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use upgrade::{Deployment, Malformed, names};

use crate::error::{At, Error, Result};

/// The keys in Careen's group of the origin that say that Careen keeps the deployment.
const MARKS: [&str; 2] = [names::ORIGIN_PINNED, names::ORIGIN_KEPT];

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Sorts the entries: the highest is the default.
    pub version: u64,
    /// The title in the menu.
    pub title: String,
    /// The kernel, as the loader sees /boot.
    pub linux: String,
    /// The initramfs, as the loader sees /boot.
    pub initrd: Option<String>,
    /// The device tree, as the loader sees /boot.
    pub devicetree: Option<String>,
    /// The kernel's arguments.
    pub options: String,
    /// A field that a boot needs exactly but that is not valid UTF-8. It is shown here with gaps,
    /// and must not be written back.
    pub torn: Option<&'static str>,
}

impl Entry {
    /// Parses an entry from the disk. A title may have any bytes: it is only shown, and no decision
    /// depends on it.
    ///
    /// # Errors
    /// What is wrong with the entry.
    pub fn read(bytes: &[u8]) -> std::result::Result<Self, String> {
        let text = String::from_utf8_lossy(bytes);
        let mut entry: Self = text.parse()?;
        if matches!(text, Cow::Owned(_)) {
            entry.torn = entry.with_a_gap();
        }
        Ok(entry)
    }

    fn with_a_gap(&self) -> Option<&'static str> {
        let fields = [
            ("linux", Some(&self.linux)),
            ("initrd", self.initrd.as_ref()),
            ("devicetree", self.devicetree.as_ref()),
            ("options", Some(&self.options)),
        ];
        let gap = |value: &String| value.contains(char::REPLACEMENT_CHARACTER);
        let torn = fields.into_iter().find(|(_, value)| value.is_some_and(gap));
        torn.map(|(name, _)| name)
    }

    /// The `ostree=` argument.
    #[must_use]
    pub fn ostree(&self) -> Option<&str> {
        self.options
            .split_ascii_whitespace()
            .filter_map(|word| word.strip_prefix("ostree="))
            .next_back()
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let value = |key: &str| {
            let words = text
                .lines()
                .filter_map(|line| line.trim_end().split_once([' ', '\t']));
            words
                .filter(|(name, _)| *name == key)
                .map(|(_, value)| value.trim_start().to_owned())
                .next_back()
        };
        let version = value("version").ok_or("it does not have a version")?;
        Ok(Self {
            version: version
                .parse()
                .map_err(|_| format!("version is {version:?}; use a number"))?,
            title: value("title").unwrap_or_else(|| "(untitled)".to_owned()),
            linux: value("linux").ok_or("it does not have linux")?,
            initrd: value("initrd"),
            devicetree: value("devicetree"),
            options: value("options").unwrap_or_default(),
            torn: None,
        })
    }
}

/// The entries of one set (`/boot/loader`, or `/boot/loader.1` while libostree writes it), the
/// default first.
///
/// # Errors
/// The folder, or one of libostree's files in it, cannot be read or is damaged.
pub fn entries(set: &Path) -> Result<Vec<Entry>> {
    let folder = set.join("entries");
    let mut found = Vec::new();
    for file in fs::read_dir(&folder).at("listing", &folder)? {
        let path = file.at("listing", &folder)?.path();
        if is_ours(&path) {
            let bytes = fs::read(&path).at("reading", &path)?;
            found.push(Entry::read(&bytes).map_err(|detail| Error::damaged(&path, detail))?);
        }
    }
    found.sort_by_key(|entry| Reverse(entry.version));
    Ok(found)
}

/// libostree's own rule (`_ostree_sysroot_read_boot_loader_configs`): entries of other programs are
/// ignored.
fn is_ours(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    name.starts_with("ostree-") && name.ends_with(".conf")
}

/// The parsed `ostree=` argument: `/ostree/boot.<version>/<stateroot>/<bootcsum>/<serial>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    text: String,
    /// The stateroot.
    pub stateroot: String,
    /// libostree's checksum of kernel and initramfs.
    pub bootcsum: String,
}

impl FromStr for Link {
    type Err = Malformed;

    fn from_str(text: &str) -> std::result::Result<Self, Malformed> {
        let accepted = "/ostree/boot.<version>/<stateroot>/<bootcsum>/<serial>";
        let bad = || Malformed::new("ostree=", text, accepted);
        let parts: Vec<&str> = text
            .strip_prefix("/ostree/boot.")
            .ok_or_else(bad)?
            .split('/')
            .collect();
        let [version, stateroot, bootcsum, serial] = parts[..] else {
            return Err(bad());
        };
        let number =
            |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit() || c == b'.');
        let name = |text: &str| !text.is_empty() && !text.starts_with('.');
        if !number(version) || !number(serial) || !name(stateroot) || !name(bootcsum) {
            return Err(bad());
        }
        Ok(Self {
            text: text.to_owned(),
            stateroot: stateroot.to_owned(),
            bootcsum: bootcsum.to_owned(),
        })
    }
}

impl Link {
    /// Follows the link to its deployment.
    ///
    /// # Errors
    /// It leads nowhere, or not to a deployment of its stateroot.
    pub fn follow(&self, sysroot: &Path) -> Result<(Deployment, PathBuf)> {
        let link = sysroot.join(self.text.trim_start_matches('/'));
        let target = fs::read_link(&link).at("following", &link)?;
        let bad = || {
            Error::damaged(
                &link,
                format!(
                    "it leads to {}, which is not a deployment",
                    target.display()
                ),
            )
        };
        let name = target
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(bad)?;
        let (digest, serial) = name.split_once('.').ok_or_else(bad)?;
        let mut deployment = Deployment {
            digest: digest.parse().map_err(|_| bad())?,
            serial: serial.parse().map_err(|_| bad())?,
            stateroot: self.stateroot.clone(),
            bootcsum: self.bootcsum.clone(),
            pinned: false,
            kept: false,
        };
        let folder = sysroot
            .join("ostree/deploy")
            .join(&self.stateroot)
            .join("deploy")
            .join(name);
        (deployment.pinned, deployment.kept) = pins(&folder);
        Ok((deployment, folder))
    }
}

/// Whether the origin file beside a deployment says that it is pinned, in libostree's group for
/// such flags. And whether Careen keeps it, by Careen's own group.
fn pins(folder: &Path) -> (bool, bool) {
    let mut name = folder.as_os_str().to_owned();
    name.push(".origin");
    let bytes = fs::read(PathBuf::from(name)).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let pinned = says(&text, "libostree-transient", "pinned");
    let ours = MARKS
        .iter()
        .any(|key| says(&text, names::ORIGIN_GROUP, key));
    (pinned, pinned && ours)
}

/// Whether a key of a group is set to true.
fn says(text: &str, wanted: &str, key: &str) -> bool {
    let mut group = "";
    text.lines().map(str::trim).any(|line| {
        let name = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        group = name.unwrap_or(group);
        let pair = line.split_once('=');
        let pair = pair.map(|(key, value)| (key.trim(), value.trim()));
        group == wanted && matches!(pair, Some((found, "true" | "1")) if found == key)
    })
}
