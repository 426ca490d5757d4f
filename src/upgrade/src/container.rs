//! A container image around an OSTree commit: its place, and the digest that pins it.
//!
//! The accepted forms are narrower than those of skopeo, which receives them. What skopeo would
//! expand or guess (a short name, a tag, a relative path) is rejected, so that what the policy
//! allows is what is fetched.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::id::{Malformed, ManifestDigest, malformed};
use crate::names;
use crate::target::ACCEPTED_IMAGE;

/// The numeric user and group that skopeo runs as. It is above the largest that a pod may request
/// (2147483647), so no other process has it.
pub const SKOPEO: u32 = 2_147_549_183;

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerImage {
    /// The transport.
    pub transport: Transport,
    /// Host and name in a registry, or the absolute path of an archive.
    pub place: String,
    /// The digest of its manifest.
    pub manifest: ManifestDigest,
}

/// How skopeo reaches an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// From a registry.
    Registry,
    /// From an OCI layout packed into one file, for sites without a network.
    Archive,
    /// From an OCI layout in a folder.
    Folder,
}

impl Transport {
    /// All transports.
    pub const ALL: [Self; 3] = [Self::Registry, Self::Archive, Self::Folder];

    /// The prefix before the place, as skopeo expects it.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Registry => "docker://",
            Self::Archive => "oci-archive:",
            Self::Folder => "oci:",
        }
    }

    fn is_place(self, text: &str) -> bool {
        match self {
            Self::Registry => is_repository(text),
            Self::Archive | Self::Folder => is_absolute(text),
        }
    }
}

impl ContainerImage {
    /// The transport and place, without the digest.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}{}", self.transport.prefix(), self.place)
    }

    /// The folder that contains an archive.
    #[must_use]
    pub fn folder(&self) -> &str {
        let above = self.place.rsplit_once('/').map(|(above, _)| above);
        above.filter(|above| !above.is_empty()).unwrap_or("/")
    }

    /// Whether the image is at this place or below it.
    #[must_use]
    pub fn is_below(&self, place: &str) -> bool {
        Path::new(&self.place).starts_with(place)
    }
}

impl FromStr for ContainerImage {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let image = Transport::ALL
            .into_iter()
            .find_map(|transport| parse(transport, text));
        image.ok_or_else(|| malformed(names::IMAGE, text, ACCEPTED_IMAGE))
    }
}

fn parse(transport: Transport, text: &str) -> Option<ContainerImage> {
    let (place, digest) = text.strip_prefix(transport.prefix())?.split_once('@')?;
    transport.is_place(place).then_some(ContainerImage {
        transport,
        place: place.to_owned(),
        manifest: digest.parse().ok()?,
    })
}

impl fmt::Display for ContainerImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.address(), self.manifest)
    }
}

/// The longest name that the reference grammar of registries accepts (distribution/reference,
/// `RepositoryNameTotalLengthMax`); also long enough for a path.
const LONGEST: usize = 255;

fn is_repository(text: &str) -> bool {
    let Some((host, name)) = text.split_once('/') else {
        return false;
    };
    text.len() <= LONGEST
        && is_host(host)
        && name.split('/').all(is_component)
        && is_spelled_out(host, name)
}

/// Whether a name means itself. Two spellings mean another name, and the signature policy is looked
/// up under that other name (distribution/reference, `splitDockerDomain`).
fn is_spelled_out(host: &str, name: &str) -> bool {
    match host {
        "index.docker.io" => false,
        "docker.io" => name.contains('/'),
        _ => true,
    }
}

/// A host without a dot or a port would be read as the first part of a name at docker.io.
fn is_host(text: &str) -> bool {
    let (name, port) = text
        .split_once(':')
        .map_or((text, None), |(name, port)| (name, Some(port)));
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|c| is_lower(c) || c == b'-')
    };
    name.split('.').all(label)
        && port.is_none_or(|port| port.parse::<u16>().is_ok() && !port.starts_with('+'))
        && (port.is_some() || name.contains('.') || name == "localhost")
}

/// A part of a name: words separated by `.`, `_`, `__` or dashes.
fn is_component(text: &str) -> bool {
    let ends = |c: Option<u8>| c.is_some_and(is_lower);
    let between =
        |gap: &str| matches!(gap, "" | "." | "_" | "__") || gap.bytes().all(|c| c == b'-');
    ends(text.bytes().next())
        && ends(text.bytes().next_back())
        && text
            .split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            .all(between)
}

/// An absolute path that skopeo does not split, without `..` or other detours.
fn is_absolute(text: &str) -> bool {
    let part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.starts_with('-')
            && part
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c))
    };
    text.len() <= LONGEST
        && text
            .strip_prefix('/')
            .is_some_and(|rest| rest.split('/').all(part))
}

const fn is_lower(c: u8) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Option<String> {
        let digest = "a".repeat(64);
        let image: Option<ContainerImage> = format!("{text}@sha256:{digest}").parse().ok();
        image.map(|image| image.address())
    }

    #[test]
    fn what_names_one_place_is_taken_as_it_is_written() {
        for text in [
            "docker://registry.example.com/os",
            "docker://registry.example.com:5000/team-a/os__base/v1.36",
            "docker://localhost/os",
            "docker://127.0.0.1:5000/os",
            "docker://docker.io/library/os",
            "oci-archive:/var/lib/careen/os-1.36.tar",
            "oci:/srv/images/os",
        ] {
            assert_eq!(place(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_skopeo_would_expand_guess_or_split_is_refused() {
        for text in [
            "docker://os",
            "docker://team/os",
            "docker://docker.io/os",
            "docker://index.docker.io/library/os",
            "docker://registry.example.com/os:1.36",
            "docker://Registry.example.com/os",
            "docker://registry.example.com/Os",
            "docker://registry.example.com/os_-base",
            "docker://registry.example.com/.os",
            "docker://registry.example.com//os",
            "docker://registry.example.com:x/os",
            "docker://user:secret@registry.example.com/os",
            "docker:registry.example.com/os",
            "oci-archive:os.tar",
            "oci-archive:/srv/../etc/os.tar",
            "oci-archive:/srv/os.tar:tag",
            "oci:/",
            "dir:/srv/os",
            "containers-storage:os",
        ] {
            assert_eq!(place(text), None, "{text}");
        }
    }

    #[test]
    fn a_digest_is_needed_and_no_other_algorithm_will_do() {
        for digest in ["", "@", "@sha512:00", "@sha256:00", "@latest"] {
            let text = format!("docker://registry.example.com/os{digest}");
            assert!(text.parse::<ContainerImage>().is_err(), "{text}");
        }
    }

    #[test]
    fn below_a_place_are_whole_parts_of_names_only() {
        let text = format!("docker://r.example.com/os/base@sha256:{}", "a".repeat(64));
        let image: ContainerImage = text.parse().unwrap_or_else(|bad| unreachable!("{bad}"));
        assert!(image.is_below("r.example.com") && image.is_below("r.example.com/os"));
        assert!(!image.is_below("r.example.com/o") && !image.is_below("r.example"));
    }
}
