//! Words of an error by which a container does not start for something that the image does not
//! bring: a disk that is full or fails, memory or descriptors that the node lacks, a runtime that
//! is still busy with the try before, a device or a profile that is not there, or what the
//! container's own image lacks.

/// The texts of errno(3) that say so, and words of containerd (internal/cri/server,
/// `CreateContainer`; pkg/oci, `DeviceFromPath` and `WithUser`), runc and crun.
const ELSEWHERE: [&str; 17] = [
    "no space left on device",
    "disk quota exceeded",
    "input/output error",
    "read-only file system",
    "structure needs cleaning",
    "cannot allocate memory",
    "too many open files",
    "resource temporarily unavailable",
    // The try before has the name, as after a disk that answered late.
    "failed to reserve",
    "deadline exceeded",
    // Hardware may have lost it.
    "device information",
    // A pod or a program of the node specifies it (CDI).
    "unresolvable cdi devices",
    // A pod or a service of the node may load it.
    "apparmor failed to apply profile",
    "apparmor profile not found",
    // The container's image lacks its program or its user. Without runc itself no sandbox starts.
    "executable file not found",
    "executable file `",
    "unable to find user",
];

/// Whether the message of a container that cannot be started names such a cause. They only take
/// blame from an image.
pub(super) fn is_elsewhere(message: &str) -> bool {
    let message = message.to_lowercase();
    ELSEWHERE.iter().any(|words| message.contains(words))
}
