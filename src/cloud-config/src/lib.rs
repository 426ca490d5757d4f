//! Bootstrap data: the cloud-config that Cluster API's kubeadm bootstrap provider writes for a
//! Machine. [`plan`] says which files a host writes and what it runs, or names what it refuses.
//!
//! cloud-init itself is not used: it acts once for each instance, and a prepared host serves many
//! Machines without an installation between them. A plan is complete before anything is written, so
//! a part that is refused leaves the host as it was. No error repeats a value of the data: they
//! contain keys and tokens.
#![deny(clippy::wildcard_enum_match_arm)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod commands;
mod document;
mod facts;
mod files;
mod head;
mod kubeadm;
mod refused;
mod template;

pub use commands::{Command, script};
pub use facts::Facts;
pub use files::File;
pub use refused::Refused;

/// What a host does to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What runs before the files are written.
    pub bootcmd: Vec<Command>,
    /// The files, in the order in which they are written.
    pub files: Vec<File>,
    /// What runs after that.
    pub runcmd: Vec<Command>,
}

/// The longest bootstrap data. A Secret of Kubernetes holds 1 MiB.
const LONGEST: usize = 1024 * 1024;

/// Reads bootstrap data for the host that these facts describe. Top-level keys in `ignore` are
/// passed over.
///
/// # Errors
/// The part that is refused, and what is accepted.
pub fn plan(data: &[u8], facts: &Facts, ignore: &[String]) -> Result<Plan, Refused> {
    if data.len() > LONGEST {
        return Err(Refused::TooLong { limit: LONGEST });
    }
    let text = match head::head(data)? {
        head::Head::Template(text) => template::render(text, facts)?,
        head::Head::Plain(text) => text.to_owned(),
    };
    let document = document::parse(&text, ignore)?;
    let mut files = files::files(document.write_files.unwrap_or_default())?;
    kubeadm::identify(&mut files, facts)?;
    Ok(Plan {
        bootcmd: document.bootcmd.unwrap_or_default(),
        files,
        runcmd: document.runcmd.unwrap_or_default(),
    })
}
