//! The few things that are asked of the host's systemd.

use thiserror::Error;

/// Why systemd did not do it.
#[derive(Debug, Error)]
pub enum Refused {
    /// It was not reached, or said no.
    #[error("systemd on the host: {0}")]
    Call(String),
    /// It did, but the unit would not end.
    #[error("{unit} did not end within {seconds} s after it was stopped")]
    StillThere {
        /// The unit.
        unit: String,
        /// How long was waited.
        seconds: u64,
    },
}

/// Whether a unit runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Active {
    /// It runs, and has said so.
    Running,
    /// It starts or stops, or waits to be started again.
    Changing,
    /// It does not, and nothing will change that by itself.
    #[default]
    Down,
}

/// Who brought a unit's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody: there is none.
    #[default]
    Nobody,
    /// The image, below /usr.
    Image,
    /// Somebody else: us, or the administrator.
    Elsewhere,
}

/// What systemd says of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Who brought it.
    pub origin: Origin,
    /// Whether it runs.
    pub active: Active,
    /// For how long it has, in seconds.
    pub seconds: u64,
    /// What it says of itself.
    pub status: String,
}

/// The host's systemd.
pub trait Systemd {
    /// How a service is.
    ///
    /// # Errors
    /// When systemd does not say.
    fn service(&self, unit: &str) -> Result<Service, Refused>;

    /// The units that match a pattern and run, start or stop.
    ///
    /// # Errors
    /// When systemd does not say.
    fn alive(&self, pattern: &str) -> Result<Vec<String>, Refused>;

    /// Reads all unit files again, and runs generators.
    ///
    /// # Errors
    /// When systemd does not.
    fn reload(&self) -> Result<(), Refused>;

    /// Asks for a start. How it ends is seen later.
    ///
    /// # Errors
    /// When systemd does not take the job.
    fn start(&self, unit: &str) -> Result<(), Refused>;

    /// Stops a service and waits until it has ended.
    ///
    /// # Errors
    /// When systemd does not, or the service does not end.
    fn stop(&self, unit: &str) -> Result<(), Refused>;
}
