//! A signal that asks this program to end. While kubeadm runs nobody is heard: kubeadm ends with
//! this program, and half an upgrade is worse than a late one.

use std::cell::Cell;
use std::future::pending;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use upgrade::control_plane::raise::Phase;

use super::order::Failed;

/// How far a raise is.
#[derive(Debug)]
pub(super) struct Progress(Cell<Phase>);

impl Progress {
    pub const fn new() -> Self {
        Self(Cell::new(Phase::Look))
    }

    /// The raise is at this phase now.
    pub fn at(&self, phase: Phase) {
        self.0.set(phase);
    }
}

/// Ends when somebody asks for the end and no kubeadm runs.
pub(super) async fn asked(progress: &Progress) -> Failed {
    // Without them the kernel ends this program, and kubeadm with it.
    let Ok(mut signals) = Signals::listen() else {
        return pending().await;
    };
    loop {
        signals.next().await;
        match progress.0.get() {
            Phase::Kubeadm => {
                eprintln!("careen-control: kubeadm is running; careen-control waits for it to end");
            }
            phase @ (Phase::Look
            | Phase::Render
            | Phase::Images
            | Phase::Ledger
            | Phase::Manifests
            | Phase::Serving) => {
                let why = "a signal has ended it. Run it again with the same --upgrade".to_owned();
                return Failed { phase, why };
            }
        }
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use nix::sys::signal::{Signal, raise};
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn signal_waits_for_kubeadm_and_ends_all_else() {
        let progress = Progress::new();
        progress.at(Phase::Kubeadm);
        let mut asked = pin!(asked(&progress));
        let soon = Duration::from_millis(300);
        assert!(timeout(soon, &mut asked).await.is_err());
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            raise(signal).unwrap();
            assert!(timeout(soon, &mut asked).await.is_err(), "{signal}");
        }
        progress.at(Phase::Serving);
        raise(Signal::SIGTERM).unwrap();
        let failed = timeout(Duration::from_secs(20), asked).await.unwrap();
        assert_eq!(failed.phase, Phase::Serving);
        assert!(failed.why.contains("signal"), "{failed:?}");
    }
}
