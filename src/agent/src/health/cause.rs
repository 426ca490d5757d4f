//! Where the cause is of a service that does not answer: in the image that brings it, or in files
//! of this node that it runs with.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use systemd::{Bus, Made};
use upgrade::names::{KUBELET_UNIT, RUNTIME_UNIT};
use upgrade::observe::{Cause, Check};

use super::confined;
use super::crash::is_a_crash;
use super::disk;
use super::flags;
use super::launched::{self, Launched};
use super::ownership::{below, is_in_usr, is_not_the_images, is_the_nodes};
use super::starts::Starts;

/// The runtime's configuration. `certs.d` beside it says where images come from, which keeps no
/// containerd from its start.
const RUNTIME_FILES: [&str; 2] = ["/etc/containerd/config.toml", "/etc/containerd/conf.d"];

/// The kubelet's configuration, which kubeadm writes.
const CONFIG: &str = "/var/lib/kubelet/config.yaml";

/// Where the cause is, and which file of the node shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where the cause is.
    pub cause: Cause,
    /// The first file of the node that the service runs with.
    pub file: Option<PathBuf>,
    /// What is wrong with the disk that the service writes to.
    pub disk: Option<String>,
}

impl Found {
    const fn of(cause: Cause) -> Self {
        Self {
            cause,
            file: None,
            disk: None,
        }
    }
}

impl Default for Found {
    /// Before anybody has looked.
    fn default() -> Self {
        Self::of(Cause::Unclear)
    }
}

/// The two services without which no pod runs.
#[derive(Debug, Default)]
pub struct Services {
    /// The container runtime.
    pub runtime: Found,
    /// The kubelet.
    pub kubelet: Found,
    /// The policy's folder of patches, which kubeadm gives the kubelet.
    patches: String,
    of_runtime: Starts,
    of_kubelet: Starts,
    last: Option<Instant>,
}

/// How often this looks while a service does not answer. A crash shows only after a start.
const PAUSE: Duration = Duration::from_secs(5);

impl Services {
    /// Nobody has looked yet.
    #[must_use]
    pub fn with_patches(patches: &str) -> Self {
        Self {
            patches: patches.to_owned(),
            ..Self::default()
        }
    }

    /// Looks again where one of them does not answer, and once where both do: a kubelet may answer
    /// that is not the image's. A disk may fill up under services that answer.
    pub async fn look(&mut self, runtime: &Check, kubelet: &Check) {
        let (first, all_well) = (self.last.is_none(), [runtime, kubelet] == [&Check::Pass; 2]);
        if self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        if first || !all_well {
            let patches = [self.patches.as_str()];
            self.runtime = of(RUNTIME_UNIT, &RUNTIME_FILES, runtime, &mut self.of_runtime).await;
            self.kubelet = of(KUBELET_UNIT, &patches, kubelet, &mut self.of_kubelet).await;
        } else {
            self.look_at_the_disk(disk::amiss(Path::new("/")));
        }
        self.last = Some(Instant::now());
    }

    /// The disk that the runtime writes to, unless something else shows where the cause is.
    fn look_at_the_disk(&mut self, amiss: Option<String>) {
        let is_known = self.runtime.file.is_some() || self.runtime.cause.is_image();
        if !is_known {
            self.runtime = unshown(amiss);
        }
    }

    /// The check of the runtime, as [`Self::of_kubelet`].
    #[must_use]
    pub fn of_runtime(&self, check: Check) -> (Check, Cause) {
        shown(check, &self.runtime, &self.of_runtime)
    }

    /// The check of the kubelet, with what shows that it will not pass. A program of the image that
    /// is broken is so whatever files of the node it runs with.
    #[must_use]
    pub fn of_kubelet(&self, check: Check) -> (Check, Cause) {
        shown(check, &self.kubelet, &self.of_kubelet)
    }
}

fn shown(check: Check, found: &Found, starts: &Starts) -> (Check, Cause) {
    match starts.fault() {
        Some(why) if check != Check::Pass => (Check::Broken(why.to_owned()), Cause::Image),
        _ => (told(check, found), found.cause),
    }
}

