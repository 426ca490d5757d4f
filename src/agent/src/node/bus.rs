//! The few D-Bus calls we make, written by hand: a dozen lines each instead of a crate that follows every systemd release.

use zbus::{ObjectPath, OwnedFd, OwnedObjectPath, Variant, proxy};

/// A unit's property for [`ManagerProxy::start_transient_unit`].
pub type Property<'a> = (&'a str, Variant<'a>);

/// One unit as `ListUnitsByPatterns` tells it; the first is its name.
pub type Listed = (
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
pub trait Manager {
    /// Starts a unit that is made of properties alone.
    fn start_transient_unit(
        &self,
        name: &str,
        mode: &str,
        properties: &[Property<'_>],
        auxiliary: &[(&str, Vec<Property<'_>>)],
    ) -> zbus::Result<OwnedObjectPath>;
    /// Stops a unit.
    fn stop_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;
    /// Restarts a unit.
    fn restart_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;
    /// Units in these states, by patterns of their names.
    fn list_units_by_patterns(
        &self,
        states: &[&str],
        patterns: &[&str],
    ) -> zbus::Result<Vec<Listed>>;
    /// The object of a loaded unit.
    fn get_unit(&self, name: &str) -> zbus::Result<OwnedObjectPath>;
    /// Asks for signals.
    fn subscribe(&self) -> zbus::Result<()>;
    /// Reboots without stopping units.
    fn reboot(&self) -> zbus::Result<()>;
    /// A job has ended.
    #[zbus(signal)]
    fn job_removed(
        &self,
        id: u32,
        job: ObjectPath<'_>,
        unit: &str,
        result: &str,
    ) -> zbus::Result<()>;
}

#[proxy(
    interface = "org.freedesktop.systemd1.Unit",
    default_service = "org.freedesktop.systemd1"
)]
pub trait Unit {
    /// `active`, `activating`, `deactivating`, `inactive`, `failed`, ...
    #[zbus(property(emits_changed_signal = "false"))]
    fn active_state(&self) -> zbus::Result<String>;
}

#[proxy(
    interface = "org.freedesktop.login1.Manager",
    default_service = "org.freedesktop.login1",
    default_path = "/org/freedesktop/login1"
)]
pub trait Login {
    /// Takes an inhibitor lock; it holds until the descriptor is closed.
    fn inhibit(&self, what: &str, who: &str, why: &str, mode: &str) -> zbus::Result<OwnedFd>;
    /// Reboots. Flags 0 is a plain reboot: `systemctl reboot` would turn itself into kexec or a soft reboot where one is prepared.
    fn reboot_with_flags(&self, flags: u64) -> zbus::Result<()>;
    /// Inhibitor locks as (what, who, why, mode, uid, pid).
    fn list_inhibitors(&self) -> zbus::Result<Vec<(String, String, String, String, u32, u32)>>;
    /// The shutdown begins, or was called off.
    #[zbus(signal)]
    fn prepare_for_shutdown(&self, start: bool) -> zbus::Result<()>;
}
