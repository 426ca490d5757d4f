//! The host's systemd over its D-Bus socket, which the pod mounts.
//!
//! Root needs no capability for it: systemd checks only the caller's user id if it cannot see
//! capabilities (systemd src/libsystemd/sd-bus/bus-convenience.c, `sd_bus_query_sender_privilege`).

use std::path::Path;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use systemd::ActiveState;
use tokio::runtime::{Builder, Runtime};

use crate::systemd::{Active, Origin, Refused, Service, Systemd};

/// The timeout of a call. systemd answers at once unless it is in serious trouble; a reload runs
/// all generators.
const ANSWER: Duration = Duration::from_secs(60);

/// How long a service may take to end. The agent's own limit is 60 s; after that systemd kills it.
const END: Duration = Duration::from_secs(75);

/// A connection for one turn, so that a bus that restarts in between does no harm.
pub struct Bus {
    runtime: Runtime,
    bus: systemd::Bus,
}

impl Bus {
    /// Connects to the socket at this path.
    ///
    /// # Errors
    /// If nothing answers there.
    pub fn connect(socket: &Path) -> Result<Self, Refused> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Refused::Call(error.to_string()))?;
        let bus = runtime.block_on(systemd::Bus::at(socket, ANSWER))?;
        Ok(Self { runtime, bus })
    }
}

impl From<systemd::Error> for Refused {
    fn from(error: systemd::Error) -> Self {
        Self::Call(error.to_string())
    }
}

impl Systemd for Bus {
    fn service(&self, unit: &str) -> Result<Service, Refused> {
        let service = self.runtime.block_on(self.bus.service(unit))?;
        Ok(Service {
            origin: origin(&service.fragment),
            active: active(&service.state),
            seconds: since(service.entered),
            status: service.status,
        })
    }

    fn alive(&self, pattern: &str) -> Result<Vec<String>, Refused> {
        Ok(self.runtime.block_on(self.bus.alive(pattern))?)
    }

    fn reload(&self) -> Result<(), Refused> {
        Ok(self.runtime.block_on(self.bus.reload())?)
    }

    fn start(&self, unit: &str) -> Result<(), Refused> {
        Ok(self.runtime.block_on(self.bus.start(unit))?)
    }

    fn stop(&self, unit: &str) -> Result<(), Refused> {
        if self.runtime.block_on(self.bus.end(unit, END))? {
            return Ok(());
        }
        Err(Refused::StillThere {
            unit: unit.to_owned(),
            seconds: END.as_secs(),
        })
    }
}

fn origin(fragment: &str) -> Origin {
    match fragment {
        "" => Origin::Nobody,
        // For hosts where /lib is not a link to /usr/lib.
        path if path.starts_with("/usr/lib/") || path.starts_with("/lib/") => Origin::Image,
        _ => Origin::Elsewhere,
    }
}

const fn active(state: &ActiveState) -> Active {
    match state {
        ActiveState::Active | ActiveState::Reloading => Active::Running,
        ActiveState::Inactive | ActiveState::Failed => Active::Down,
        ActiveState::Activating | ActiveState::Other(_) => Active::Changing,
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
        assert_eq!(active(&ActiveState::Activating), Active::Changing);
        assert_eq!(active(&ActiveState::Failed), Active::Down);
        assert_eq!(active(&ActiveState::Active), Active::Running);
    }

    #[test]
    fn a_bus_that_is_not_there_is_an_error_and_no_panic() {
        let error = Bus::connect(Path::new("/no/such/socket")).err().unwrap();
        assert!(error.to_string().contains("systemd on the host"), "{error}");
    }
}
