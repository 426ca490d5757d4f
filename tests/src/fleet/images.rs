//! The images in the fleet's remote: one for each version, and one that boots but is bad.

use upgrade::{Deployment, Digest};

/// An image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The Kubernetes version that it carries.
    pub version: &'static str,
    /// Whether a node becomes healthy with it.
    pub good: bool,
    digit: char,
}

/// The first image of each Machine.
pub const FIRST: Image = image("v1.35.4", '1');
/// The next patch version.
pub const PATCHED: Image = image("v1.35.5", '2');
/// The next minor version.
pub const MINOR: Image = image("v1.36.2", '3');
/// The control plane's own version.
pub const LATEST: Image = image("v1.36.3", '4');
/// It also carries the latest version, but its disk check always fails.
pub const BAD: Image = Image {
    good: false,
    ..image("v1.36.3", '5')
};

/// A rebuild of the first version. No catalogue contains it.
pub const REBUILT: Image = image("v1.35.4", '6');

/// The images with which nodes become healthy, one for each version.
pub const GOOD: [Image; 4] = [FIRST, PATCHED, MINOR, LATEST];

const fn image(version: &'static str, digit: char) -> Image {
    Image {
        version,
        good: true,
        digit,
    }
}

impl Image {
    /// Its name in a request.
    #[must_use]
    pub fn reference(self) -> String {
        format!("ostree:site:edge/stable@{}", self.digest())
    }

    /// The commit.
    #[must_use]
    pub fn digest(self) -> Digest {
        let text = self.digit.to_string().repeat(64);
        text.parse()
            .unwrap_or_else(|_| unreachable!("64 hexadecimal digits"))
    }

    /// The image of a commit.
    #[must_use]
    pub fn of(digest: &Digest) -> Option<Self> {
        GOOD.into_iter()
            .chain([BAD, REBUILT])
            .find(|image| image.digest() == *digest)
    }

    /// The good image that carries a version.
    #[must_use]
    pub fn carrying(version: &str) -> Option<Self> {
        GOOD.into_iter().find(|image| image.version == version)
    }

    pub(super) fn deployment(self) -> Deployment {
        Deployment {
            digest: self.digest(),
            serial: 0,
            stateroot: "careen".to_owned(),
            bootcsum: self.digest().as_str().to_owned(),
            pinned: false,
            kept: false,
        }
    }
}
