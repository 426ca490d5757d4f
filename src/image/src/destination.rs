//! The destination of an image, and its name there.

use std::str::FromStr;

use ostree_ext::container::{ImageReference, Transport};

/// A place in a registry, or a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    transport: Transport,
    /// Host and name, or the path.
    place: String,
    /// The tag in the registry.
    tag: Option<String>,
}

/// The accepted forms.
const ACCEPTED: &str =
    "docker://<host>/<name>[:<tag>], oci-archive:<absolute path> or oci:<absolute path>";

impl FromStr for Destination {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is not a destination; use {ACCEPTED}");
        let (transport, rest) = match text.split_once(':').ok_or_else(bad)? {
            ("docker", rest) => (
                Transport::Registry,
                rest.strip_prefix("//").ok_or_else(bad)?,
            ),
            ("oci-archive", rest) => (Transport::OciArchive, rest),
            ("oci", rest) => (Transport::OciDir, rest),
            _ => return Err(bad()),
        };
        let (place, tag) = split(transport, rest);
        let good = if transport == Transport::Registry {
            let named = place.split_once('/');
            named.is_some_and(|(_, name)| !name.is_empty())
        } else {
            place.starts_with('/') && !place.contains(':')
        };
        if !good || place.contains('@') || tag.is_some_and(str::is_empty) {
            return Err(bad());
        }
        Ok(Self {
            transport,
            place: place.to_owned(),
            tag: tag.map(str::to_owned),
        })
    }
}

/// A colon after the last slash starts the tag; one before it starts the port.
fn split(transport: Transport, text: &str) -> (&str, Option<&str>) {
    let name = text.rfind('/').unwrap_or(0);
    let at = text[name..].find(':').map(|at| name + at);
    match at {
        Some(at) if transport == Transport::Registry => (&text[..at], Some(&text[at + 1..])),
        _ => (text, None),
    }
}

impl Destination {
    /// The reference for the library that pushes.
    pub(crate) fn reference(&self) -> ImageReference {
        let tag = self.tag.as_ref().map(|tag| format!(":{tag}"));
        ImageReference {
            transport: self.transport,
            name: format!("{}{}", self.place, tag.unwrap_or_default()),
        }
    }

    /// The value for careen.dev/image: with the digest and without a tag.
    pub(crate) fn image(&self, digest: &str) -> String {
        format!("{}{}@{digest}", self.transport, self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(text: &str) -> Option<String> {
        let destination: Destination = text.parse().ok()?;
        Some(destination.image("sha256:d"))
    }

    #[test]
    fn an_image_is_called_by_its_digest_wherever_it_goes() {
        for (text, called) in [
            (
                "docker://r.example.com:5000/os:1.36",
                "docker://r.example.com:5000/os@sha256:d",
            ),
            (
                "docker://r.example.com:5000/os",
                "docker://r.example.com:5000/os@sha256:d",
            ),
            (
                "oci-archive:/srv/os.tar",
                "oci-archive:/srv/os.tar@sha256:d",
            ),
            ("oci:/srv/os", "oci:/srv/os@sha256:d"),
        ] {
            assert_eq!(image(text).as_deref(), Some(called));
        }
    }

    #[test]
    fn what_is_no_destination_is_refused() {
        for text in [
            "",
            "os",
            "docker:r/os",
            "docker://r",
            "oci:os",
            "oci:/os:tag",
            "dir:/os",
            "docker://r/os@sha256:d",
            "docker://r/os:",
        ] {
            assert_eq!(image(text), None, "{text}");
        }
    }
}
