//! One connection to a system bus, and the calls to systemd on it. zbus waits for an answer without
//! a limit, so each call has a timeout here.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use zbus::proxy::CacheProperties;
use zbus::{Connection, Error, OwnedObjectPath, Result, connection};

use crate::proxies::{
    JobRemovedStream, LoginProxy, ManagerProxy, Property, ServiceUnitProxy, UnitProxy,
};
use crate::state::ActiveState;

/// The timeout of a call. systemd answers at once unless it is in serious trouble.
const ANSWER: Duration = Duration::from_secs(25);

/// systemd's error for a unit that is not loaded (systemd
/// src/libsystemd/sd-bus/bus-common-errors.h).
const NO_SUCH_UNIT: &str = "org.freedesktop.systemd1.NoSuchUnit";

/// The states of a unit that runs, starts or stops.
const ALIVE: [&str; 4] = ["active", "activating", "deactivating", "reloading"];

/// How often to check a unit that should end.
const LOOK: Duration = Duration::from_millis(500);

/// The job replaces a conflicting one.
const REPLACE: &str = "replace";

/// A connection. It is opened for one step and dropped after it. So an idle agent has none, and a
/// bus that restarts in between does no harm. A call fails if the bus is down, if systemd refuses,
/// or if no answer comes in time.
pub struct Bus {
    pub(crate) connection: Connection,
    answer: Duration,
}

/// The state of a service, as systemd reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The path of its unit file; empty without one.
    pub fragment: String,
    /// Its state.
    pub state: ActiveState,
    /// When it became active, in microseconds of `CLOCK_MONOTONIC`.
    pub entered: u64,
    /// The status text that the service reports.
    pub status: String,
}

/// How long the parts of this boot took, in seconds, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootTimes {
    /// In the initramfs; `None` without one.
    pub initramfs: Option<u64>,
    /// From the kernel's start to the end of the boot; `None` while it is not over.
    pub all: Option<u64>,
}

/// Microseconds of a second.
const SECOND: u64 = 1_000_000;

/// What a service is made of, and how its program last ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// The paths of its unit file, drop-ins and environment files. A file may be absent.
    pub files: Vec<PathBuf>,
    /// The program that it starts.
    pub program: Option<PathBuf>,
    /// The signal that ended its main process, if one did that systemd itself did not send.
    pub signal: Option<i32>,
}

/// The results of a service whose program ended by a signal of its own (systemd.exec(5),
/// `$SERVICE_RESULT`). systemd sends SIGABRT to a service whose watchdog or start is late.
const BY_ITSELF: [&str; 3] = ["core-dump", "signal", "start-limit-hit"];

/// The values of `si_code` for a process that a signal has ended (sigaction(2)).
const KILLED: [i32; 2] = [2, 3];

impl Bus {
    /// Connects to the system bus. The timeout of a call is 25 s.
    pub async fn system() -> Result<Self> {
        Self::build(connection::Builder::system(), ANSWER).await
    }

    /// Connects to the bus at this socket. The timeout applies to the connection and to each call.
    pub async fn at(socket: &Path, answer: Duration) -> Result<Self> {
        let address = format!("unix:path={}", socket.display());
        Self::build(connection::Builder::address(address.as_str()), answer).await
    }

    async fn build(builder: connection::Builder<'_>, answer: Duration) -> Result<Self> {
        let connection = within(answer, builder.build()).await?;
        Ok(Self { connection, answer })
    }

    /// The same connection, with this timeout for calls.
    #[must_use]
    pub fn with_answer(self, answer: Duration) -> Self {
        Self { answer, ..self }
    }

