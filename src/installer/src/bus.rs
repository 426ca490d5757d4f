//! The host's systemd over its D-Bus socket, which the pod has mounted. Root needs no capability for it: systemd asks for the caller's
//! user id alone when it cannot see capabilities (systemd src/libsystemd/sd-bus/bus-convenience.c, `sd_bus_query_sender_privilege`).

use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};
use zbus::proxy::CacheProperties;
use zbus::{Connection, OwnedObjectPath, connection, proxy};

use crate::systemd::{Active, Origin, Refused, Service, Systemd};

/// How long a call may take. systemd answers at once or is in deep trouble; a reload runs all generators.
const ANSWER: Duration = Duration::from_secs(60);

/// How long a service has to end: the agent's own limit is 60 s, then systemd kills it.
const END: Duration = Duration::from_secs(75);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(500);

/// Unit states in which something is going on.
const ALIVE: [&str; 4] = ["active", "activating", "deactivating", "reloading"];

/// One unit as `ListUnitsByPatterns` tells it; the first is its name.
type Listed = (
    String,
    String,
    String,
    String,
    String,
    String,
    OwnedObjectPath,
    u32,
    String,
    OwnedObjectPath,
);

#[proxy(
    interface = "org.freedesktop.systemd1.Manager",
    default_service = "org.freedesktop.systemd1",
    default_path = "/org/freedesktop/systemd1"
)]
trait Manager {
    /// Also of a unit that has no file.
    fn load_unit(&self, name: &str) -> zbus::Result<OwnedObjectPath>;
    /// Asks for a start.
    fn start_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;
    /// Asks for a stop.
    fn stop_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;
    /// Reads unit files again.
    fn reload(&self) -> zbus::Result<()>;
    /// Units in these states, by patterns of their names.
    fn list_units_by_patterns(
        &self,
        states: &[&str],
        patterns: &[&str],
    ) -> zbus::Result<Vec<Listed>>;
}

#[proxy(
    interface = "org.freedesktop.systemd1.Unit",
    default_service = "org.freedesktop.systemd1"
)]
trait Unit {
    /// Where its file lies; nothing when there is none.
    #[zbus(property(emits_changed_signal = "false"))]
    fn fragment_path(&self) -> zbus::Result<String>;
    /// `active`, `activating`, ...
    #[zbus(property(emits_changed_signal = "false"))]
    fn active_state(&self) -> zbus::Result<String>;
    /// Since when it is active, in microseconds of CLOCK_MONOTONIC.
    #[zbus(property(emits_changed_signal = "false"))]
    fn active_enter_timestamp_monotonic(&self) -> zbus::Result<u64>;
}

#[proxy(
    interface = "org.freedesktop.systemd1.Service",
    default_service = "org.freedesktop.systemd1"
)]
trait ServiceUnit {
    /// What the service has said of itself.
    #[zbus(property(emits_changed_signal = "false"))]
    fn status_text(&self) -> zbus::Result<String>;
}

/// A connection, made for one turn: a bus that was restarted in between is no trouble.
pub struct Bus {
    runtime: Runtime,
    connection: Connection,
}

impl Bus {
    /// Connects to the socket at this path.
    ///
    /// # Errors
    /// When nobody answers there.
    pub fn connect(socket: &Path) -> Result<Self, Refused> {
        let address = format!("unix:path={}", socket.display());
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Refused::Call(error.to_string()))?;
        let connecting = connection::Builder::address(address.as_str())
            .method_timeout(ANSWER)
            .build();
        let connection = runtime.block_on(limited(connecting))?;
        Ok(Self {
            runtime,
            connection,
        })
    }

    fn wait<T>(&self, call: impl Future<Output = zbus::Result<T>>) -> Result<T, Refused> {
        self.runtime.block_on(limited(call))
    }

    async fn look(&self, unit: &str) -> zbus::Result<Service> {
        let path = ManagerProxy::new(&self.connection)
            .await?
            .load_unit(unit)
            .await?;
        let unit = UnitProxy::builder(&self.connection)
            .path(path.clone())
            .cache_properties(CacheProperties::No)
            .build()
            .await?;
        let service = ServiceUnitProxy::builder(&self.connection)
            .path(path)
            .cache_properties(CacheProperties::No)
            .build()
            .await?;
        Ok(Service {
            origin: origin(&unit.fragment_path().await?),
            active: active(&unit.active_state().await?),
            seconds: since(unit.active_enter_timestamp_monotonic().await?),
            status: service.status_text().await?,
        })
    }
}

