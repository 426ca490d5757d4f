//! The D-Bus interfaces org.freedesktop.systemd1(5) and org.freedesktop.login1(5), as far as Careen
//! uses them.

use zbus::{ObjectPath, OwnedFd, OwnedObjectPath, Variant, proxy};

/// A property of a transient unit.
pub type Property<'a> = (&'a str, Variant<'a>);

/// One command of a service. The first field is the program's path.
pub type Command = (String, Vec<String>, bool, u64, u64, u64, u64, u32, i32, i32);

/// One unit in the answer of `ListUnitsByPatterns`. The first field is its name.
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

/// One job in the answer of `ListJobs`: id, unit, type, state, and the two objects.
pub type Job = (
    u32,
    String,
    String,
    String,
    OwnedObjectPath,
    OwnedObjectPath,
);

#[proxy(
    interface = "org.freedesktop.systemd1.Manager",
    default_service = "org.freedesktop.systemd1",
    default_path = "/org/freedesktop/systemd1"
)]
pub trait Manager {
    fn start_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;
    fn start_transient_unit(
        &self,
        name: &str,
        mode: &str,
        properties: &[Property<'_>],
        auxiliary: &[(&str, Vec<Property<'_>>)],
    ) -> zbus::Result<OwnedObjectPath>;
    fn stop_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;
    fn restart_unit(&self, name: &str, mode: &str) -> zbus::Result<OwnedObjectPath>;
    fn reload(&self) -> zbus::Result<()>;
    fn reboot(&self) -> zbus::Result<()>;
    fn get_unit(&self, name: &str) -> zbus::Result<OwnedObjectPath>;
    fn load_unit(&self, name: &str) -> zbus::Result<OwnedObjectPath>;
    fn list_units_by_patterns(
        &self,
        states: &[&str],
        patterns: &[&str],
    ) -> zbus::Result<Vec<Listed>>;
    fn list_jobs(&self) -> zbus::Result<Vec<Job>>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn system_state(&self) -> zbus::Result<String>;
    fn subscribe(&self) -> zbus::Result<()>;
    /// When the systemd of the initramfs started, in microseconds of `CLOCK_MONOTONIC`: 0 without
    /// one.
    #[zbus(
        property(emits_changed_signal = "false"),
        name = "InitRDTimestampMonotonic"
    )]
    fn initramfs_began(&self) -> zbus::Result<u64>;
    /// When the systemd of the real root started.
    #[zbus(
        property(emits_changed_signal = "false"),
        name = "UserspaceTimestampMonotonic"
    )]
    fn userspace_began(&self) -> zbus::Result<u64>;
    /// When the boot was finished: 0 until then.
    #[zbus(
        property(emits_changed_signal = "false"),
        name = "FinishTimestampMonotonic"
    )]
    fn boot_finished(&self) -> zbus::Result<u64>;
    /// For how long systemd may be silent before the hardware watchdog resets the machine, in
    /// microseconds: 0 without a watchdog.
    #[zbus(property(emits_changed_signal = "false"), name = "RuntimeWatchdogUSec")]
    fn runtime_watchdog(&self) -> zbus::Result<u64>;
    #[zbus(property, name = "RuntimeWatchdogUSec")]
    fn set_runtime_watchdog(&self, micros: u64) -> zbus::Result<()>;
    /// The watchdog that systemd feeds, or would feed. Empty for the first one.
    #[zbus(property(emits_changed_signal = "false"))]
    fn watchdog_device(&self) -> zbus::Result<String>;
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
    #[zbus(property(emits_changed_signal = "false"))]
    fn fragment_path(&self) -> zbus::Result<String>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn drop_in_paths(&self) -> zbus::Result<Vec<String>>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn active_state(&self) -> zbus::Result<String>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn triggered_by(&self) -> zbus::Result<Vec<String>>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn wanted_by(&self) -> zbus::Result<Vec<String>>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn required_by(&self) -> zbus::Result<Vec<String>>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn unit_file_state(&self) -> zbus::Result<String>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn active_enter_timestamp_monotonic(&self) -> zbus::Result<u64>;
}

#[proxy(
    interface = "org.freedesktop.systemd1.Service",
    default_service = "org.freedesktop.systemd1"
)]
pub trait ServiceUnit {
    #[zbus(property(emits_changed_signal = "false"))]
    fn status_text(&self) -> zbus::Result<String>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn result(&self) -> zbus::Result<String>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn environment_files(&self) -> zbus::Result<Vec<(String, bool)>>;
    #[zbus(property(emits_changed_signal = "false"))]
    fn exec_start(&self) -> zbus::Result<Vec<Command>>;
    /// How the main process ended, as in siginfo's `si_code`: 0 while it has not ended.
    #[zbus(property(emits_changed_signal = "false"))]
    fn exec_main_code(&self) -> zbus::Result<i32>;
    /// Its exit status, or the signal.
    #[zbus(property(emits_changed_signal = "false"))]
    fn exec_main_status(&self) -> zbus::Result<i32>;
    #[zbus(property(emits_changed_signal = "false"), name = "LimitNOFILE")]
    fn open_files(&self) -> zbus::Result<u64>;
    #[zbus(property(emits_changed_signal = "false"), name = "LimitNOFILESoft")]
    fn open_files_soft(&self) -> zbus::Result<u64>;
    #[zbus(property(emits_changed_signal = "false"), name = "LimitMEMLOCK")]
    fn locked_memory(&self) -> zbus::Result<u64>;
    #[zbus(property(emits_changed_signal = "false"), name = "TasksMax")]
    fn tasks(&self) -> zbus::Result<u64>;
}

/// logind.
#[proxy(
    interface = "org.freedesktop.login1.Manager",
    default_service = "org.freedesktop.login1",
    default_path = "/org/freedesktop/login1"
)]
pub trait Login {
    /// Takes an inhibitor lock, which lasts until the descriptor is closed.
    fn inhibit(&self, what: &str, who: &str, why: &str, mode: &str) -> zbus::Result<OwnedFd>;
    /// Reboots. Flags 0 means a plain reboot: `systemctl reboot` would become a kexec or a soft
    /// reboot if one is prepared.
    fn reboot_with_flags(&self, flags: u64) -> zbus::Result<()>;
    /// Inhibitor locks as (what, who, why, mode, uid, pid).
    fn list_inhibitors(&self) -> zbus::Result<Vec<(String, String, String, String, u32, u32)>>;
    /// The longest time for which a lock of the mode `delay` delays a shutdown, in microseconds.
    /// The kubelet raises it to its `shutdownGracePeriod` (kubernetes,
    /// pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go).
    #[zbus(property(emits_changed_signal = "false"), name = "InhibitDelayMaxUSec")]
    fn longest_delay(&self) -> zbus::Result<u64>;
    /// The shutdown starts, or was cancelled.
    #[zbus(signal)]
    fn prepare_for_shutdown(&self, start: bool) -> zbus::Result<()>;
}
