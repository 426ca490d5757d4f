//! Hours that are over by the clock of a distant zone, and open by UTC.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use super::super::prelude::*;

/// Fourteen hours ahead of UTC all year: it has no daylight saving time.
pub const ZONE: &str = "Pacific/Kiritimati";
const AHEAD: u64 = 14 * HOUR;

/// The rig's images have no time zone database, and the node gets only one zone.
pub const ZONE_WITHOUT_A_FILE: &str = "Europe/Berlin";

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// As the agent shows them. 1970 began on a Thursday.
const WEEK: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// `zic -b slim` of `Zone Pacific/Kiritimati 14:00 - +14`.
const FILE: &str = "VFppZjIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAEAAAAAAAAAVFppZjIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAQAAMTgAAArMTQACjwrMTQ+LTE0Cg==";

/// Daily hours around the current hour in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    from: u64,
    to: u64,
    /// When the hours next open in [`ZONE`], in seconds since 1970.
    pub opens: u64,
}

impl Hours {
    /// Hours with more than an hour left, by UTC.
    pub fn around_now() -> Result<Self> {
        Ok(Self::around(
            SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
        ))
    }

    fn around(now: u64) -> Self {
        let hour = now / HOUR % 24;
        let (from, to) = ((hour + 23) % 24, (hour + 2) % 24);
        let local = now + AHEAD;
        let today = local - local % DAY + from * HOUR;
        let next = if today > local { today } else { today + DAY };
        let opens = next - AHEAD;
        Self { from, to, opens }
    }

    /// That moment as the agent shows it.
    pub fn shown(&self) -> String {
        let local = self.opens + AHEAD;
        let day = WEEK[usize::try_from(local / DAY % 7).unwrap_or(0)];
        format!("{day} {:02}:00 {ZONE}", local % DAY / HOUR)
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "daily {:02}:00-{:02}:00", self.from, self.to)
    }
}

/// Puts the zone where the agent looks for it. The system is read-only, so the script mounts a copy
/// over that folder. Everything else in the copy is a link to a bind mount of the original folder.
/// The script copies the keys: in the agent's own mounts the links would lead to themselves, and
/// the agent checks who may write a key.
pub async fn bring_the_zone(rig: &mut Rig) -> Result<()> {
    let script = format!(
        "set -e\ncd /run && mkdir -p rig-zones/system rig-zones/share\n\
         mount --bind /usr/share rig-zones/system\n\
         mount --make-private rig-zones/system\n\
         for one in rig-zones/system/*; do ln -s /run/$one rig-zones/share/; done\n\
         rm -f rig-zones/share/zoneinfo\n\
         for one in careen-rig ostree containers; do\n\
         [ -e rig-zones/system/$one ] || continue\n\
         rm rig-zones/share/$one && cp -a rig-zones/system/$one rig-zones/share/\n\
         done\n\
         mkdir -p rig-zones/share/zoneinfo/{folder}\n\
         echo {FILE} | base64 -d >rig-zones/share/zoneinfo/{ZONE}\n\
         mount --bind rig-zones/share /usr/share\n",
        folder = ZONE.split('/').next().unwrap_or_default()
    );
    rig.guest.run(&script).await.map(drop)
}

/// Removes the zone again, so that none of it stays for the upgrade.
pub async fn take_the_zone_away(rig: &mut Rig) -> Result<()> {
    let script = "umount --lazy /usr/share && umount --lazy /run/rig-zones/system";
    rig.guest.run(script).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use upgrade::window::{Door, Window};
    use upgrade::zone::{Offset, Rules};

    #[test]
    fn hours_are_open_in_utc_and_closed_in_the_zone_at_any_time() {
        for now in (1_795_700_000..1_795_700_000 + DAY).step_by(1111) {
            let hours = Hours::around(now);
            let utc = Window {
                open: vec![hours.to_string().parse().unwrap()],
                ..Window::default()
            };
            let ahead = i64::try_from(AHEAD).unwrap();
            let zone = Window {
                zone: ZONE.parse().unwrap(),
                rules: Rules::new(vec![Offset { since: 0, ahead }]),
                ..utc.clone()
            };
            let Door::Open { until: Some(until) } = utc.at(now) else {
                panic!("{hours} at {now}");
            };
            assert!(until > now + HOUR, "{hours} at {now}");
            let opens = hours.opens;
            let closed = Door::Closed { opens: Some(opens) };
            assert_eq!(zone.at(now), closed, "{hours} at {now}");
            assert!(opens > now + HOUR);
            assert_eq!(zone.shown(opens), hours.shown());
        }
    }
}
