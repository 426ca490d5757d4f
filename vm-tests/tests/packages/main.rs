//! Tests the packages with a real dpkg, rpm and dnf in the rig's Debian root. They run only by name
//! (`make packages-check`), because they compile everything twice. They need root, and lintian,
//! rpm, dnf, createrepo_c and buildah on the host. With `CAREEN_PACKAGES` they test existing
//! packages.

// A failure in a helper ends the test, as it should.
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
