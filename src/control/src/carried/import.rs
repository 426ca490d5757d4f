//! Brings carried images to containerd, with its own `ctr`, and keeps them from the kubelet's
//! clean-up.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use host::programs::{self, Program};
use host::room;
use thiserror::Error;
use tokio::process::Command;

use super::archives::{Archive, archives};
use crate::folder::Folder;

/// How long one archive may take. A slow disk writes 10 MB a second, and containerd writes an image
/// twice.
const LONGEST: Duration = Duration::from_secs(900);

/// How long the runtime may take until it knows an image that containerd has. An event tells it.
const PATIENCE: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(200);

/// The runtime's answers about all names of one archive.
const ANSWERS: Duration = Duration::from_secs(30);

/// An archive takes its own size for its blobs and up to three times as much unpacked.
const TIMES: u64 = 4;

/// What must stay free: etcd may be on the same disk.
const RESERVE: u64 = 512 << 20;

/// Where containerd keeps what it imports.
const STORE: &str = "/var/lib/containerd";

/// The namespace of the kubelet's images.
const NAMESPACE: &str = "k8s.io";

/// The kubelet removes no image with this label, also while no pod uses it (containerd,
/// internal/cri/labels).
const PINNED: &str = "io.cri-containerd.pinned";

/// The version of Kubernetes that brought an image.
const CARRIED: &str = "careen.dev/carried";

/// Why an archive is not at the runtime.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotImported {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It does not fit.
    #[error("{} needs {} MiB in {STORE}, which has {} MiB. Make room there", .file.display(), .needed >> 20, .free >> 20)]
    NoRoom {
        /// The archive.
        file: PathBuf,
        /// What it takes, in bytes.
        needed: u64,
        /// What there is, in bytes.
        free: u64,
    },
    /// The runtime or `ctr` refused.
    #[error("{}: {why}", .file.display())]
    Refused {
        /// The archive.
        file: PathBuf,
        /// Why.
        why: String,
    },
}

/// What imports.
#[derive(Clone, Debug)]
pub struct Importer {
    /// The root of the running system, whose `ctr` fits its containerd.
    pub root: PathBuf,
    /// The socket of containerd.
    pub runtime: PathBuf,
    /// The version of Kubernetes that needs the images.
    pub version: String,
    /// The version that runs. Its images stay.
    pub running: String,
}

impl Importer {
    /// Imports each archive of this folder of which the runtime lacks an image. Returns the names
    /// of all images in the folder.
    ///
    /// # Errors
    /// One of them is not at the runtime. Those before it are.
    pub async fn bring(&self, folder: &Path) -> Result<Vec<String>, NotImported> {
        let all = archives(folder).map_err(NotImported::Unreadable)?;
        for archive in &all {
            self.import(archive).await?;
        }
        if !all.is_empty() {
            self.release_others().await;
        }
        Ok(all.into_iter().flat_map(|archive| archive.names).collect())
    }

    async fn import(&self, archive: &Archive) -> Result<(), NotImported> {
        let refused = |why| NotImported::Refused {
            file: archive.file.clone(),
            why,
        };
        if !self
            .missing(&archive.names)
            .await
            .map_err(refused)?
            .is_empty()
        {
            self.has_room(archive)?;
            let file = archive.file.display().to_string();
            self.ctr(&["images", "import", &file])
                .await
                .map_err(refused)?;
            self.until_known(&archive.names).await.map_err(refused)?;
        }
        for name in &archive.names {
            self.keep(name).await.map_err(refused)?;
        }
        Ok(())
    }

    fn has_room(&self, archive: &Archive) -> Result<(), NotImported> {
        let store = Folder::below(&self.root).path(STORE);
        // A containerd that keeps its data elsewhere says itself that a disk is full.
        let Ok(free) = room::free(&store) else {
            return Ok(());
        };
        let needed = archive.bytes.saturating_mul(TIMES).saturating_add(RESERVE);
        match free >= needed {
            true => Ok(()),
            false => Err(NotImported::NoRoom {
                file: archive.file.clone(),
                needed,
                free,
            }),
        }
    }

    async fn until_known(&self, names: &[String]) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let missing = self.missing(names).await?;
            match missing.first() {
                None => return Ok(()),
                Some(_) if begun.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
                Some(name) => {
                    return Err(format!(
                        "it was imported, and the runtime has no image {name}"
                    ));
                }
            }
        }
    }

    async fn missing(&self, names: &[String]) -> Result<Vec<String>, String> {
        let asked = cri::missing_images(&self.runtime, names);
        let runtime = self.runtime.display();
        match tokio::time::timeout(ANSWERS, asked).await {
            Ok(Ok(missing)) => Ok(missing),
            Ok(Err(error)) => Err(format!("{runtime}: {error}")),
            Err(_) => Err(format!("{runtime}: no answer in {} s", ANSWERS.as_secs())),
        }
    }

    async fn keep(&self, name: &str) -> Result<(), String> {
        let carried = format!("{CARRIED}={}", self.version);
        let pinned = format!("{PINNED}=pinned");
        self.ctr(&["images", "label", name, &pinned, &carried])
            .await
            .map(drop)
    }

    /// Images of earlier upgrades are the kubelet's to remove again. What stays costs only room.
    async fn release_others(&self) {
        let filter = format!("labels.\"{CARRIED}\"");
        let named = self.ctr(&["images", "list", "-q", &filter]).await;
        for name in named.unwrap_or_default().lines() {
            let of = |version: &str| format!("name=={name:?},labels.\"{CARRIED}\"=={version:?}");
            let filters = [of(&self.version), of(&self.running)];
            let current = self
                .ctr(&["images", "list", "-q", &filters[0], &filters[1]])
                .await;
            if current.is_ok_and(|names| names.trim().is_empty()) {
                let labels = [format!("{PINNED}="), format!("{CARRIED}=")];
                let _ = self
                    .ctr(&["images", "label", name, &labels[0], &labels[1]])
                    .await;
            }
        }
    }

    /// Runs `ctr`, which has no setting but its arguments.
    async fn ctr(&self, arguments: &[&str]) -> Result<String, String> {
        let program = Program::Ctr.below(&self.root);
        let program = program.map_err(|missing| missing.to_string())?;
        let mut command = Command::from(programs::alone(&program, programs::PATH));
        command
            .arg("--address")
            .arg(&self.runtime)
            .args(["--namespace", NAMESPACE])
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let late = |_| {
            let (words, limit) = (arguments.join(" "), LONGEST.as_secs());
            format!("ctr {words} takes longer than {limit} s")
        };
        let ended = tokio::time::timeout(LONGEST, command.output()).await;
        let output = ended
            .map_err(late)?
            .map_err(|error| format!("{}: {error}", program.display()))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(programs::ended(&program, output.status, &output.stderr)),
        }
    }
}
