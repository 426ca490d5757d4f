//! systemd over D-Bus. zbus waits for an answer without limit, so each call gets one here.

use std::future::Future;
use std::time::Duration;

use zbus::Connection;

use super::bus::{ManagerProxy, UnitProxy};

/// How long a call may take. systemd answers at once or is in deep trouble.
const ANSWER: Duration = Duration::from_secs(25);

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
    pub(super) const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// systemd's manager.
    ///
    /// # Errors
    /// When there is no system bus.
    pub async fn systemd(&self) -> zbus::Result<ManagerProxy<'_>> {
        ManagerProxy::new(&self.connection).await
    }

    /// A unit's state; nothing when it is not loaded.
    ///
    /// # Errors
    /// When systemd does not answer.
    pub async fn state(&self, unit: &str) -> zbus::Result<Option<String>> {
        let path = match timed(self.systemd().await?.get_unit(unit)).await {
            Ok(path) => path,
            // NoSuchUnit: not loaded, which is what a transient unit is once it has ended.
            Err(zbus::Error::MethodError(..)) => return Ok(None),
            Err(other) => return Err(other),
        };
        let unit = UnitProxy::builder(&self.connection)
            .path(path)
            .build()
            .await?;
        match timed(unit.active_state()).await {
            Ok(state) => Ok(Some(state)),
            // It went away between the two calls.
            Err(zbus::Error::MethodError(..) | zbus::Error::FDO(_)) => Ok(None),
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
}

/// A call with a limit on the time of its answer.
///
/// # Errors
/// As the call, and a time-out.
pub async fn timed<T>(call: impl Future<Output = zbus::Result<T>>) -> zbus::Result<T> {
    let late = |_| zbus::Error::Failure(format!("no answer in {} s", ANSWER.as_secs()));
    tokio::time::timeout(ANSWER, call).await.map_err(late)?
}
