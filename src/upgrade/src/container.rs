//! A container image around an OSTree commit: its place, and the digest that pins it.
//!
//! The accepted forms are narrower than those of skopeo, which receives them. What skopeo would
//! expand or guess (a short name, a tag, a relative path) is rejected, so that what the policy
//! allows is what is fetched.

mod foreign;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::id::{self, ManifestDigest};
use crate::names;
use crate::typo::{Malformed, Wrong, length, letters};

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

    fn check_place(self, text: &str) -> Result<(), Wrong> {
        match self {
            Self::Registry => check_repository(text),
            Self::Archive | Self::Folder => check_absolute(text),
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
        parse(text).map_err(|wrong| wrong.in_field(names::IMAGE, text, ACCEPTED))
    }
}

/// The accepted forms.
const ACCEPTED: &str = "docker://<host>/<name>@sha256:<digest>, oci-archive:<path>@sha256:<digest> or oci:<path>@sha256:<digest>";

/// Parses `<transport><place>@sha256:<digest>`.
pub(crate) fn parse(text: &str) -> Result<ContainerImage, Wrong> {
    if let Some(wrong) = foreign::instead(text) {
        return Err(wrong);
    }
    let begins = |transport: &Transport| text.starts_with(transport.prefix());
    let Some(transport) = Transport::ALL.into_iter().find(begins) else {
        return Err(no_transport(text));
    };
    let begin = transport.prefix().len();
    let rest = &text[begin..];
    let (place, digest) = rest.split_once('@').unwrap_or((rest, ""));
    let checked = transport.check_place(place);
    checked.map_err(|wrong| wrong.moved(begin))?;
    if digest.is_empty() {
        return Err(Wrong::at(text.len(), "it has no @sha256:<digest>"));
    }
    let manifest = id::manifest(digest);
    Ok(ContainerImage {
        transport,
        place: place.to_owned(),
        manifest: manifest.map_err(|wrong| wrong.moved(begin + place.len() + 1))?,
    })
}

/// What the beginning of the value resembles.
fn no_transport(text: &str) -> Wrong {
    let prefixes = Transport::ALL.map(Transport::prefix);
    let near = prefixes.into_iter().chain(["ostree:"]).find(|prefix| {
        let word = prefix.trim_end_matches(['/', ':']);
        let typed = text.split([':', '/']).next().unwrap_or_default();
        strsim::osa_distance(&typed.to_ascii_lowercase(), word) <= 1
    });
    Wrong::at(
        0,
        match near {
            Some(prefix) => format!("it does not begin with {prefix} letter by letter"),
            None => "it begins with none of ostree:, docker://, oci-archive: and oci:".to_owned(),
        },
    )
}

impl fmt::Display for ContainerImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.address(), self.manifest)
    }
}

/// The longest name that the reference grammar of registries accepts (distribution/reference,
/// `RepositoryNameTotalLengthMax`); also long enough for a path.
const LONGEST: usize = 255;

fn check_repository(text: &str) -> Result<(), Wrong> {
    length(text, LONGEST).map_err(|wrong| wrong.within("its name"))?;
    let Some((host, name)) = text.split_once('/') else {
        return Err(Wrong::at(text.len(), "it has no /<name> after the host"));
    };
    check_host(host)?;
    let mut at = host.len() + 1;
    for part in name.split('/') {
        check_component(part).map_err(|wrong| wrong.moved(at))?;
        at += part.len() + 1;
    }
    check_spelling(host, name)
}

/// Whether a name means itself. Two spellings mean another name, and the signature policy is looked
/// up under that other name (distribution/reference, `splitDockerDomain`).
fn check_spelling(host: &str, name: &str) -> Result<(), Wrong> {
    let says = match host {
        "index.docker.io" => "its host index.docker.io means docker.io, which must be written",
        "docker.io" if !name.contains('/') => {
            "its name means library/… at docker.io, which must be written"
        }
        _ => return Ok(()),
    };
    Err(Wrong::at(0, says))
}

