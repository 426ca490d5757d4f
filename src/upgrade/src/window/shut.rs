//! Whether the window has enough room now to take the node from its users.
//!
//! The unit is minutes, not seconds, and a started minute counts as a whole one. So a window of
//! thirty minutes has room for thirty, although nobody reads the clock in its first second.

use super::last_begin::{LastBegin, Shut};
use super::{Door, Window, unsigned};

impl Window {
    /// How many minutes must be left when the node is taken from its users.
    #[must_use]
    pub fn last_begin_minutes(&self) -> u64 {
        match self.last_begin {
            LastBegin::Usual => self.usual_seconds.unwrap_or(0).div_ceil(60),
            LastBegin::Minutes(minutes) => minutes,
        }
    }

    /// Why something that needs so many minutes of the window may not begin now; `None` if it may.
    #[must_use]
    pub fn shut(&self, wall: u64, minutes: u64) -> Option<Shut> {
        if self.open.is_empty() {
            return None;
        }
        if !self.knows_its_zone() {
            return Some(self.shut_in_an_unknown_zone());
        }
        let now = i64::try_from(wall).unwrap_or(0);
        let runs = self.runs(now);
        let has_room = |begin: i64, end: i64| begun_minutes(end - begin.max(now)) >= minutes;
        match runs.iter().find(|(begin, end)| has_room(*begin, *end)) {
            Some((begin, _)) if *begin <= now => None,
            Some((begin, _)) => Some(self.shut_until(unsigned(*begin), wall, minutes)),
            None => {
                let longest = runs.iter().map(|(begin, end)| begun_minutes(end - begin));
                Some(self.shut_for_ever(longest.max().unwrap_or(0), minutes))
            }
        }
    }

    fn shut_until(&self, opens: u64, wall: u64, minutes: u64) -> Shut {
        let shown = self.shown(opens);
        let why = match self.at(wall) {
            // Not the time left: the record would be rewritten every minute.
            Door::Open { until: Some(end) } => format!(
                "it is open until {}, and {}; it opens again {shown}",
                self.shown(end),
                self.wants(minutes)
            ),
            // The window is closed, or no minutes are needed: the next window is long enough.
            Door::Open { until: None } | Door::Closed { .. } => format!("it opens {shown}"),
        };
        let opens = Some(opens);
        Shut { opens, why }
    }

    fn shut_in_an_unknown_zone(&self) -> Shut {
        let why = format!(
            "this system's time zone database does not have {}, so the agent does not know when it opens; set zone in [window] of the policy to a zone that it has, or to \"UTC\" with hours of UTC",
            self.zone
        );
        Shut { opens: None, why }
    }

    fn shut_for_ever(&self, longest: u64, minutes: u64) -> Shut {
        let why = format!(
            "it is never open for more than {longest} min, and {}, so the node is never drained; make the hours of [window] in the policy longer, or set its last-begin-minutes to {longest} or less (0: begin whenever it is open)",
            self.wants(minutes)
        );
        Shut { opens: None, why }
    }

    fn wants(&self, minutes: u64) -> String {
        match self.last_begin {
            LastBegin::Usual => {
                format!(
                    "a drain begins with at least {minutes} min left, as long as upgrades usually cordon this node"
                )
            }
            LastBegin::Minutes(_) => {
                format!("a drain begins with at least {minutes} min left (last-begin-minutes)")
            }
        }
    }
}

fn begun_minutes(seconds: i64) -> u64 {
    unsigned(seconds).div_ceil(60)
}
