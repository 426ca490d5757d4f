//! fs-verity: the kernel verifies a sealed file at every read, so its digest is enough to know its
//! content.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

/// The kernel's number for SHA-256 (linux/fsverity.h).
const SHA256: u16 = 1;
const LENGTH: usize = 32;

/// linux/fsverity.h `struct fsverity_digest` with room for SHA-256.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    algorithm: u16,
    size: u16,
    digest: [u8; LENGTH],
}

/// linux/fsverity.h `struct fsverity_enable_arg`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Enable {
    version: u32,
    hash_algorithm: u32,
    block_size: u32,
    salt_size: u32,
    salt_ptr: u64,
    sig_size: u32,
    reserved1: u32,
    sig_ptr: u64,
    reserved2: [u64; 11],
}

mod call {
    use nix::libc::c_ulong;
    // FS_IOC_MEASURE_VERITY is _IOWR('f', 134, struct fsverity_digest); that struct does not
    // include the length of the digest.
    const MEASURE: c_ulong = nix::request_code_readwrite!(b'f', 134, 4) as c_ulong;
    nix::ioctl_readwrite_bad!(measure, MEASURE, super::Answer);
    nix::ioctl_write_ptr!(enable, b'f', 133, super::Enable);
}

/// Whether a file is or can be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The file is sealed.
    Sealed,
    /// The file is not sealed, but could be.
    Able,
    /// The kernel or the file system does not support sealing.
    Unable,
}

/// Whether this file is sealed, or could be.
#[must_use]
#[expect(unsafe_code, reason = "nix has no safe wrapper")]
pub fn support(file: &File) -> Support {
    let mut answer = Answer {
        algorithm: 0,
        size: LENGTH as u16,
        digest: [0; LENGTH],
    };
    // SAFETY: as in `measure`.
    match unsafe { call::measure(file.as_raw_fd(), &raw mut answer) } {
        // EOVERFLOW: sealed with a digest that is longer than ours.
        Ok(_) | Err(Errno::EOVERFLOW) => Support::Sealed,
        Err(Errno::ENODATA) => Support::Able,
        Err(_) => Support::Unable,
    }
}

/// The digest of a sealed file; `None` if it is not sealed, or the file system does not support
/// sealing.
#[must_use]
#[expect(unsafe_code, reason = "nix has no safe wrapper")]
pub fn measure(file: &File) -> Option<String> {
    let mut answer = Answer {
        algorithm: 0,
        size: LENGTH as u16,
        digest: [0; LENGTH],
    };
    // SAFETY: the kernel writes at most `size` bytes after the four of the header, and `Answer` has
    // room for them.
    unsafe { call::measure(file.as_raw_fd(), &raw mut answer) }.ok()?;
    let whole = answer.algorithm == SHA256 && usize::from(answer.size) == LENGTH;
    whole.then(|| hex::encode(answer.digest))
}

/// Seals a file that no process has open for writing. Sealing a sealed file does nothing.
///
/// # Errors
/// `EOPNOTSUPP` and `ENOTTY` if the file system does not support it (ext4 made without `-O
/// verity`).
#[expect(unsafe_code, reason = "nix has no safe wrapper")]
pub fn seal(file: &File) -> nix::Result<()> {
    let wanted = Enable {
        version: 1,
        hash_algorithm: SHA256.into(),
        block_size: 4096,
        ..Enable::default()
    };
    // SAFETY: the struct is the kernel's own layout and holds no pointers.
    match unsafe { call::enable(file.as_raw_fd(), &raw const wanted) } {
        Ok(_) | Err(Errno::EEXIST) => Ok(()),
        Err(error) => Err(error),
    }
}
