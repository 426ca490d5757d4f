//! The packages, on a real dpkg, rpm and dnf in the rig's Debian root. Asked for by name (`make packages-check`): it compiles
//! everything twice. Needs root, and lintian, rpm, dnf, createrepo_c and buildah on the host. With `CAREEN_PACKAGES` it looks at what was built before.

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
