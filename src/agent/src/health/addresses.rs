//! Where a trial asks the kubelet and the container runtime, and whether they listen there. One
//! that listens elsewhere serves well on the old system and fails every trial.

use std::path::Path;
use std::time::Duration;

use systemd::{ActiveState, Bus};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep, timeout};
use upgrade::{Reason, names};

use super::{kubelet, runtime};

/// How long a service that runs may not listen: it may have just started.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pause between two looks, and the limit of one.
const PAUSE: Duration = Duration::from_secs(1);

/// A service, and where it must answer.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) at: &'static str,
    /// What moves it elsewhere.
    pub(crate) fix: &'static str,
}

pub(crate) const KUBELET: Service = Service {
    name: "kubelet",
    unit: names::KUBELET_UNIT,
    at: kubelet::ADDRESS,
    fix: "keep healthzBindAddress and healthzPort of its configuration at their defaults; otherwise see journalctl -u kubelet",
};

pub(crate) const CONTAINERD: Service = Service {
    name: "containerd",
    unit: names::RUNTIME_UNIT,
    at: runtime::SOCKET,
    fix: "keep the address of its [grpc] at the default (/etc/containerd/config.toml); otherwise see journalctl -u containerd",
};

impl Service {
    /// The state of its unit; `None` if systemd does not answer.
    pub(crate) async fn state(&self) -> Option<ActiveState> {
        let bus = Bus::system().await.ok()?;
        bus.state(self.unit).await.ok()?
    }
}

/// Whether both services of this system listen where a trial asks them. One that does not run is
/// no fault here: the upgrade may be its cure. The same holds for one that listens and is not well.
///
/// # Errors
/// [`Reason::UnhealthyBefore`] for the first one that runs and listens elsewhere.
pub(super) async fn rehearse() -> Result<(), Reason> {
    for service in [&CONTAINERD, &KUBELET] {
        let state = || service.state();
        if listens_elsewhere(service.at, state, PATIENCE).await {
            return Err(moved(service));
        }
    }
    Ok(())
}

fn moved(service: &Service) -> Reason {
    let Service {
        name,
        unit,
        at,
        fix,
    } = service;
    Reason::UnhealthyBefore {
        check: (*name).to_owned(),
        detail: format!("{unit} is active, and nothing listens at {at}, where a trial asks; {fix}"),
    }
}

/// Whether the unit is active all the time and nothing listens at the address.
async fn listens_elsewhere<F>(at: &str, state: impl Fn() -> F, patience: Duration) -> bool
where
    F: Future<Output = Option<ActiveState>>,
{
    let begun = Instant::now();
    loop {
        if state().await != Some(ActiveState::Active) || is_open(at).await {
            return false;
        }
        if begun.elapsed() >= patience {
            return true;
        }
        sleep(PAUSE.min(patience)).await;
    }
}

/// Whether something accepts a connection at this address or socket. What cannot be asked in time
/// is taken for open.
async fn is_open(at: &str) -> bool {
    let connects = async {
        if Path::new(at).is_absolute() {
            UnixStream::connect(at).await.is_ok()
        } else {
            TcpStream::connect(at).await.is_ok()
        }
    };
    timeout(PAUSE, connects).await.unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn elsewhere(at: &str, state: Option<ActiveState>) -> bool {
        let state = || std::future::ready(state.clone());
        listens_elsewhere(at, state, Duration::from_millis(20)).await
    }

    #[tokio::test]
    async fn service_that_runs_and_listens_elsewhere_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("containerd.sock");
        let at = socket.to_str().unwrap();
        let active = || Some(ActiveState::Active);
        assert!(elsewhere(at, active()).await);
        let _open = tokio::net::UnixListener::bind(&socket).unwrap();
        assert!(!elsewhere(at, active()).await);
        // Another test may get a port of 127.0.0.1 as soon as it is free.
        let port = tokio::net::TcpListener::bind("127.41.7.3:0").await.unwrap();
        let at = port.local_addr().unwrap().to_string();
        assert!(!elsewhere(&at, active()).await);
        drop(port);
        assert!(elsewhere(&at, active()).await);
    }

    #[tokio::test]
    async fn service_that_does_not_run_refuses_no_upgrade() {
        for state in [
            None,
            Some(ActiveState::Activating),
            Some(ActiveState::Failed),
            Some(ActiveState::Inactive),
        ] {
            assert!(!elsewhere("/no/such/socket", state).await);
        }
    }

    #[test]
    fn reason_names_the_address_and_what_moves_it() {
        let text = moved(&KUBELET).to_string();
        for words in [
            "kubelet.service is active",
            "127.0.0.1:10248",
            "healthzPort",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
