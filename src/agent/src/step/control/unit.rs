//! The properties of the transient unit of one careen-control run.

use std::path::Path;

use systemd::{Property, Variant};
use upgrade::names;

use super::super::oneshot::{self, SECOND};
use super::run::Run;

/// The most memory of a run, in bytes. kubeadm has a soft limit instead.
const MEMORY: u64 = 512 * 1024 * 1024;

/// How long a raise may take to stop, in microseconds: half an hour. A shutdown waits for kubeadm.
const PATIENCE: u64 = 1800 * SECOND;

/// The unit's properties.
#[must_use]
pub fn properties(program: &Path, run: &Run, output: &Path) -> Vec<Property<'static>> {
    let description = format!("Careen: {} of the control plane", run.task.verb());
    let mut properties = oneshot::properties(description, program, &run.arguments, output);
    // The answer names members and versions of the cluster.
    properties.push(("UMask", Variant::new(0o077_u32)));
    properties.extend(caps(run));
    properties
}

fn caps(run: &Run) -> Vec<Property<'static>> {
    if run.is_raise() {
        return vec![
            // A stop asks careen-control alone, which goes on until kubeadm has ended. Once
            // careen-control is gone, systemd kills what is left and waits until that is gone too
            // (systemd.kill(5)). The unit is alive until then.
            ("KillMode", Variant::new("mixed")),
            ("TimeoutStopUSec", Variant::new(PATIENCE)),
            // A shutdown stops it first: without the static pods kubeadm never ends well.
            ("After", Variant::new(pods())),
            ("OOMScoreAdjust", Variant::new(-900_i32)),
            ("MemoryHigh", Variant::new(MEMORY)),
        ];
    }
    vec![
        ("TimeoutStartUSec", Variant::new(run.seconds * SECOND)),
        ("MemoryMax", Variant::new(MEMORY)),
    ]
}

/// The units of which static pods consist.
fn pods() -> Vec<String> {
    vec![
        names::KUBELET_UNIT.to_owned(),
        names::RUNTIME_UNIT.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use host::Places;
    use upgrade::Policy;
    use upgrade::control_plane::Task;

    use super::super::run::run;
    use super::*;
    use crate::task::ControlOrder;

    fn of(task: Task) -> Vec<Property<'static>> {
        let order = ControlOrder {
            task,
            version: None,
            deployment: None,
        };
        let places = Places::running(Path::new("/"));
        let run = run(&places, &order, &"u1".parse().unwrap(), &Policy::default());
        properties(Path::new("/x"), &run, Path::new("/y"))
    }

    fn has(task: Task, name: &str, value: &Variant<'static>) -> bool {
        let all = of(task);
        all.iter().any(|one| one.0 == name && one.1 == *value)
    }

    /// With `process` a killed careen-control would leave kubeadm, and with `control-group` a stop
    /// would end kubeadm in the middle.
    #[test]
    fn kubeadm_is_stopped_only_once_careen_control_is_gone() {
        assert!(has(Task::Raise, "KillMode", &Variant::new("mixed")));
        let half_an_hour = Variant::new(1_800_000_000_u64);
        assert!(has(Task::Raise, "TimeoutStopUSec", &half_an_hour));
        for task in Task::ALL {
            let bounded = of(task).iter().any(|one| one.0 == "TimeoutStartUSec");
            assert_eq!(bounded, task != Task::Raise, "{task:?}");
        }
    }

    #[test]
    fn shutdown_stops_a_raise_before_the_static_pods() {
        let pods = Variant::new(vec![
            "kubelet.service".to_owned(),
            "containerd.service".to_owned(),
        ]);
        assert!(has(Task::Raise, "After", &pods));
        assert!(!has(Task::Survey, "After", &pods));
    }

    #[test]
    fn every_property_has_the_type_that_systemd_wants() {
        for (name, value) in Task::ALL.into_iter().flat_map(of) {
            // systemd's src/core/dbus-execute.c, dbus-service.c, dbus-cgroup.c, dbus-unit.c.
            let wanted = match name {
                "ExecStart" => "a(sasb)",
                "After" => "as",
                "OOMScoreAdjust" => "i",
                "UMask" => "u",
                "TimeoutStartUSec" | "TimeoutStopUSec" | "MemoryHigh" | "MemoryMax" => "t",
                _ => "s",
            };
            assert_eq!(value.value_signature().to_string(), wanted, "{name}");
        }
    }
}