    /// Waits for a call until the timeout.
    pub async fn limited<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        within(self.answer, call).await
    }

    /// logind.
    pub async fn login(&self) -> Result<LoginProxy<'_>> {
        self.limited(LoginProxy::new(&self.connection)).await
    }

    pub(crate) async fn manager(&self) -> Result<ManagerProxy<'_>> {
        let manager = ManagerProxy::builder(&self.connection);
        self.limited(manager.cache_properties(CacheProperties::No).build())
            .await
    }

    pub(crate) async fn unit(&self, path: OwnedObjectPath) -> Result<UnitProxy<'_>> {
        let unit = UnitProxy::builder(&self.connection).path(path);
        self.limited(unit.cache_properties(CacheProperties::No).build())
            .await
    }

    /// Starts a unit, without waiting for the job.
    pub async fn start(&self, unit: &str) -> Result<()> {
        let systemd = self.manager().await?;
        let job = self.limited(systemd.start_unit(unit, REPLACE)).await;
        job.map(drop)
    }

    /// Starts a unit that has no file, only these properties. Does not wait for the job.
    pub async fn start_transient(&self, unit: &str, properties: &[Property<'_>]) -> Result<()> {
        let systemd = self.manager().await?;
        let job = systemd.start_transient_unit(unit, "fail", properties, &[]);
        self.limited(job).await.map(drop)
    }

    /// Stops a unit and waits until it has ended. Returns false if it still runs after this time.
    pub async fn end(&self, unit: &str, limit: Duration) -> Result<bool> {
        if self.is_alive(unit).await? {
            self.stop(unit).await?;
        }
        let begun = Instant::now();
        while self.is_alive(unit).await? {
            if begun.elapsed() > limit {
                return Ok(false);
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(true)
    }

    /// Stops a unit, without waiting for the job.
    pub async fn stop(&self, unit: &str) -> Result<()> {
        let systemd = self.manager().await?;
        let job = self.limited(systemd.stop_unit(unit, REPLACE)).await;
        job.map(drop)
    }

    /// Restarts a unit, without waiting for the job.
    pub async fn restart(&self, unit: &str) -> Result<()> {
        let systemd = self.manager().await?;
        let job = self.limited(systemd.restart_unit(unit, REPLACE)).await;
        job.map(drop)
    }

    /// Reloads all unit files and runs the generators.
    pub async fn reload(&self) -> Result<()> {
        let systemd = self.manager().await?;
        self.limited(systemd.reload()).await
    }

    /// Reboots without stopping units.
    pub async fn reboot(&self) -> Result<()> {
        let systemd = self.manager().await?;
        self.limited(systemd.reboot()).await
    }

    /// A stream with one item for each job that ends from now on. systemd may refuse to send them,
    /// which the stream does not show.
    pub async fn ended_jobs(&self) -> Result<JobRemovedStream> {
        let systemd = self.manager().await?;
        let _ = self.limited(systemd.subscribe()).await;
        self.limited(systemd.receive_job_removed()).await
    }

    /// A unit's state; nothing if the unit is not loaded.
    pub async fn state(&self, unit: &str) -> Result<Option<ActiveState>> {
        match self.loaded_state(unit).await {
            Ok(state) => Ok(Some(state.into())),
            Err(error) if is_not_loaded(&error) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The unit may disappear between the two calls.
    async fn loaded_state(&self, unit: &str) -> Result<String> {
        let path = self.limited(self.manager().await?.get_unit(unit)).await?;
        let unit = self.unit(path).await?;
        self.limited(unit.active_state()).await
    }

    /// Whether a unit runs, starts or stops.
    pub async fn is_alive(&self, unit: &str) -> Result<bool> {
        let state = self.state(unit).await?;
        Ok(state.is_some_and(|state| state.is_alive()))
    }

    /// The units that match this pattern and run, start or stop.
    pub async fn alive(&self, pattern: &str) -> Result<Vec<String>> {
        let systemd = self.manager().await?;
        let patterns = [pattern];
        let listed = systemd.list_units_by_patterns(&ALIVE, &patterns);
        let listed = self.limited(listed).await?;
        Ok(listed.into_iter().map(|unit| unit.0).collect())
    }

    /// The state of the whole system, as `systemctl is-system-running` prints it.
    pub async fn system_state(&self) -> Result<String> {
        let systemd = self.manager().await?;
        self.limited(systemd.system_state()).await
    }

    /// A service, including one without a file.
    pub async fn service(&self, unit: &str) -> Result<Service> {
        let path = self.limited(self.manager().await?.load_unit(unit)).await?;
        let service = ServiceUnitProxy::builder(&self.connection).path(path.clone());
        let service = service.cache_properties(CacheProperties::No).build();
        let service = self.limited(service).await?;
        let unit = self.unit(path).await?;
        Ok(Service {
            fragment: self.limited(unit.fragment_path()).await?,
            state: self.limited(unit.active_state()).await?.into(),
            entered: self
                .limited(unit.active_enter_timestamp_monotonic())
                .await?,
            status: self.limited(service.status_text()).await?,
        })
    }
}

impl Bus {
    /// How long this boot took.
    pub async fn boot_times(&self) -> Result<BootTimes> {
        let systemd = self.manager().await?;
        let initramfs = self.limited(systemd.initramfs_began()).await?;
        let root = self.limited(systemd.userspace_began()).await?;
        let end = self.limited(systemd.boot_finished()).await?;
        let some = |moment: u64| Some(moment).filter(|moment| *moment > 0);
        Ok(BootTimes {
            initramfs: some(initramfs).map(|began| root.saturating_sub(began).div_ceil(SECOND)),
            all: some(end).map(|end| end.div_ceil(SECOND)),
        })
    }

    /// For how long systemd may be silent before the watchdog resets the machine, in microseconds.
    pub async fn runtime_watchdog(&self) -> Result<u64> {
        let systemd = self.manager().await?;
        self.limited(systemd.runtime_watchdog()).await
    }

    /// Sets what [`Bus::runtime_watchdog`] reads, until the next boot.
    pub async fn set_runtime_watchdog(&self, micros: u64) -> Result<()> {
        let systemd = self.manager().await?;
        self.limited(systemd.set_runtime_watchdog(micros)).await
    }

    /// The path of the watchdog that systemd feeds, or would feed. Empty for the first one.
    pub async fn watchdog_device(&self) -> Result<String> {
        let systemd = self.manager().await?;
        self.limited(systemd.watchdog_device()).await
    }

    /// The longest time for which programs may delay a shutdown by a lock, in seconds.
    pub async fn longest_delay(&self) -> Result<u64> {
        let login = self.login().await?;
        let delay = self.limited(login.longest_delay()).await?;
        Ok(delay.div_ceil(SECOND))
    }

    /// What a service is made of.
    pub async fn made(&self, unit: &str) -> Result<Made> {
        let path = self.limited(self.manager().await?.load_unit(unit)).await?;
        let service = ServiceUnitProxy::builder(&self.connection).path(path.clone());
        let service = service.cache_properties(CacheProperties::No).build();
        let service = self.limited(service).await?;
        let unit = self.unit(path).await?;
        let environment = self.limited(service.environment_files()).await?;
        let commands = self.limited(service.exec_start()).await?;
        let code = self.limited(service.exec_main_code()).await?;
        let status = self.limited(service.exec_main_status()).await?;
        let files = [self.limited(unit.fragment_path()).await?]
            .into_iter()
            .chain(self.limited(unit.drop_in_paths()).await?)
            .chain(environment.into_iter().map(|(file, _)| file));
        Ok(Made {
            files: files.map(PathBuf::from).collect(),
            program: commands.into_iter().next().map(|command| command.0.into()),
            signal: signal(&self.limited(service.result()).await?, code, status),
        })
    }
}

fn signal(result: &str, code: i32, status: i32) -> Option<i32> {
    (KILLED.contains(&code) && BY_ITSELF.contains(&result)).then_some(status)
}

async fn within<T>(limit: Duration, call: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| Error::Failure(format!("D-Bus did not answer in {limit:?}"));
    tokio::time::timeout(limit, call).await.map_err(late)?
}

/// Whether systemd reports that it has no such unit, which is how a transient one ends. Any other
/// error says nothing about the unit.
pub(crate) fn is_not_loaded(error: &Error) -> bool {
    if let Error::MethodError(name, ..) = error {
        return name.as_str() == NO_SUCH_UNIT;
    }
    matches!(error, Error::FDO(error) if matches!(**error, zbus::fdo::Error::UnknownObject(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zbus::fdo;

    fn answered(name: &str) -> Error {
        let call = zbus::Message::method_call("/", "GetUnit");
        let call = call.build(&()).unwrap();
        Error::MethodError(name.try_into().unwrap(), None, call)
    }

    #[test]
    fn signal_that_systemd_sends_is_no_crash_of_the_program() {
        assert_eq!(signal("core-dump", 3, 6), Some(6));
        assert_eq!(signal("signal", 2, 11), Some(11));
        assert_eq!(signal("start-limit-hit", 3, 6), Some(6));
        for late in ["watchdog", "timeout", "oom-kill"] {
            assert_eq!(signal(late, 3, 6), None, "{late}");
        }
        assert_eq!(signal("exit-code", 1, 6), None);
    }

    #[test]
    fn a_unit_is_gone_only_if_systemd_says_so() {
        let fdo = |error| Error::FDO(Box::new(error));
        assert!(is_not_loaded(&answered(NO_SUCH_UNIT)));
        assert!(is_not_loaded(&fdo(
            fdo::Error::UnknownObject(String::new())
        )));
        for other in [
            answered("org.freedesktop.systemd1.LoadFailed"),
            fdo(fdo::Error::NoReply(String::new())),
            fdo(fdo::Error::AccessDenied(String::new())),
            Error::Failure("no answer of D-Bus in 25s".to_owned()),
        ] {
            assert!(!is_not_loaded(&other), "{other}");
        }
    }
}
