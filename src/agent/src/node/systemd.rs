//! systemd over D-Bus. zbus waits for an answer without limit, so each call gets one here.

use std::future::Future;
use std::time::Duration;

use zbus::Connection;

use super::bus::{ManagerProxy, UnitProxy};

/// How long a call may take. systemd answers at once or is in deep trouble.
pub(crate) const ANSWER: Duration = Duration::from_secs(25);

/// systemd's name for a unit that is not loaded (systemd src/libsystemd/sd-bus/bus-common-errors.h).
const NO_SUCH_UNIT: &str = "org.freedesktop.systemd1.NoSuchUnit";

/// The states of a unit in which something is going on.
const ALIVE: [&str; 4] = ["active", "activating", "deactivating", "reloading"];

/// A connection to the system bus. Made for one step and dropped after it: an idle agent holds none, and a bus that was
/// restarted in between is no trouble.
pub struct Bus {
    connection: Connection,
}

impl Bus {
    /// Connects.
    ///
    /// # Errors
    /// When there is no system bus.
    pub async fn connect() -> zbus::Result<Self> {
        Ok(Self {
            connection: timed(Connection::system()).await?,
        })
    }

    /// The connection.
    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// systemd's manager.
    ///
    /// # Errors
    /// When there is no system bus.
    pub async fn systemd(&self) -> zbus::Result<ManagerProxy<'_>> {
        timed(ManagerProxy::new(&self.connection)).await
    }

    /// A unit's state; nothing when it is not loaded.
    ///
    /// # Errors
    /// When systemd does not answer.
    pub async fn state(&self, unit: &str) -> zbus::Result<Option<String>> {
        let path = match timed(self.systemd().await?.get_unit(unit)).await {
            Ok(path) => path,
            Err(error) if is_not_loaded(&error) => return Ok(None),
            Err(other) => return Err(other),
        };
        let unit = UnitProxy::builder(&self.connection).path(path);
        let unit = timed(unit.build()).await?;
        match timed(unit.active_state()).await {
            Ok(state) => Ok(Some(state)),
            // It went away between the two calls.
            Err(error) if is_not_loaded(&error) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Whether a unit runs, or is about to start or stop.
    ///
    /// # Errors
    /// When systemd does not answer.
    pub async fn is_alive(&self, unit: &str) -> zbus::Result<bool> {
        let state = self.state(unit).await?;
        Ok(state.is_some_and(|state| !matches!(state.as_str(), "inactive" | "failed")))
    }

    /// The units of this pattern that run, or are about to start or stop.
    ///
    /// # Errors
    /// When systemd does not answer.
    pub async fn alive(&self, pattern: &str) -> zbus::Result<Vec<String>> {
        let systemd = self.systemd().await?;
        let listed = timed(systemd.list_units_by_patterns(&ALIVE, &[pattern])).await?;
        Ok(listed.into_iter().map(|unit| unit.0).collect())
    }
}

/// Whether systemd says that it has no such unit, which is how a transient one ends. Any other error says nothing of the unit.
fn is_not_loaded(error: &zbus::Error) -> bool {
    if let zbus::Error::MethodError(name, ..) = error {
        return name.as_str() == NO_SUCH_UNIT;
    }
    matches!(error, zbus::Error::FDO(error) if matches!(**error, zbus::fdo::Error::UnknownObject(_)))
}

/// A call with a limit on the time of its answer.
///
/// # Errors
/// As the call, and a time-out.
pub async fn timed<T>(call: impl Future<Output = zbus::Result<T>>) -> zbus::Result<T> {
    within(ANSWER, call).await
}

/// As [`timed`], with this limit.
///
/// # Errors
/// As the call, and a time-out.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = zbus::Result<T>>,
) -> zbus::Result<T> {
    let late = |_| zbus::Error::Failure(format!("no answer of D-Bus in {limit:?}"));
    tokio::time::timeout(limit, call).await.map_err(late)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use zbus::fdo;

    fn answered(name: &str) -> zbus::Error {
        let call = zbus::Message::method_call("/", "GetUnit");
        let call = call.build(&()).unwrap();
        zbus::Error::MethodError(name.try_into().unwrap(), None, call)
    }

    #[test]
    fn only_systemds_own_word_for_it_makes_a_unit_gone() {
        let fdo = |error| zbus::Error::FDO(Box::new(error));
        assert!(is_not_loaded(&answered(NO_SUCH_UNIT)));
        assert!(is_not_loaded(&fdo(
            fdo::Error::UnknownObject(String::new())
        )));
        for other in [
            answered("org.freedesktop.systemd1.LoadFailed"),
            fdo(fdo::Error::NoReply(String::new())),
            fdo(fdo::Error::AccessDenied(String::new())),
            zbus::Error::Failure("no answer of D-Bus in 25s".to_owned()),
        ] {
            assert!(!is_not_loaded(&other), "{other}");
        }
    }
}
