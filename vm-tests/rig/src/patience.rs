//! How long the rig waits for a node, in the CPU time that this machine has for it. Emulation uses
//! whole processors. If others take them (`steal` in a virtual machine, proc_stat(5)), a boot takes
//! longer without a fault in the node.

use std::fs;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout};

/// How often it reads the stolen time.
const LOOK: Duration = Duration::from_secs(5);
/// The longest wait is this many times the limit, however much time was stolen.
const AT_MOST: u32 = 4;

/// The result of `work` if it ends within `limit`, not counting stolen time.
pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let (mut left, end) = (limit, Instant::now() + limit * AT_MOST);
    let (mut work, mut before) = (pin!(work), Ticks::now());
    while !left.is_zero() && Instant::now() < end {
        let begun = Instant::now();
        if let Ok(done) = timeout(LOOK.min(left), work.as_mut()).await {
            return Some(done);
        }
        let now = Ticks::now();
        let ours = share_of_ours(before, now);
        left = left.saturating_sub(begun.elapsed().mul_f64(ours));
        before = now;
    }
    None
}

/// The ticks of all processors since the machine's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    worked: u64,
    stolen: u64,
}

impl Ticks {
    /// Zero if the kernel does not report them; then all time is ours.
    fn now() -> Self {
        Self::of(&fs::read_to_string("/proc/stat").unwrap_or_default()).unwrap_or_default()
    }

    /// The line of all processors: user, nice, system, idle, iowait, irq, softirq, steal.
    fn of(stat: &str) -> Option<Self> {
        let words = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = words
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        let [user, nice, system, _, _, irq, softirq, stolen] = *ticks.first_chunk()?;
        let worked = user + nice + system + irq + softirq;
        Some(Self { worked, stolen })
    }
}

/// Our share of the requested time; all of it if nothing was requested.
fn share_of_ours(before: Ticks, after: Ticks) -> f64 {
    let worked = after.worked.saturating_sub(before.worked);
    let stolen = after.stolen.saturating_sub(before.stolen);
    match worked + stolen {
        0 => 1.0,
        // Ticks of a few seconds, much less than where a float would round.
        wanted => worked as f64 / wanted as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "cpu  100 20 30 4000 50 0 10 40 7 7\ncpu0 50 10 15 2000 25 0 5 20 0 0\nintr 1 2\n";

    #[test]
    fn stolen_ticks_are_read_from_the_line_of_all_processors() {
        let ticks = Ticks {
            worked: 160,
            stolen: 40,
        };
        assert_eq!(Ticks::of(STAT), Some(ticks));
        assert_eq!(Ticks::of("cpu  1 2 3\n"), None);
        assert_eq!(Ticks::of(""), None);
    }

    #[test]
    fn time_that_others_had_does_not_count() {
        let ticks = |worked, stolen| Ticks { worked, stolen };
        assert_eq!(share_of_ours(ticks(0, 0), ticks(300, 100)), 0.75);
        assert_eq!(share_of_ours(ticks(5, 5), ticks(5, 5)), 1.0);
    }

    #[tokio::test]
    async fn what_never_comes_is_given_up_and_what_comes_is_taken() {
        let moment = Duration::from_millis(1);
        let never = within(moment, std::future::pending::<()>());
        assert_eq!(never.await, None);
        assert_eq!(within(moment, async { 7 }).await, Some(7));
    }
}