/// The check with what of the node it fails for.
#[must_use]
pub fn told(check: Check, found: &Found) -> Check {
    let why = match (&found.file, &found.disk) {
        (Some(file), _) => format!(
            "it runs with {}, which is this node's own and not the image's",
            file.display()
        ),
        (None, Some(disk)) => disk.clone(),
        (None, None) => return check,
    };
    let add = |detail: String| format!("{detail}; {why}");
    match check {
        Check::Fail(detail) => Check::Fail(add(detail)),
        Check::Broken(detail) => Check::Broken(add(detail)),
        Check::Pass | Check::Pending(_) => check,
    }
}

/// Where the cause is. A service that does not answer shows more by its program.
async fn of(unit: &str, settings: &[&str], check: &Check, starts: &mut Starts) -> Found {
    let root = Path::new("/");
    let made = async { Bus::system().await?.made(unit).await };
    let Ok(made) = made.await else {
        return Found::default();
    };
    let found = judge(root, &made, settings);
    if *check != Check::Pass
        && let Some(program) = asked(root, &made)
    {
        starts.look(program).await;
    }
    found.unwrap_or_else(|| unshown(disk::amiss(root)))
}

/// The program whose `--version` shows something of the image: its own, which runs in the agent's
/// unit. A shell says nothing of what it starts.
fn asked<'a>(root: &Path, made: &'a Made) -> Option<&'a Path> {
    let program = made.program.as_deref();
    let is_its_own =
        |program: &&Path| !is_the_nodes(root, program) && !launched::is_a_launcher(program);
    let program = program.filter(is_its_own)?;
    confined::around_the_agent(root)
        .is_none()
        .then_some(program)
}

/// What the service shows by itself and by the files that it runs with.
fn judge(root: &Path, made: &Made, settings: &[&str]) -> Option<Found> {
    let program = made.program.as_deref();
    if let Some(program) = program.filter(|program| is_the_nodes(root, program)) {
        return Some(of_the_node(program));
    }
    let files = made.files.iter().map(PathBuf::as_path);
    let launched = launched::beside_the_image(root, files);
    if let Some(file) = launched.as_ref().and_then(Launched::file) {
        return Some(of_the_node(file));
    }
    let lacks = program.is_some_and(|program| is_lacking(root, program, &made.files));
    if lacks {
        return Some(Found::of(Cause::Image));
    }
    if made.signal.is_some_and(is_a_crash) {
        if let Some(file) = confined::by_the_node(root, &made.files) {
            return Some(of_the_node(&file));
        }
        // Of a program that is not known, a crash shows nothing.
        if launched.is_none() {
            return Some(Found::of(Cause::Image));
        }
    }
    let settings = settings.iter().map(Path::new);
    let mut files = made.files.iter().map(PathBuf::as_path).chain(settings);
    let own = files.find(|file| is_the_nodes(root, file));
    let own = own.map(Path::to_owned).or_else(|| flagged(root, made));
    let own = own.or_else(|| confined::loaded_by_the_node(root));
    own.as_deref().map(of_the_node)
}

/// Whether the image lacks its own program: the path is one of the image's, and no file of this node
/// names it, such as a drop-in with another `ExecStart=`.
fn is_lacking(root: &Path, program: &Path, files: &[PathBuf]) -> bool {
    let named_by = |file: &PathBuf| {
        let text = fs::read_to_string(below(root, file)).unwrap_or_default();
        is_the_nodes(root, file) && text.contains(&*program.to_string_lossy())
    };
    is_in_usr(root, program) && !below(root, program).exists() && !files.iter().any(named_by)
}

/// Of a service that fails and shows nothing: no program can work on a disk without room, or one
/// that can only be read. Else it may lack time or memory, or cannot read its state.
fn unshown(disk: Option<String>) -> Found {
    match disk {
        Some(_) => Found {
            disk,
            ..Found::of(Cause::Node)
        },
        None => Found::of(Cause::Unclear),
    }
}

/// The first file of the node that a flag names. A drop-in below /var/lib/kubelet is not kubeadm's.
fn flagged(root: &Path, made: &Made) -> Option<PathBuf> {
    let mut named = flags::named(root, &made.files).into_iter();
    named.find(|file| file != Path::new(CONFIG) && is_not_the_images(root, file))
}

fn of_the_node(file: &Path) -> Found {
    Found {
        file: Some(file.to_owned()),
        ..Found::of(Cause::Node)
    }
}

#[cfg(test)]
mod tests;