impl Systemd for Bus {
    fn service(&self, unit: &str) -> Result<Service, Refused> {
        self.wait(self.look(unit))
    }

    fn alive(&self, pattern: &str) -> Result<Vec<String>, Refused> {
        let listed = self.wait(async {
            let manager = ManagerProxy::new(&self.connection).await?;
            manager.list_units_by_patterns(&ALIVE, &[pattern]).await
        })?;
        Ok(listed.into_iter().map(|unit| unit.0).collect())
    }

    fn reload(&self) -> Result<(), Refused> {
        self.wait(async { ManagerProxy::new(&self.connection).await?.reload().await })
    }

    fn start(&self, unit: &str) -> Result<(), Refused> {
        self.wait(async {
            let manager = ManagerProxy::new(&self.connection).await?;
            manager.start_unit(unit, "replace").await.map(drop)
        })
    }

    fn stop(&self, unit: &str) -> Result<(), Refused> {
        let before = self.service(unit)?;
        if before.active == Active::Down {
            return Ok(());
        }
        self.wait(async {
            let manager = ManagerProxy::new(&self.connection).await?;
            manager.stop_unit(unit, "replace").await.map(drop)
        })?;
        let begun = Instant::now();
        while self.service(unit)?.active != Active::Down {
            if begun.elapsed() > END {
                return Err(Refused::StillThere {
                    unit: unit.to_owned(),
                    seconds: END.as_secs(),
                });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// Connecting has no limit of its own.
async fn limited<T>(call: impl Future<Output = zbus::Result<T>>) -> Result<T, Refused> {
    let limited = tokio::time::timeout(ANSWER, call).await;
    match limited {
        Ok(answer) => answer.map_err(|error| Refused::Call(error.to_string())),
        Err(_) => Err(Refused::Call(format!(
            "no answer in {} s",
            ANSWER.as_secs()
        ))),
    }
}

fn origin(fragment: &str) -> Origin {
    match fragment {
        "" => Origin::Nobody,
        // Where /lib is no link to /usr/lib.
        path if path.starts_with("/usr/lib/") || path.starts_with("/lib/") => Origin::Image,
        _ => Origin::Elsewhere,
    }
}

fn active(state: &str) -> Active {
    match state {
        "active" | "reloading" => Active::Running,
        "inactive" | "failed" => Active::Down,
        // activating (also between two tries of a service that is restarted), deactivating, maintenance, and what is yet to be invented.
        _ => Active::Changing,
    }
}

fn since(entered: u64) -> u64 {
    let Ok(now) = clock_gettime(ClockId::CLOCK_MONOTONIC) else {
        return 0;
    };
    let seconds = u64::try_from(now.tv_sec()).unwrap_or_default();
    seconds.saturating_sub(entered / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_below_usr_is_the_images_and_no_other_is() {
        assert_eq!(
            origin("/usr/lib/systemd/system/careen-agent.service"),
            Origin::Image
        );
        assert_eq!(
            origin("/run/systemd/generator.late/careen-agent.service"),
            Origin::Elsewhere
        );
        assert_eq!(
            origin("/etc/systemd/system/careen-agent.service"),
            Origin::Elsewhere
        );
        assert_eq!(
            origin("/usr/local/lib/systemd/system/careen-agent.service"),
            Origin::Elsewhere
        );
        assert_eq!(origin(""), Origin::Nobody);
    }

    #[test]
    fn a_service_that_waits_to_be_restarted_is_not_down() {
        assert_eq!(active("activating"), Active::Changing);
        assert_eq!(active("failed"), Active::Down);
        assert_eq!(active("active"), Active::Running);
    }

    #[test]
    fn a_bus_that_is_not_there_is_an_error_and_no_panic() {
        let error = Bus::connect(Path::new("/no/such/socket")).err().unwrap();
        assert!(error.to_string().contains("systemd on the host"), "{error}");
    }
}
