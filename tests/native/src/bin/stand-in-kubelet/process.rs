//! The process of one static pod: started by this stand-in, or taken over from the one before it.

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Container;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::file;

/// Where it notes its processes. The folder is empty after a boot.
const NOTES: &str = "/run/stand-in-kubelet";

/// Where the output of pods goes.
const LOGS: &str = "/var/log/stand-in-kubelet";

/// How long a pod may take to end by itself: Kubernetes' default.
const GRACE: Duration = Duration::from_secs(30);

const LOOK: Duration = Duration::from_millis(20);

/// What the next stand-in must know of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Note {
    /// The process id in this PID namespace.
    pub pid: i32,
    /// When it began, in ticks since the boot. With the id it names one process for good.
    pub began: u64,
    /// The digest of the manifest that it runs.
    pub digest: String,
    /// How often the pod was restarted.
    pub restarts: i32,
}

/// A process that was started. It may have ended since.
#[derive(Debug)]
pub struct Process {
    /// What is known of it.
    pub note: Note,
    /// Absent if another stand-in started it.
    child: Option<Child>,
}

impl Process {
    /// Starts the container's command from the folder of its image.
    pub fn start(
        images: &Path,
        name: &str,
        container: &Container,
        digest: &str,
        restarts: i32,
    ) -> Result<Self> {
        let words = container.command.as_deref().unwrap_or_default();
        let arguments = container.args.as_deref().unwrap_or_default();
        let first = words.first().context("a container without a command")?;
        let mut command = Command::new(program(images, container, first)?);
        command.args(&words[1..]).args(arguments).env_clear();
        for variable in container.env.iter().flatten() {
            command.env(
                &variable.name,
                variable.value.as_deref().unwrap_or_default(),
            );
        }
        let child = spawn(command, name)?;
        let pid = i32::try_from(child.id())?;
        let began = began(pid).context("it ended at once")?;
        let note = Note {
            pid,
            began,
            digest: digest.to_owned(),
            restarts,
        };
        file::write(&notes(name), &serde_json::to_string(&note)?)?;
        Ok(Self {
            note,
            child: Some(child),
        })
    }

    /// The process that an earlier stand-in has left running, if there is one.
    pub fn left(name: &str) -> Option<Self> {
        let text = fs::read_to_string(notes(name)).ok()?;
        let note: Note = serde_json::from_str(&text).ok()?;
        let mut this = Self { note, child: None };
        this.runs().then_some(this)
    }

    /// Whether it runs.
    pub fn runs(&mut self) -> bool {
        match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => began(self.note.pid) == Some(self.note.began),
        }
    }

    /// Ends it as a kubelet does: SIGTERM, then SIGKILL after the grace period.
    pub async fn stop(&mut self, name: &str) {
        let mut left = GRACE;
        self.signal(Signal::SIGTERM);
        while self.runs() && !left.is_zero() {
            tokio::time::sleep(LOOK).await;
            left = left.saturating_sub(LOOK);
        }
        self.signal(Signal::SIGKILL);
        while self.runs() {
            tokio::time::sleep(LOOK).await;
        }
        let _ = fs::remove_file(notes(name));
    }

    fn signal(&mut self, signal: Signal) {
        if self.runs() {
            let _ = kill(Pid::from_raw(self.note.pid), signal);
        }
    }
}

fn notes(name: &str) -> PathBuf {
    Path::new(NOTES).join(format!("{name}.json"))
}

/// The names of all pods of which an earlier stand-in has left a note.
pub fn noted() -> Vec<String> {
    let Ok(entries) = fs::read_dir(NOTES) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            Some(
                entry
                    .file_name()
                    .to_str()?
                    .strip_suffix(".json")?
                    .to_owned(),
            )
        })
        .collect()
}

fn program(images: &Path, container: &Container, first: &str) -> Result<PathBuf> {
    let image = container.image.as_deref().unwrap_or_default();
    let image = image.rsplit('/').next().unwrap_or_default();
    let program = images.join(image).join(first);
    ensure!(
        program.exists(),
        "no image {image} with the program {first}"
    );
    Ok(program)
}

fn spawn(mut command: Command, name: &str) -> Result<Child> {
    fs::create_dir_all(LOGS)?;
    let log = Path::new(LOGS).join(format!("{name}.log"));
    let log = OpenOptions::new().create(true).append(true).open(log)?;
    command
        .stdin(Stdio::null())
        .current_dir("/")
        .process_group(0);
    command.stdout(log.try_clone()?).stderr(log);
    Ok(command.spawn()?)
}

/// proc_pid_stat(5): the name is in brackets and may hold any character; the state is field 3, the
/// start is field 22. A zombie has ended.
fn began(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    if fields.first() == Some(&"Z") {
        return None;
    }
    fields.get(19)?.parse().ok()
}
