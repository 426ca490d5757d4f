//! Units that do not run, and a boot that has not ended.

use zbus::Result;
use zbus::proxy::CacheProperties;

use crate::bus::{Bus, is_not_loaded};
use crate::proxies::{Listed, ServiceUnitProxy, UnitProxy};

/// The states of a unit that does not run: it failed, or systemd starts it again and again. systemd
/// compares them with the load state, the active state and the sub state (systemd
/// src/core/dbus-manager.c, `list_units_filtered`).
const FALLEN: [&str; 3] = ["failed", "auto-restart", "auto-restart-queued"];

/// `SystemState` while the boot's jobs run (org.freedesktop.systemd1(5)).
const STARTING: [&str; 2] = ["initializing", "starting"];

/// A unit that does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallen {
    /// Its name.
    pub name: String,
    /// The path of its file; empty without one.
    pub fragment: String,
    /// The files that change it.
    pub drop_ins: Vec<String>,
    /// The programs that a service starts (`ExecStart=`), each as a path or a bare name.
    pub programs: Vec<String>,
    /// A service's result, for example `exit-code`; empty for other units.
    pub result: String,
    /// The exit status of a service's main process, or 0.
    pub exit_status: i32,
    /// Only a timer starts it, at a time of its own: no boot waits for it or wants it.
    pub is_timed: bool,
}

impl Bus {
    /// The units that failed or that systemd starts again and again.
    ///
    /// # Errors
    /// The bus is down, or systemd does not answer.
    pub async fn fallen(&self) -> Result<Vec<Fallen>> {
        let systemd = self.manager().await?;
        let listed = systemd.list_units_by_patterns(&FALLEN, &[]);
        let mut fallen = Vec::new();
        for unit in self.limited(listed).await? {
            match self.look_at(unit).await {
                Ok(unit) => fallen.push(unit),
                // It is gone since.
                Err(error) if is_not_loaded(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(fallen)
    }

    async fn look_at(&self, listed: Listed) -> Result<Fallen> {
        let (name, path) = (listed.0, listed.6);
        let unit = self.unit(path.clone()).await?;
        let fragment = self.limited(unit.fragment_path()).await?;
        let drop_ins = self.limited(unit.drop_in_paths()).await?;
        let is_timed = self.is_timed(&unit).await?;
        let (mut programs, mut result, mut exit_status) = (Vec::new(), String::new(), 0);
        if name.ends_with(".service") {
            let service = ServiceUnitProxy::builder(&self.connection).path(path);
            let service = service.cache_properties(CacheProperties::No).build();
            let service = self.limited(service).await?;
            let commands = self.limited(service.exec_start()).await?;
            programs = commands.into_iter().map(|command| command.0).collect();
            result = self.limited(service.result()).await?;
            exit_status = self.limited(service.exec_main_status()).await?;
        }
        Ok(Fallen {
            name,
            fragment,
            drop_ins,
            programs,
            result,
            exit_status,
            is_timed,
        })
    }

    async fn is_timed(&self, unit: &UnitProxy<'_>) -> Result<bool> {
        let is_timer = |name: &String| name.ends_with(".timer");
        let triggers = self.limited(unit.triggered_by()).await?;
        let wanted = self.limited(unit.wanted_by()).await?;
        let required = self.limited(unit.required_by()).await?;
        let mut all = triggers.iter().chain(&wanted).chain(&required);
        Ok(!triggers.is_empty() && all.all(is_timer))
    }

    /// A unit whose start the boot waits for. `None` once the boot has ended.
    ///
    /// # Errors
    /// As [`Bus::fallen`].
    pub async fn starting(&self) -> Result<Option<String>> {
        if !STARTING.contains(&self.system_state().await?.as_str()) {
            return Ok(None);
        }
        let systemd = self.manager().await?;
        let jobs = self.limited(systemd.list_jobs()).await?;
        let mut running = jobs
            .into_iter()
            .filter(|(_, _, kind, state, ..)| kind == "start" && state == "running");
        Ok(running.next().map(|(_, unit, ..)| unit))
    }
}
