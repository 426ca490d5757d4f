//! One pass of careen-host: observe, decide, store, perform.

use life::{
    Act, Checks, ClaimId, Claimed, Clean, Data, Join, Observation, Record, RecordRead, Running,
    Sentinel, Status, Step, decide, status,
};
use upgrade::{BootId, SinceBoot};

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::hands::Hands;
use crate::join::{self, Handed};
use crate::paths::Paths;
use crate::store::Store;
use crate::{agent, check, clean, fence};

/// How long a result of the check list counts, in seconds.
const FRESH: u64 = 300;

/// What the management cluster says, as it was read last.
#[derive(Clone, Debug)]
pub struct Told {
    /// The claim.
    pub claimed: Claimed,
    /// The bootstrap data in the host's own Secret, and the claim that they are for.
    pub data: Option<(ClaimId, Handed)>,
}

/// The outcome of a pass.
#[derive(Clone, Debug)]
pub struct Passed {
    /// What to say in the status of the CareenHost.
    pub status: Status,
    /// Another pass is due at once.
    pub again: bool,
}

/// A result of the check list, and when it was found.
pub type Checked = (BootId, SinceBoot, Checks);

/// A host.
pub struct Host<'a> {
    /// Its folders.
    pub paths: &'a Paths,
    /// Its disk.
    pub disk: &'a dyn Disk,
    checked: Option<Checked>,
}

impl<'a> Host<'a> {
    /// A host that has not looked at itself yet.
    #[must_use]
    pub const fn new(paths: &'a Paths, disk: &'a dyn Disk) -> Self {
        Self {
            paths,
            disk,
            checked: None,
        }
    }

    /// Goes on with a result of the check list that an earlier careen-host of this boot has found.
    pub fn remember(&mut self, checked: Checked) {
        self.checked = Some(checked);
    }

    /// The result of the check list, and when it was found.
    #[must_use]
    pub fn remembered(self) -> Option<Checked> {
        self.checked
    }

    /// One pass. The record is on the disk before the step begins.
    ///
    /// # Errors
    /// The record was not written, or the step has failed. The next pass decides again.
    pub fn pass(&mut self, hands: &mut dyn Hands, told: &Told) -> Result<Passed> {
        let store = Store::new(self.paths);
        let read = store.read();
        let seen = self.observe(hands, &read, told);
        let decision = decide(&read, &seen);
        let read = match decision.record {
            None => read,
            Some(record) => {
                self.store(&store, &record)?;
                Ok(record)
            }
        };
        self.forget_the_word(&seen)?;
        let passed = Passed {
            status: status(&read, &seen),
            again: is_soon(&decision.act),
        };
        if let Act::Do(step) = decision.act {
            self.perform(hands, &step, told)?;
        }
        Ok(passed)
    }

    fn store(&self, store: &Store, record: &Record) -> Result<()> {
        let unwritten = |error: host::copies::Unwritten| {
            Error::unusable(
                &self.paths.state(),
                format!("the record is not written: {error}"),
            )
        };
        store.write(record).map_err(unwritten)
    }

    /// What the host sees now.
    pub fn observe(&self, hands: &dyn Hands, read: &RecordRead, told: &Told) -> Observation {
        let claim = claim(read, told);
        let agents = host::record::Store::new(&self.paths.places.sysroot).read();
        let image = claim.as_ref().map(|claim| agent::image(&agents, claim));
        Observation {
            boot: hands.boot(),
            now: hands.now(),
            claimed: told.claimed.clone(),
            image: image.unwrap_or(life::Image::Unasked),
            asked: agent::is_asked(self.paths),
            agent: agent::at_rest(&agents),
            data: self.data(told),
            join: self.join(hands, claim.as_ref()),
            fence: fence::look(self.paths, hands),
            clean: self.clean(hands, claim.as_ref()),
            checks: self.checks(hands),
            asked_to_clean: self.paths.word().exists(),
        }
    }

