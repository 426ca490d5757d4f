//! A manifest with its own checksum, and what is known about it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use upgrade::Digest;
use upgrade::control_plane::repair::{Kept, Live};
use upgrade::control_plane::{Component, EtcdTag, EtcdVersion};

use crate::error::{At, Error, Result};
use crate::hash;

/// A copy begins with this and the SHA-256 of the rest, so that damage is seen. For YAML it is a
/// comment.
const HEAD: &str = "# sha256 ";

/// How a manifest of kubeadm's ends. One that is cut ends before that.
const END: &[u8] = b"\nstatus: {}\n";

/// The content of a copy.
pub(super) fn with_head(text: &[u8]) -> Result<Vec<u8>> {
    let mut all = format!("{HEAD}{}\n", digest(text)?).into_bytes();
    all.extend_from_slice(text);
    Ok(all)
}

/// The manifest in a copy. `None` if there is no copy.
///
/// # Errors
/// It cannot be read, or it is damaged.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let Some(all) = bytes(path)? else {
        return Ok(None);
    };
    let whole = without_head(&all)?;
    let whole = whole.ok_or_else(|| Error::damaged(path, "its checksum does not fit"))?;
    Ok(Some(whole.to_owned()))
}

fn without_head(all: &[u8]) -> Result<Option<&[u8]>> {
    let Some(end) = all.iter().position(|byte| *byte == b'\n') else {
        return Ok(None);
    };
    let (head, text) = (&all[..end], &all[end + 1..]);
    let fits = head == format!("{HEAD}{}", digest(text)?).as_bytes();
    Ok(fits.then_some(text))
}

/// What a repair must know of a copy.
pub(super) fn kept(component: Component, text: &[u8]) -> Result<Kept> {
    let etcd = match component {
        Component::Etcd => etcd(text),
        Component::ApiServer | Component::ControllerManager | Component::Scheduler => None,
    };
    Ok(Kept {
        digest: digest(text)?,
        etcd,
    })
}

/// What is at the place of a manifest.
pub(super) fn live(content: Option<&[u8]>) -> Result<Live> {
    match content {
        None => Ok(Live::Missing),
        Some([]) => Ok(Live::Empty),
        Some(text) => digest(text).map(Live::Text),
    }
}

/// Whether the file ends as kubeadm's do.
pub(super) fn is_whole(text: &[u8]) -> bool {
    text.ends_with(END)
}

/// The content of a file; `None` if it does not exist.
pub(super) fn bytes(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at("reading", path),
    }
}

fn digest(text: &[u8]) -> Result<Digest> {
    let none = std::iter::empty();
    let digits = hash::of(text, none).at("hashing", Path::new("a manifest"))?;
    let digest = digits.parse::<Digest>();
    digest.map_err(|error| Error::damaged(Path::new("a manifest"), error.to_string()))
}

/// The version in the tag of the image that the manifest names. The static program that repairs has
/// no parser for YAML, and kubeadm writes each field on a line of its own.
fn etcd(text: &[u8]) -> Option<EtcdVersion> {
    let text = std::str::from_utf8(text).ok()?;
    let mut images = text.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("- ");
        let image = line.strip_prefix("image:")?.trim();
        Some(image.trim_matches(['"', '\'']))
    });
    images.find_map(|image| {
        let name = image.split('@').next()?;
        let (_, tag) = name.rsplit('/').next()?.split_once(':')?;
        Some(tag.parse::<EtcdTag>().ok()?.version())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_shows_its_own_damage() {
        let copy = with_head(b"kind: Pod\n").unwrap();
        assert_eq!(without_head(&copy).unwrap(), Some(&b"kind: Pod\n"[..]));
        for bad in [&copy[..copy.len() - 1], &copy[1..], b"", b"kind: Pod\n"] {
            assert_eq!(without_head(bad).unwrap(), None);
        }
    }

    #[test]
    fn the_etcd_of_a_manifest_is_read_from_its_image() {
        for (line, version) in [
            ("    image: registry.k8s.io/etcd:3.6.8-0", Some((3, 6, 8))),
            ("  - image: \"r:5000/etcd:v3.7.0\"", Some((3, 7, 0))),
            ("    image: r/etcd:3.6.8-0@sha256:ab", Some((3, 6, 8))),
            ("    image: r:5000/etcd", None),
            ("    imagePullPolicy: IfNotPresent", None),
        ] {
            let text = format!("spec:\n{line}\n");
            let expected = version.map(|(a, b, c)| EtcdVersion::new(a, b, c));
            assert_eq!(etcd(text.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn a_cut_manifest_is_not_whole() {
        assert!(is_whole(b"kind: Pod\nstatus: {}\n"));
        for text in [&b""[..], b"kind: Pod\n", b"kind: Pod\nstatus: {}"] {
            assert!(!is_whole(text));
        }
    }
}
