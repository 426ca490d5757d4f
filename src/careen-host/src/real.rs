//! The machine itself: systemd over D-Bus, and what the kernel shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use host::programs::{self, Program};
use life::ClaimId;
use systemd::{Bus, Property, Variant};
use tokio::runtime::Runtime;
use upgrade::{BootId, SinceBoot, names};

use prepared::{Ended, Hands, Machine, folder, mountinfo};

/// The groups of all pods, with the cgroup drivers systemd and cgroupfs.
const PODS: [&str; 2] = ["/sys/fs/cgroup/kubepods.slice", "/sys/fs/cgroup/kubepods"];

/// The kubelet's port, 10250, as /proc/net/tcp writes it, and the state of a listening socket.
const KUBELET_PORT: &str = ":280A";
const LISTENS: &str = "0A";

/// How long a unit may take to end.
const END: Duration = Duration::from_secs(90);

/// How long `kubeadm reset` may take.
const RESET: Duration = Duration::from_secs(300);

/// How much of an output is shown, in bytes.
const TAIL: usize = 4096;

/// A command, its limit, and where its end is told.
type Order = (Command, Option<Duration>, Sender<Ended>);

/// The machine.
pub struct Real {
    runtime: Runtime,
    /// Runs commands with the mounts of the system, which a later change of this process's own
    /// mounts does not hide.
    runner: Sender<Order>,
    boot: BootId,
    /// The path of this program, which the units start.
    program: PathBuf,
}

impl Real {
    /// The machine. Call it before the mounts of this process become its own.
    ///
    /// # Errors
    /// The boot has no id, or the process cannot have a runtime.
    pub fn new(program: PathBuf) -> Result<Self, String> {
        let boot = host::os::boot_id(Path::new(host::os::BOOT_ID));
        let (runner, orders) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (command, limit, done) in orders {
                let ended = run(command, limit).unwrap_or_else(|error| Ended::failed(&error));
                let _ = done.send(ended);
            }
        });
        Ok(Self {
            runner,
            runtime: runtime()?,
            boot: boot.map_err(|error| error.to_string())?,
            program,
        })
    }

    /// Asks systemd. A new connection each time: the bus may restart in between.
    fn ask<T>(&self, ask: impl AsyncFnOnce(Bus) -> systemd::Result<T>) -> systemd::Result<T> {
        self.runtime
            .block_on(async { ask(Bus::system().await?).await })
    }

    fn command(&self, command: Command, limit: Option<Duration>) -> Ended {
        let (done, end) = mpsc::channel();
        let sent = self.runner.send((command, limit, done));
        let ended = sent.ok().and_then(|()| end.recv().ok());
        ended.unwrap_or_else(|| Ended::failed(&"the command did not run"))
    }

    fn is_alive(&self, unit: &str) -> systemd::Result<bool> {
        self.ask(async |bus| bus.is_alive(unit).await)
    }

    fn end(&self, unit: &str) {
        // What is still there is seen again in the next pass.
        let _ = self.ask(async |bus| bus.end(unit, END).await);
    }

    fn start(&self, unit: &str, verb: &str, claim: &ClaimId) {
        let program = self.program.display().to_string();
        let argv = vec![program.clone(), verb.to_owned(), claim.to_string()];
        let properties: Vec<Property<'_>> = vec![
            (
                "Description",
                Variant::new(format!("Careen: {verb} this host")),
            ),
            ("Type", Variant::new("exec")),
            ("CollectMode", Variant::new("inactive-or-failed")),
            ("ExecStart", Variant::new(vec![(program, argv, false)])),
            ("UMask", Variant::new(0o077_u32)),
        ];
        // A unit that was not started is not found, and the record says what follows from that.
        let _ = self.ask(async |bus| bus.start_transient(unit, &properties).await);
    }
}

/// What runs the requests of one thread.
///
/// # Errors
/// The process cannot have one.
pub fn runtime() -> Result<Runtime, String> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let built = runtime.enable_all().build();
    built.map_err(|error| error.to_string())
}

fn join_unit(claim: &ClaimId) -> String {
    format!("careen-host-join-{claim}.service")
}

fn clean_unit(claim: &ClaimId) -> String {
    format!("careen-host-clean-{claim}.service")
}

impl Machine for Real {
    fn run(&mut self, script: &Path) -> Ended {
        let mut command = programs::of_the_operator(Path::new("/bin/sh"));
        command.arg(script);
        self.command(command, None)
    }

    fn end_join(&mut self) {
        let alive = self.ask(async |bus| bus.alive("careen-host-join-*.service").await);
        for unit in alive.unwrap_or_default() {
            self.end(&unit);
        }
    }

    fn stop_kubelet(&mut self) {
        self.end(names::KUBELET_UNIT);
    }

