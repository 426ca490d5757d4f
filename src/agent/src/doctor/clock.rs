//! The clock, which certificates and signatures depend on.

use super::finding::Finding;
use super::patient::Clock;

/// Careen did not exist before this time, in seconds since 1970: 2025-01-01.
const EARLIEST: u64 = 1_735_689_600;

/// Whether the clock is plausible, and a program synchronizes it.
pub(super) fn clock(clock: Clock) -> Finding {
    const NAME: &str = "clock";
    let keep = "run chrony or systemd-timesyncd";
    if clock.wall < EARLIEST {
        let seen = format!(
            "{} s since 1970, which is long ago: no certificate is valid yet",
            clock.wall
        );
        return Finding::bad(NAME, seen, keep);
    }
    match clock.in_step {
        Some(true) => Finding::ok(NAME, "a time service synchronizes it"),
        Some(false) => Finding::warn(
            NAME,
            "no time service synchronizes it, as far as the kernel knows",
            keep,
        ),
        None => Finding::warn(
            NAME,
            "the kernel does not say whether a time service synchronizes it",
            keep,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Bad, Ok, Warn};
    use super::*;

    #[test]
    fn clock_before_the_earliest_date_is_bad_and_unsynced_one_warns() {
        let at = |wall, in_step| clock(Clock { wall, in_step }).verdict;
        let now = EARLIEST + 1;
        assert_eq!(
            [
                at(now, Some(true)),
                at(now, Some(false)),
                at(now, None),
                at(0, Some(true))
            ],
            [Ok, Warn, Warn, Bad]
        );
    }
}
