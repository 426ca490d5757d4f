//! Units that are active, and those of them that each boot starts.

use std::collections::BTreeSet;

use zbus::Result;

use crate::bus::{Bus, is_not_loaded};
use crate::proxies::Listed;

/// The kinds of units.
const KINDS: [&str; 3] = ["*.mount", "*.swap", "*.service"];

/// A service whose program runs, and one whose program has ended and that stays active
/// (systemd.service(5), `RemainAfterExit=`).
const UP: [&str; 2] = ["running", "exited"];

/// The folder of units that nobody wrote as a file.
const TRANSIENT: &str = "/run/systemd/transient/";

impl Bus {
    /// The names of the active mounts, swaps and services.
    ///
    /// # Errors
    /// The bus is down, or systemd does not answer.
    pub async fn active(&self) -> Result<BTreeSet<String>> {
        let listed = self.listed_active().await?;
        Ok(listed.into_iter().map(|unit| unit.0).collect())
    }

    /// Those of them that each boot starts and keeps: mounts and swaps of a file or of fstab that
    /// another unit wants, and enabled services that run or have done their work. What a socket or
    /// an automount starts comes only when somebody asks for it. A unit that `may` refuses is not looked at.
    ///
    /// # Errors
    /// As [`Bus::active`].
    pub async fn started_at_boot(&self, may: fn(&str) -> bool) -> Result<BTreeSet<String>> {
        let mut started = BTreeSet::new();
        let listed = self.listed_active().await?;
        for unit in listed.into_iter().filter(|unit| may(&unit.0)) {
            match self.is_started_at_boot(&unit).await {
                Ok(true) => drop(started.insert(unit.0)),
                Ok(false) => {}
                // It is gone since.
                Err(error) if is_not_loaded(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(started)
    }

    async fn listed_active(&self) -> Result<Vec<Listed>> {
        let systemd = self.manager().await?;
        let listed = systemd.list_units_by_patterns(&["active"], &KINDS);
        self.limited(listed).await
    }

    async fn is_started_at_boot(&self, listed: &Listed) -> Result<bool> {
        let unit = self.unit(listed.6.clone()).await?;
        let file = self.limited(unit.fragment_path()).await?;
        let is_on_demand = !self.limited(unit.triggered_by()).await?.is_empty();
        if file.is_empty() || file.starts_with(TRANSIENT) || is_on_demand {
            return Ok(false);
        }
        if listed.0.ends_with(".service") {
            let state = self.limited(unit.unit_file_state()).await?;
            return Ok(UP.contains(&listed.4.as_str()) && state == "enabled");
        }
        let wanted = self.limited(unit.wanted_by()).await?;
        let required = self.limited(unit.required_by()).await?;
        Ok(!(wanted.is_empty() && required.is_empty()))
    }
}