/// A host without a dot or a port would be read as the first part of a name at docker.io.
fn check_host(text: &str) -> Result<(), Wrong> {
    let (name, port) = text
        .split_once(':')
        .map_or((text, None), |(name, port)| (name, Some(port)));
    let is_allowed = |c: char| is_lower(c) || c == '-' || c == '.';
    letters(name, is_allowed, "a-z 0-9 . -").map_err(|wrong| wrong.within("its host"))?;
    let label = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
    if !name.split('.').all(label) {
        let says = "its host has a part that is empty, or has a dash at an end";
        return Err(Wrong::at(0, says));
    }
    check_port(port).map_err(|wrong| wrong.moved(name.len() + 1))?;
    if port.is_none() && !name.contains('.') && name != "localhost" {
        let says = format!("its host {name:?} has neither a dot nor a port");
        return Err(Wrong::at(0, says));
    }
    Ok(())
}

fn check_port(port: Option<&str>) -> Result<(), Wrong> {
    let is_port = |port: &str| port.parse::<u16>().is_ok() && !port.starts_with('+');
    match port {
        Some(port) if !is_port(port) => Err(Wrong::at(
            0,
            format!("its port {port:?} is no number up to 65535"),
        )),
        Some(_) | None => Ok(()),
    }
}

/// A part of a name: words separated by `.`, `_`, `__` or dashes.
fn check_component(text: &str) -> Result<(), Wrong> {
    if let Some((_, tag)) = text.split_once(':') {
        let at = text.len() - tag.len() - 1;
        let says = format!("its tag {tag:?} is not accepted: a tag may move to another image");
        return Err(Wrong::at(at, says));
    }
    let is_allowed = |c: char| is_lower(c) || "._-".contains(c);
    letters(text, is_allowed, "a-z 0-9 . _ -")
        .map_err(|wrong| wrong.within(&format!("its name part {text:?}")))?;
    let ends = |c: Option<char>| c.is_some_and(is_lower);
    let between =
        |gap: &str| matches!(gap, "" | "." | "_" | "__") || gap.bytes().all(|c| c == b'-');
    let is_whole = ends(text.chars().next())
        && ends(text.chars().next_back())
        && text.split(is_lower).all(between);
    if is_whole {
        return Ok(());
    }
    let says = match text.is_empty() {
        true => "its name has an empty part beside a slash".to_owned(),
        false => format!(
            "its name part {text:?} has a . _ or - at an end, or two different ones in a row"
        ),
    };
    Err(Wrong::at(0, says))
}

/// An absolute path that skopeo does not split, without `..` or other detours.
fn check_absolute(text: &str) -> Result<(), Wrong> {
    length(text, LONGEST).map_err(|wrong| wrong.within("its path"))?;
    let Some(rest) = text.strip_prefix('/') else {
        return Err(Wrong::at(0, "its path does not begin with a slash"));
    };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    letters(text, is_allowed, "a-z A-Z 0-9 . _ - /").map_err(|wrong| wrong.within("its path"))?;
    let mut at = 1;
    for part in rest.split('/') {
        if matches!(part, "" | "." | "..") || part.starts_with('-') {
            let says = format!("its path has the part {part:?}, which is not accepted");
            return Err(Wrong::at(at, says));
        }
        at += part.len() + 1;
    }
    Ok(())
}

const fn is_lower(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Option<String> {
        let digest = "a".repeat(64);
        let image = parse(&format!("{text}@sha256:{digest}")).ok();
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
            assert!(parse(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn below_a_place_are_whole_parts_of_names_only() {
        let text = format!("docker://r.example.com/os/base@sha256:{}", "a".repeat(64));
        let image = parse(&text).unwrap_or_else(|bad| unreachable!("{bad:?}"));
        assert!(image.is_below("r.example.com") && image.is_below("r.example.com/os"));
        assert!(!image.is_below("r.example.com/o") && !image.is_below("r.example"));
    }
}
