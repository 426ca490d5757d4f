//! The kubelet and containerd, at the addresses that a trial uses. A service that answers elsewhere
//! fails every trial.

use std::path::Path;

use systemd::{ActiveState, Bus};
use upgrade::observe::Check;

use super::finding::Finding;
use super::patient::Patient;
use crate::health::addresses::{CONTAINERD, KUBELET, Service};
use crate::health::{kubelet, runtime};

/// The state of each service. Only for the running system, because the services of another root
/// cannot be asked.
pub(super) fn services(patient: &Patient) -> Vec<Finding> {
    if patient.places.root != Path::new("/") {
        return Vec::new();
    }
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match built {
        Ok(runtime) => runtime.block_on(ask()),
        Err(error) => [KUBELET.name, CONTAINERD.name, UNITS]
            .map(|name| Finding::warn(name, format!("not asked: {error}"), ""))
            .to_vec(),
    }
}

async fn ask() -> Vec<Finding> {
    let kubelet = kubelet::check().await;
    let containerd = runtime::check(Path::new(runtime::SOCKET)).await;
    vec![
        judge(&KUBELET, &kubelet, KUBELET.state().await.as_ref()),
        judge(&CONTAINERD, &containerd, CONTAINERD.state().await.as_ref()),
        system().await,
    ]
}

/// The check of all other units.
const UNITS: &str = "failed units";

/// The most failed units that a finding names.
const NAMED: usize = 8;

async fn system() -> Finding {
    let asked = async {
        let bus = Bus::system().await?;
        let failed = bus.fallen().await?.into_iter().map(|unit| unit.name);
        Ok::<_, systemd::Error>((bus.system_state().await?, failed.collect::<Vec<_>>()))
    };
    match asked.await {
        Ok((state, failed)) => judge_system(&state, &failed),
        Err(error) => Finding::warn(UNITS, format!("systemd does not answer: {error}"), ""),
    }
}

/// A unit that has failed before an upgrade will fail in its trial too. So a person must know it
/// before the upgrade, or blames the image.
fn judge_system(state: &str, failed: &[String]) -> Finding {
    if failed.is_empty() {
        return Finding::ok(UNITS, format!("systemd says {state}; no unit has failed"));
    }
    let more = match failed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = failed[..failed.len().min(NAMED)].join(", ");
    Finding::warn(
        UNITS,
        format!("systemd says {state}; failed units: {named}{more}"),
        "read systemctl status of each, and fix it, or clear an old failure with systemctl reset-failed",
    )
}

/// A node may be examined before its kubelet is up. A kubelet that is up and does not answer here
/// does not answer a trial either.
fn judge(service: &Service, answer: &Check, state: Option<&ActiveState>) -> Finding {
    let (Check::Fail(why) | Check::Broken(why) | Check::Pending(why)) = answer else {
        return Finding::ok(service.name, format!("answers at {}", service.at));
    };
    match state {
        Some(ActiveState::Active) => {
            let seen = format!("{why}; {} is active, and a trial asks there", service.unit);
            Finding::bad(service.name, seen, service.fix)
        }
        state => {
            let state = state.map_or("not loaded", ActiveState::as_str);
            let seen = format!("{why}; {} is {state}", service.unit);
            let fix = format!(
                "start it and run the doctor again: systemctl start {}",
                service.unit
            );
            Finding::warn(service.name, seen, &fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Bad, Ok, Warn};
    use super::*;

    #[test]
    fn active_kubelet_not_answering_healthz_is_bad_with_its_address() {
        let why = format!("healthz on {}: Connection refused", kubelet::ADDRESS);
        let found = judge(&KUBELET, &Check::Fail(why), Some(&ActiveState::Active));
        assert_eq!(found.verdict, Bad);
        for word in ["127.0.0.1:10248", "kubelet.service is active"] {
            assert!(found.found.contains(word), "{found:?}");
        }
        assert!(found.fix.contains("healthzPort"), "{found:?}");
    }

    #[test]
    fn failed_units_are_named_and_make_no_upgrade_impossible() {
        let found = judge_system("running", &[]);
        assert_eq!(found.verdict, Ok);
        let failed: Vec<_> = (0..10).map(|at| format!("u{at}.service")).collect();
        let found = judge_system("degraded", &failed[..1]);
        assert_eq!(found.verdict, Warn);
        assert_eq!(
            found.found,
            "systemd says degraded; failed units: u0.service"
        );
        let found = judge_system("degraded", &failed);
        assert!(found.found.ends_with("u7.service and 2 more"), "{found:?}");
    }

    #[test]
    fn containerd_without_its_socket_is_bad_and_answering_one_is_ok() {
        let no_file = Check::Fail(format!("{}: No such file or directory", runtime::SOCKET));
        let found = judge(&CONTAINERD, &no_file, Some(&ActiveState::Active));
        assert_eq!(found.verdict, Bad);
        assert!(found.fix.contains("config.toml"), "{found:?}");
        for state in [
            Some(&ActiveState::Active),
            Some(&ActiveState::Reloading),
            None,
        ] {
            assert_eq!(judge(&CONTAINERD, &Check::Pass, state).verdict, Ok);
        }
    }

    #[test]
    fn kubelet_not_yet_active_warns_and_suggests_starting_it() {
        for (state, word) in [
            (Some(&ActiveState::Inactive), "is inactive"),
            (Some(&ActiveState::Activating), "is activating"),
            (None, "is not loaded"),
        ] {
            let found = judge(&KUBELET, &Check::Fail("refused".to_owned()), state);
            assert_eq!(found.verdict, Warn);
            assert!(found.found.contains(word), "{found:?}");
            assert!(found.fix.contains("systemctl start kubelet"), "{found:?}");
        }
    }
}
