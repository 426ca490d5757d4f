//! The images that the fleet's remote has: one for each version, and one that boots but is no good.

use upgrade::{Deployment, Digest};

/// An image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The Kubernetes version that it carries.
    pub version: &'static str,
    /// Whether a node comes to be healthy with it.
    pub good: bool,
    digit: char,
}

/// What Machines begin with.
pub const FIRST: Image = image("v1.35.4", '1');
/// The next one, a patch further.
pub const PATCHED: Image = image("v1.35.5", '2');
/// A minor further.
pub const MINOR: Image = image("v1.36.2", '3');
/// The control plane's own version.
pub const LATEST: Image = image("v1.36.3", '4');
/// It carries the latest version too; its disk check fails for good.
pub const BAD: Image = Image {
    good: false,
    ..image("v1.36.3", '5')
};

/// The first version again, built anew: no catalogue has it.
pub const REBUILT: Image = image("v1.35.4", '6');

/// Those that nodes come to be healthy with, one for each version.
pub const GOOD: [Image; 4] = [FIRST, PATCHED, MINOR, LATEST];

const fn image(version: &'static str, digit: char) -> Image {
    Image {
        version,
        good: true,
        digit,
    }
}

impl Image {
    /// As a request names it.
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
