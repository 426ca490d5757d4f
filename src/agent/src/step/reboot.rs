//! Reboots through logind, and holds the lock that stops others from rebooting while a step runs.

use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use host::power;
use systemd::{Bus, LoginProxy, OwnedFd, PrepareForShutdownStream};
use upgrade::{Reason, policy};

use crate::limits;

/// How long logind may take to begin the shutdown. Programs that delay it (a kubelet's graceful
/// shutdown) run after that signal.
const BEGIN: Duration = Duration::from_secs(30);

/// How long systemd's reboot without stopping units may take before the agent asks the kernel.
const LAST_RESORT: Duration = Duration::from_secs(60);

/// Stops others from rebooting until it is dropped. Since systemd 257 it also binds root.
pub struct Lock {
    _held: OwnedFd,
}

/// Takes the lock. Returns `None` without logind, because the step itself matters more.
pub async fn lock(why: &str) -> Option<Lock> {
    let take = async {
        let bus = Bus::system().await?;
        let login = bus.login().await?;
        let inhibit = login.inhibit("shutdown", "careen-agent", why, "block");
        bus.limited(inhibit).await
    };
    match take.await {
        Ok(held) => Some(Lock { _held: held }),
        Err(error) => {
            tracing::warn!("cannot take the inhibitor lock: {error}");
            None
        }
    }
}

/// Reboots, and returns only if that fails. `boot` is the folder /boot.
///
/// A shutdown that has begun cannot be called off, so its limit is what logind and the policy
/// allow: a node that is given back while it still shuts down would reboot under its pods.
///
/// # Errors
/// [`Reason::RebootRefused`].
pub async fn perform(boot: &Path, by_force: bool, policy: &policy::Reboot) -> Result<(), Reason> {
    if by_force {
        return force(boot).await;
    }
    let seconds = limits::of_shutdown(policy).await;
    ask().await?;
    // This step ends with a SIGTERM to the agent. A return of "done" would only begin the step
    // again.
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    Err(refused(&format!(
        "the shutdown began but has not ended in {seconds} s"
    )))
}

/// Requests a reboot and returns when it has begun. A SIGTERM to the agent follows.
///
/// # Errors
/// [`Reason::RebootRefused`], with the holders of the locks that block it.
pub async fn ask() -> Result<(), Reason> {
    let bus = Bus::system().await.map_err(|error| refused(&error))?;
    ask_on(&bus).await
}

/// As [`ask`], on this bus.
///
/// # Errors
/// As [`ask`].
pub async fn ask_on(bus: &Bus) -> Result<(), Reason> {
    let login = bus.login().await.map_err(|error| refused(&error))?;
    let begun = bus.limited(login.receive_prepare_for_shutdown());
    let begun = begun.await.map_err(|error| refused(&error))?;
    let holders = holders(bus, &login);
    if let Err(error) = bus.limited(login.reboot_with_flags(0)).await {
        let holders = holders.await;
        return Err(refused(&format!("{error}{holders}")));
    }
    match tokio::time::timeout(BEGIN, begins(begun)).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused(&"logind disappeared")),
        Err(_) => {
            let (seconds, holders) = (BEGIN.as_secs(), holders.await);
            let late = format!("logind did not begin the reboot in {seconds} s{holders}");
            Err(refused(&late))
        }
    }
}

fn refused(detail: &dyn std::fmt::Display) -> Reason {
    let detail = detail.to_string();
    Reason::RebootRefused { detail }
}

/// Whether the shutdown begins before logind goes away.
async fn begins(mut signals: PrepareForShutdownStream) -> bool {
    while let Some(signal) = signals.next().await {
        if signal.args().is_ok_and(|args| args.start) {
            return true;
        }
    }
    false
}

/// The holders of the locks that block a shutdown, for a person.
async fn holders(bus: &Bus, login: &LoginProxy<'_>) -> String {
    let all = bus.limited(login.list_inhibitors());
    let all = all.await.unwrap_or_default();
    let blocking = all
        .iter()
        .filter(|(what, _, _, mode, ..)| {
            mode.starts_with("block") && what.split(':').any(|part| part == "shutdown")
        })
        .map(|(_, who, why, ..)| format!("{who} ({why})"))
        .collect::<Vec<_>>();
    if blocking.is_empty() {
        String::new()
    } else {
        format!("; delayed by {}", blocking.join(", "))
    }
}

/// Reboots by force: through systemd without stopping units, then through the kernel.
///
/// # Errors
/// [`Reason::RebootRefused`] if even the kernel fails to reboot.
async fn force(boot: &Path) -> Result<(), Reason> {
    let asked = async { Bus::system().await?.reboot().await };
    if let Err(error) = asked.await {
        tracing::warn!("systemd did not reboot: {error}");
    } else {
        tokio::time::sleep(LAST_RESORT).await;
    }
    let boot = boot.to_owned();
    let reboot = move || power::force_reboot(&boot, power::DEVICES);
    let refused = tokio::task::spawn_blocking(reboot).await;
    let detail = refused.map_or_else(|error| error.to_string(), |errno| errno.to_string());
    Err(Reason::RebootRefused { detail })
}
