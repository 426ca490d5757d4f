//! The few calls that the installer makes to the host's systemd.

use thiserror::Error;

/// Why a call failed.
#[derive(Debug, Error)]
pub enum Refused {
    /// systemd was not reachable, or refused.
    #[error("systemd on the host: {0}")]
    Call(String),
    /// systemd stopped the unit, but the unit did not end.
    #[error("{unit} did not end within {seconds} s after it was stopped")]
    StillThere {
        /// The unit.
        unit: String,
        /// How long the installer waited.
        seconds: u64,
    },
}

/// Whether a unit runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Active {
    /// It runs, and has reported that it is ready.
    Running,
    /// It starts or stops, or waits for its next start.
    Changing,
    /// It does not run, and will not start by itself.
    #[default]
    Down,
}

/// Where a unit's file comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// There is no file.
    #[default]
    Nobody,
    /// The image, below /usr.
    Image,
    /// Elsewhere: the installer or the administrator.
    Elsewhere,
}

/// The state of a service, as systemd reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Where its file comes from.
    pub origin: Origin,
    /// Whether it runs.
    pub active: Active,
    /// For how many seconds it has been running.
    pub seconds: u64,
    /// The status text that it reports.
    pub status: String,
}

/// The host's systemd.
pub trait Systemd {
    /// The state of a service.
    ///
    /// # Errors
    /// If systemd does not answer.
    fn service(&self, unit: &str) -> Result<Service, Refused>;

    /// The units that match a pattern and run, start or stop.
    ///
    /// # Errors
    /// If systemd does not answer.
    fn alive(&self, pattern: &str) -> Result<Vec<String>, Refused>;

    /// Reloads all unit files and runs the generators.
    ///
    /// # Errors
    /// If systemd does not.
    fn reload(&self) -> Result<(), Refused>;

    /// Starts a unit, without waiting for the result.
    ///
    /// # Errors
    /// If systemd does not accept the job.
    fn start(&self, unit: &str) -> Result<(), Refused>;

    /// Stops a service and waits until it has ended.
    ///
    /// # Errors
    /// If systemd refuses, or the service does not end.
    fn stop(&self, unit: &str) -> Result<(), Refused>;
}
