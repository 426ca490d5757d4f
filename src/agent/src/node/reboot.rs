//! Rebooting through logind, and the lock that keeps others from doing so while we work.

use std::time::Duration;

use futures::StreamExt;
use upgrade::Reason;
use zbus::OwnedFd;

use super::bus::LoginProxy;
use super::systemd::{Bus, timed};

/// How long logind has to begin the shutdown. Programs that delay it (a kubelet's graceful shutdown) come after that signal.
const BEGIN: Duration = Duration::from_secs(30);

/// How long systemd's reboot without stopping units may take before the kernel is asked.
const LAST_RESORT: Duration = Duration::from_secs(60);

/// Keeps others from rebooting until it is dropped. Since systemd 257 it binds root too.
pub struct Lock {
    _held: OwnedFd,
}

/// Takes the lock. Without logind there is none: the step itself matters more.
pub async fn lock(why: &str) -> Option<Lock> {
    let take = async {
        let bus = Bus::connect().await?;
        let login = LoginProxy::new(bus.connection()).await?;
        timed(login.inhibit("shutdown", "careen-agent", why, "block")).await
    };
    match take.await {
        Ok(held) => Some(Lock { _held: held }),
        Err(error) => {
            tracing::warn!("no inhibitor lock: {error}");
            None
        }
    }
}

/// Asks for a reboot and returns when it has begun; what follows is a SIGTERM to us.
///
/// # Errors
/// [`Reason::RebootRefused`], with those who hold it up.
pub async fn ask() -> Result<(), Reason> {
    begin()
        .await
        .map_err(|detail| Reason::RebootRefused { detail })
}

async fn begin() -> Result<(), String> {
    let text = |error: zbus::Error| error.to_string();
    let bus = Bus::connect().await.map_err(text)?;
    let login = LoginProxy::new(bus.connection()).await.map_err(text)?;
    let mut begun = login.receive_prepare_for_shutdown().await.map_err(text)?;
    if let Err(error) = timed(login.reboot_with_flags(0)).await {
        return Err(format!("{error}{}", holders(&login).await));
    }
    let begun = async {
        while let Some(signal) = begun.next().await {
            if signal.args().is_ok_and(|args| args.start) {
                return true;
            }
        }
        false
    };
    match tokio::time::timeout(BEGIN, begun).await {
        Ok(true) => Ok(()),
        Ok(false) => Err("logind went away".to_owned()),
        Err(_) => {
            let holders = holders(&login).await;
            Err(format!(
                "logind did not begin it in {} s{holders}",
                BEGIN.as_secs()
            ))
        }
    }
}

/// Who blocks a shutdown, for a person.
async fn holders(login: &LoginProxy<'_>) -> String {
    let all = timed(login.list_inhibitors()).await.unwrap_or_default();
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
        format!("; held up by {}", blocking.join(", "))
    }
}

/// Reboots by force: systemd without its units, then the kernel.
///
/// # Errors
/// [`Reason::RebootRefused`] when not even the kernel would.
pub async fn force(boot: &std::path::Path) -> Result<(), Reason> {
    let asked = async { timed(Bus::connect().await?.systemd().await?.reboot()).await };
    if let Err(error) = asked.await {
        tracing::warn!("systemd does not reboot: {error}");
    } else {
        tokio::time::sleep(LAST_RESORT).await;
    }
    let boot = boot.to_owned();
    let refused = tokio::task::spawn_blocking(move || host::power::force_reboot(&boot)).await;
    let detail = refused.map_or_else(|error| error.to_string(), |errno| errno.to_string());
    Err(Reason::RebootRefused { detail })
}