    fn data(&self, told: &Told) -> Data {
        let Some((claim, handed)) = &told.data else {
            return Data::Absent;
        };
        let Ok(hash) = handed.hash() else {
            return Data::Absent;
        };
        let claim = claim.clone();
        match join::look(self.paths, &claim, handed) {
            Ok(()) => Data::For { claim, hash },
            Err(error) => Data::Refused {
                claim,
                hash,
                detail: error.to_string(),
            },
        }
    }

    fn join(&self, hands: &dyn Hands, claim: Option<&ClaimId>) -> Join {
        let there = [self.paths.sentinel(), self.paths.kubelet_conf()];
        let sentinel = match there.iter().all(|path| path.exists()) {
            true => Sentinel::There,
            false => Sentinel::Missing,
        };
        let running = match claim.is_some_and(|claim| hands.joins(claim)) {
            true => Running::Yes,
            false => Running::No,
        };
        let ended = claim.and_then(|claim| join::ended(self.paths, claim).ok().flatten());
        Join {
            running,
            sentinel,
            ended,
        }
    }

    fn clean(&self, hands: &dyn Hands, claim: Option<&ClaimId>) -> Clean {
        let Some(claim) = claim else {
            return Clean::Idle;
        };
        match hands.cleans(claim) {
            Some(seconds) => Clean::Running(seconds),
            None if self.paths.cleaned(claim).exists() => Clean::Ended,
            None => Clean::Idle,
        }
    }

    fn checks(&self, hands: &dyn Hands) -> Checks {
        match &self.checked {
            Some((boot, at, checks))
                if *boot == hands.boot() && hands.now().seconds_since(*at) < FRESH =>
            {
                checks.clone()
            }
            Some(_) | None => Checks::NotRun,
        }
    }

    fn perform(&mut self, hands: &mut dyn Hands, step: &Step, told: &Told) -> Result<()> {
        let (paths, disk) = (self.paths, self.disk);
        match step {
            Step::AskImage(claim) => return agent::ask(paths, disk, claim),
            Step::WithdrawImage => return agent::withdraw(paths, disk),
            Step::Join(claim) => return self.start_join(hands, &claim.id, told),
            Step::EndJoin(_) => hands.end_join(),
            Step::Fence(claim) => return fence::close(paths, disk, hands, claim),
            Step::Clean(claim) => hands.start_clean(claim),
            Step::EndClean(claim) => {
                hands.end_clean(claim);
                let left = ["it did not end in its time".to_owned()];
                return clean::note(paths, disk, claim, &left);
            }
            Step::Reboot => hands.reboot(),
            Step::Check => {
                let checks = check::check(paths, hands);
                self.checked = Some((hands.boot(), hands.now(), checks));
            }
        }
        Ok(())
    }

    fn start_join(&self, hands: &mut dyn Hands, claim: &ClaimId, told: &Told) -> Result<()> {
        if let Some((_, handed)) = &told.data {
            join::hand(self.paths, self.disk, handed)?;
            hands.start_join(claim);
        }
        Ok(())
    }

    /// A person's word counts for one decision.
    fn forget_the_word(&self, seen: &Observation) -> Result<()> {
        match seen.asked_to_clean {
            true => self.disk.remove(&self.paths.word()),
            false => Ok(()),
        }
    }
}

/// Whether the next pass is due at once. What takes its time is looked at again later.
const fn is_soon(act: &Act) -> bool {
    use Step::{AskImage, Check, WithdrawImage};
    matches!(
        act,
        Act::Look | Act::Do(AskImage(_) | WithdrawImage | Check)
    )
}

/// The claim that runs and images belong to: that of the record, or the one that is offered.
fn claim(read: &RecordRead, told: &Told) -> Option<ClaimId> {
    let of_the_record = read.as_ref().ok().and_then(|record| record.stay.as_ref());
    match (of_the_record, &told.claimed) {
        (Some(stay), _) => Some(stay.claim.id.clone()),
        (None, Claimed::By(claim)) => Some(claim.id.clone()),
        (None, Claimed::No | Claimed::Unknown(_)) => None,
    }
}
