//! An image by the name and the checksum of its commit.

/// An image in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The ref of the image, the same as its name.
    pub reference: String,
    /// The commit's checksum, 64 hexadecimal digits.
    pub digest: String,
}

impl Commit {
    /// The value for the annotation `careen.dev/image`.
    #[must_use]
    pub fn pinned(&self) -> String {
        format!("ostree:careen:{}@{}", self.reference, self.digest)
    }
}
