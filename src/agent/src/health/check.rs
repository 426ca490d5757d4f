//! One of the operator's own checks: runs it, and counts its failures.

use std::path::{Path, PathBuf};
use std::time::Duration;

use host::programs::of_the_operator;
use tokio::process::Command;
use tokio::time::Instant;
use upgrade::exit;
use upgrade::observe::{Cause, Check};
use upgrade::policy;

use super::output::{self, Run, late};
use super::programs::is_the_images;

/// How fast runs and failures follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// From the end of a run that did not pass to the next run.
    pub again: Duration,
    /// From a counted failure to the next one that counts.
    pub counts: Duration,
    /// From the end of a run that passed to the next run; `None` if one pass is enough.
    pub repeats: Option<Duration>,
}

/// Runs begin with the kubelet's first healthz, when the Node is not Ready yet and no pod has
/// returned. A failure then says little, so a check has most of a minute with the default of three
/// tries.
pub const PACE: Pace = Pace {
    again: Duration::from_secs(2),
    counts: Duration::from_secs(20),
    repeats: None,
};

impl Pace {
    /// The pace of required checks. What passed once may fail while the trial waits for something
    /// else, or soaks, so a pass is repeated: some times in the operator's soak or while the system
    /// must be steady, and each minute in a soak that only the request asks for.
    #[must_use]
    pub fn repeating(policy: &policy::Health) -> Self {
        let seconds = match policy.soak_seconds.max(policy.steady_seconds) {
            0 => 60,
            watched => (watched / 4).clamp(10, 300),
        };
        Self {
            repeats: Some(Duration::from_secs(seconds)),
            ..PACE
        }
    }
}

/// The limits of a check.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time limit of one run.
    pub time: Duration,
    /// How many counted failures make the check fail for good.
    pub tries: u32,
    /// When it runs again.
    pub pace: Pace,
}

/// One check.
pub struct One {
    path: PathBuf,
    /// The image brings it, so it judges what the image brings.
    is_the_images: bool,
    /// Its latest result.
    pub result: Check,
    /// Where the cause is, if it does not pass.
    pub cause: Cause,
    ran: Option<Instant>,
    failures: u32,
    failed: Option<Instant>,
    told: bool,
}

impl One {
    /// A check that has not run yet. A check with a fault never runs.
    #[must_use]
    pub fn new(path: PathBuf, fault: Option<String>) -> Self {
        let not_yet = Check::Pending("not run yet".to_owned());
        // A fault is who may write or execute it: the image's own checks are the image's.
        let is_the_images = is_the_images(Path::new("/"), &path);
        let cause = if is_the_images {
            Cause::Image
        } else {
            Cause::Node
        };
        Self {
            path,
            is_the_images,
            cause,
            result: fault.map_or(not_yet, Check::Broken),
            ran: None,
            failures: 0,
            failed: None,
            told: false,
        }
    }

    /// Whether it has a final result.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        matches!(self.result, Check::Pass | Check::Broken(_))
    }

    /// Why it has failed for good. Returns the reason only once.
    pub fn newly_broken(&mut self) -> Option<&str> {
        let Check::Broken(why) = &self.result else {
            return None;
        };
        let before = std::mem::replace(&mut self.told, true);
        (!before).then_some(why)
    }

    /// Whether it may run now. One that failed for good never runs again.
    fn is_due(&self, pace: &Pace) -> bool {
        let pause = match &self.result {
            Check::Broken(_) => None,
            Check::Pass => pace.repeats,
            Check::Pending(_) | Check::Fail(_) => Some(pace.again),
        };
        pause.is_some_and(|pause| is_over(self.ran, pause))
    }

    /// Runs it, unless it has just run.
    pub async fn run(&mut self, limits: &Limits) {
        if !self.is_due(&limits.pace) {
            return;
        }
        let mut command = Command::from(of_the_operator(&self.path));
        (self.result, self.cause) = match output::within(limits.time, &mut command).await {
            Run::Ended(said) if said.output.status.success() => (Check::Pass, Cause::Image),
            Run::Ended(said) => {
                let status = said.output.status.code();
                (Check::Fail(said.why()), said_by(status, self.is_the_images))
            }
            // A check that cannot be run says nothing about the system.
            Run::Not(error) => (
                Check::Pending(format!("cannot be run: {error}")),
                Cause::Unclear,
            ),
            // Nor does one that hangs, perhaps for something that is not on this node.
            Run::Late(written) => (
                Check::Fail(late(limits.time.as_secs(), written)),
                Cause::Unclear,
            ),
        };
        self.ran = Some(Instant::now());
        self.count(limits);
    }

    /// Counts a failure, unless one has just been counted. After a pass the count begins again.
    fn count(&mut self, limits: &Limits) {
        if self.result == Check::Pass {
            (self.failures, self.failed) = (0, None);
        }
        let Check::Fail(why) = &self.result else {
            return;
        };
        if is_over(self.failed, limits.pace.counts) {
            self.failures += 1;
            self.failed = Some(Instant::now());
        }
        if self.failures >= limits.tries {
            self.result = Check::Broken(why.clone());
        }
    }
}

/// What a check says by its exit status. A check of the image judges what boots, so each status
/// without a meaning of its own is against the image. A check of the node may ask anything: a
/// server of the network that is away gives it the status of `curl`, and a program that the node
/// lacks 127. A signal is no statement of the check: the limit of memory ends it by one.
fn said_by(status: Option<i32>, is_the_images: bool) -> Cause {
    match status.map(u8::try_from) {
        Some(Ok(exit::CHECK_BLAMES_THE_IMAGE)) => Cause::Image,
        Some(Ok(exit::CHECK_BLAMES_A_NEIGHBOUR)) => Cause::Neighbour,
        Some(Ok(exit::CHECK_BLAMES_THE_NODE)) => Cause::Node,
        Some(_) if is_the_images => Cause::Image,
        Some(_) | None => Cause::Unclear,
    }
}

/// Whether this pause has passed since then. True if there is no earlier time.
fn is_over(since: Option<Instant>, pause: Duration) -> bool {
    since.is_none_or(|since| since.elapsed() >= pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_status_of_a_check_says_where_the_cause_is() {
        use Cause::{Image, Neighbour, Node, Unclear};
        let all = [Some(1), Some(70), Some(75), Some(78), Some(127), None];
        let of_the_image = all.map(|status| said_by(status, true));
        assert_eq!(
            of_the_image,
            [Image, Image, Neighbour, Node, Image, Unclear]
        );
        let of_the_node = all.map(|status| said_by(status, false));
        assert_eq!(
            of_the_node,
            [Unclear, Image, Neighbour, Node, Unclear, Unclear]
        );
    }

    #[test]
    fn check_that_others_may_write_is_the_nodes_or_the_images() {
        let cause = |path: &str| One::new(path.into(), Some("its mode is 0777".into())).cause;
        assert_eq!(cause("/etc/careen/required.d/10-disk"), Cause::Node);
        assert_eq!(cause("/usr/lib/careen/required.d/10-disk"), Cause::Image);
    }
}
