//! The packages, on a real dpkg and a real rpm in the rig's Debian root. Asked for by name (`make packages-check`): it compiles
//! everything twice. Needs root, and lintian, rpm and buildah on the host.

// What helpers find amiss ends the test, as it should.
#![allow(clippy::unwrap_used, clippy::panic)]

mod containers;
mod deb;
mod dnf;
mod docs;
mod root;
mod rpm;
mod same;
mod sbom;
mod shelf;