    fn kill_pods(&mut self) {
        for group in PODS {
            let _ = fs::write(Path::new(group).join("cgroup.kill"), "1");
        }
    }

    fn unmount(&mut self, path: &Path) {
        if path == Path::new(names::KUBERNETES) {
            self.end(names::KUBERNETES_MOUNT);
        }
    }

    fn reset(&mut self) -> Ended {
        match Program::Kubeadm.command() {
            Ok(mut command) => {
                command.args(["reset", "--force", "--skip-phases=remove-etcd-member"]);
                self.command(command, Some(RESET))
            }
            Err(error) => Ended::failed(&error),
        }
    }

    fn alive(&self) -> Vec<String> {
        let mut alive = Vec::new();
        match self.is_alive(names::KUBELET_UNIT) {
            Ok(false) => {}
            Ok(true) => alive.push(names::KUBELET_UNIT.to_owned()),
            Err(error) => alive.push(format!("{}: {error}", names::KUBELET_UNIT)),
        }
        let joins = self.ask(async |bus| bus.alive("careen-host-join-*.service").await);
        alive.extend(joins.unwrap_or_default());
        let is_populated = |group: &&&str| {
            let events = fs::read_to_string(Path::new(group).join("cgroup.events"));
            events.is_ok_and(|events| events.contains("populated 1"))
        };
        alive.extend(
            PODS.iter()
                .filter(is_populated)
                .map(|group| format!("pods in {group}")),
        );
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
        if tables.into_iter().flatten().any(|table| listens(&table)) {
            alive.push("port 10250".to_owned());
        }
        alive
    }

    fn mounts(&self) -> Vec<PathBuf> {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        mountinfo::points(&table)
    }

    fn links(&self) -> Vec<String> {
        folder::names(Path::new("/sys/class/net")).unwrap_or_default()
    }
}

impl Hands for Real {
    fn boot(&self) -> BootId {
        self.boot.clone()
    }

    fn now(&self) -> SinceBoot {
        host::os::since_boot().unwrap_or_default()
    }

    fn start_join(&mut self, claim: &ClaimId) {
        self.start(&join_unit(claim), "join", claim);
    }

    fn joins(&self, claim: &ClaimId) -> bool {
        self.is_alive(&join_unit(claim)).unwrap_or(true)
    }

    fn start_clean(&mut self, claim: &ClaimId) {
        self.start(&clean_unit(claim), "clean-now", claim);
    }

    fn cleans(&self, claim: &ClaimId) -> Option<u64> {
        let unit = clean_unit(claim);
        match self.is_alive(&unit) {
            Ok(false) => None,
            Ok(true) | Err(_) => {
                let service = self.ask(async |bus| bus.service(&unit).await).ok();
                let entered = service.map_or(u64::MAX, |service| service.entered / 1000);
                Some(self.now().seconds_since(SinceBoot(entered)))
            }
        }
    }

    fn end_clean(&mut self, claim: &ClaimId) {
        self.end(&clean_unit(claim));
    }

    fn reboot(&mut self) {
        let _ = self.ask(async |bus| bus.reboot().await);
    }
}

/// Runs a command to its end, or until this limit. The journal has all of its output.
fn run(mut command: Command, limit: Option<Duration>) -> std::io::Result<Ended> {
    let output = tempfile::NamedTempFile::new_in(names::RUN_DIR)?;
    let file = output.reopen()?;
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file);
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let well = loop {
        if let Some(status) = child.try_wait()? {
            break status.success();
        }
        if limit.is_some_and(|limit| begun.elapsed() > limit) {
            child.kill()?;
            child.wait()?;
            break false;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    let all = fs::read(output.path())?;
    let text = String::from_utf8_lossy(&all);
    print!("{text}");
    let from = text.len().saturating_sub(TAIL);
    let from = (from..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    Ok(Ended {
        well,
        tail: text[from..].to_owned(),
    })
}

/// Whether a table of sockets has a listening one with the kubelet's port.
fn listens(table: &str) -> bool {
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, state) = (words.next().unwrap_or_default(), words.nth(1));
        local.ends_with(KUBELET_PORT) && state == Some(LISTENS)
    })
}

#[cfg(test)]
mod tests {
    use super::listens;

    #[test]
    fn only_a_listening_socket_of_the_kubelet_counts() {
        let line = |port: &str, state: &str| {
            format!(
                "  sl  local_address rem_address   st\n   0: 00000000:{port} 00000000:0000 {state} 0:0 0:0 0\n"
            )
        };
        assert!(listens(&line("280A", "0A")));
        assert!(!listens(&line("280A", "01")));
        assert!(!listens(&line("0016", "0A")));
        assert!(!listens(""));
    }
}
