//! Every situation that a host can get into, with a power cut at every point, an API server that
//! answers, is silent, forgets and goes back in time, and a provider that claims and releases.
//!
//! The test walks all of them, breadth first, and checks what must never happen.
#![allow(clippy::unwrap_used)]

mod scene;

use std::collections::{BTreeSet, HashSet, VecDeque};

use life::{
    Act, Agent, Checks, Claim, Claimed, Clean, Data, Fence, Image, Join, Observation, Phase,
    Record, Running, Sentinel, Step, decide, status,
};
use scene::{boot, by, claim, hash, id, released, seen};

/// More boots than this show nothing new.
const BOOTS: u8 = 6;

/// What the CareenHost says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Api {
    Free,
    Wanted,
    Released,
    Foreign,
}

/// A run in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Unit {
    Idle,
    Runs,
    Ended { well: bool },
}

#[derive(Clone, Debug)]
struct World {
    record: Record,
    boot: u8,
    api: Api,
    answers: bool,
    /// The host has read that its claim is released.
    ordered: bool,
    /// How often bootstrap data ran for the claim.
    runs: u8,
    /// A credential and leftovers on the disk.
    credential: bool,
    dirty: bool,
    /// What a boot forgets.
    kubelet: bool,
    join: Unit,
    clean: Unit,
    checks: Option<bool>,
    asked: bool,
    /// The image: not tried, on trial, right, bad.
    image: u8,
}

impl World {
    fn new() -> Self {
        Self {
            record: Record::default(),
            boot: 1,
            api: Api::Free,
            answers: true,
            ordered: false,
            runs: 0,
            credential: false,
            dirty: false,
            kubelet: false,
            join: Unit::Idle,
            clean: Unit::Idle,
            checks: None,
            asked: false,
            image: 0,
        }
    }

    fn key(&self) -> String {
        let mut same = self.clone();
        same.record.generation = 0;
        format!("{same:?}")
    }

    fn claim(&self) -> Option<Claim> {
        match self.api {
            Api::Free => None,
            Api::Wanted => Some(claim('a')),
            Api::Released => Some(released('a')),
            Api::Foreign => Some(claim('b')),
        }
    }

    fn observe(&self) -> Observation {
        let claimed = match (self.answers, self.claim()) {
            (false, _) => Claimed::Unknown("no answer".to_owned()),
            (true, None) => Claimed::No,
            (true, Some(claim)) => by(claim),
        };
        let sentinel = match self.join {
            Unit::Ended { well: true } if self.credential => Sentinel::There,
            Unit::Idle | Unit::Runs | Unit::Ended { .. } => Sentinel::Missing,
        };
        let ended = matches!(self.join, Unit::Ended { .. }).then(String::new);
        let runs = if self.join == Unit::Runs {
            Running::Yes
        } else {
            Running::No
        };
        let parts = [
            (self.credential, "credential"),
            (self.kubelet, "kubelet"),
            (self.join == Unit::Runs, "join"),
        ];
        let open: Vec<_> = parts
            .iter()
            .filter(|part| part.0)
            .map(|part| part.1.to_owned())
            .collect();
        Observation {
            boot: boot(self.boot),
            claimed,
            image: match self.image {
                0 => Image::Unasked,
                1 => Image::UnderWay(String::new()),
                2 => Image::Right,
                _ => Image::Failed(String::new()),
            },
            asked: self.asked,
            agent: if self.image == 1 {
                Agent::Busy(String::new())
            } else {
                Agent::AtRest
            },
            data: Data::For {
                claim: id('a'),
                hash: hash(),
            },
            join: Join {
                running: runs,
                sentinel,
                ended,
            },
            fence: if open.is_empty() {
                Fence::Whole
            } else {
                Fence::Open(open)
            },
            clean: match self.clean {
                Unit::Idle => Clean::Idle,
                Unit::Runs => Clean::Running(0),
                Unit::Ended { .. } => Clean::Ended,
            },
            checks: match self.checks {
                None => Checks::NotRun,
                Some(true) => Checks::Green,
                Some(false) => Checks::Red(vec!["x".to_owned()]),
            },
            ..seen()
        }
    }

    /// The power fails and comes back. The kubelet starts if its credential is there.
    fn cut(&self) -> Self {
        Self {
            boot: (self.boot + 1).min(BOOTS),
            kubelet: self.credential,
            join: Unit::Idle,
            clean: Unit::Idle,
            checks: None,
            asked: false,
            ..self.clone()
        }
    }

    /// One pass of careen-host, and the same with a cut after the record, within the effect and
    /// after it.
    fn passes(&self) -> Vec<Self> {
        let seen = self.observe();
        let decision = decide(&Ok(self.record.clone()), &seen);
        let mut stored = self.clone();
        stored.ordered |= self.answers && self.api == Api::Released;
        if let Some(record) = decision.record {
            stored.record = record;
        }
        let mut after = vec![stored.cut()];
        match decision.act {
            Act::Wait | Act::Look => after.push(stored),
            Act::Do(step) => {
                for done in stored.perform(&step) {
                    after.push(done.cut());
                    after.push(done);
                }
            }
        }
        after
    }

    /// What can have happened when the effect ends or is cut.
    fn perform(&self, step: &Step) -> Vec<Self> {
        let mut to = self.clone();
        match step {
            Step::AskImage(_) => to.asked = true,
            Step::WithdrawImage => to.asked = false,
            Step::Join(_) => {
                to.runs += 1;
                to.dirty = true;
                to.join = Unit::Runs;
            }
            Step::EndJoin(_) => to.join = Unit::Ended { well: false },
            Step::Fence(_) => {
                assert!(self.ordered, "fenced without an order: {self:?}");
                to.join = Unit::Idle;
                let half = Self {
                    credential: false,
                    ..to.clone()
                };
                to = Self {
                    kubelet: false,
                    ..half.clone()
                };
                return vec![half, to];
            }
            Step::Clean(_) => {
                assert!(self.ordered, "cleaned without an order: {self:?}");
                to.clean = Unit::Runs;
            }
            Step::EndClean(_) => to.clean = Unit::Ended { well: false },
            Step::Reboot => return vec![to.cut()],
            Step::Check => to.checks = Some(!to.dirty && !to.credential),
        }
        vec![to]
    }

    /// What the world does on its own.
    fn events(&self) -> Vec<Self> {
        let mut after = vec![self.cut()];
        let mut push = |change: &dyn Fn(&mut Self)| {
            let mut to = self.clone();
            change(&mut to);
            after.push(to);
        };
        push(&|to| to.answers = !to.answers);
        // Also back in time: a management cluster that is restored from a backup.
        for api in [Api::Free, Api::Wanted, Api::Released, Api::Foreign] {
            push(&|to| to.api = api);
        }
        if self.join == Unit::Runs {
            push(&|to| (to.credential, to.kubelet) = (true, true));
            push(&|to| to.join = Unit::Ended { well: false });
            push(&|to| {
                (to.credential, to.kubelet) = (true, true);
                to.join = Unit::Ended { well: true };
            });
        }
        if self.clean == Unit::Runs {
            push(&|to| {
                to.dirty = false;
                to.clean = Unit::Ended { well: true };
            });
            push(&|to| to.clean = Unit::Ended { well: false });
        }
        match self.image {
            0 if self.asked => push(&|to| to.image = 1),
            1 => {
                push(&|to| {
                    *to = Self {
                        image: 2,
                        ..to.cut()
                    }
                });
                push(&|to| {
                    *to = Self {
                        image: 3,
                        ..to.cut()
                    }
                });
            }
            _ => {}
        }
        after
    }

    fn check(&self) -> Phase {
        assert!(self.runs <= 1, "bootstrapped twice: {self:?}");
        let said = status(&Ok(self.record.clone()), &self.observe());
        if said.phase == Phase::Available {
            assert!(
                !self.dirty && !self.credential && !self.kubelet,
                "available, unclean: {self:?}"
            );
        }
        if said.phase.is_fenced() && said.observed_claim == Some(id('a')) {
            assert!(
                !self.credential && !self.kubelet,
                "fenced, but it can come back: {self:?}"
            );
            assert!(self.join != Unit::Runs, "fenced while it joins: {self:?}");
        }
        said.phase
    }
}

/// The foreign claim is accepted by a free host, and its data are never there.
#[test]
fn no_order_of_events_breaks_a_promise() {
    let mut known = HashSet::new();
    let mut open = VecDeque::from([World::new()]);
    let (mut phases, mut reused) = (BTreeSet::new(), false);
    while let Some(world) = open.pop_front() {
        if !known.insert(world.key()) {
            continue;
        }
        let phase = world.check();
        phases.insert(phase);
        reused |= phase == Phase::Available && world.runs == 1;
        open.extend(world.passes());
        open.extend(world.events());
    }
    assert!(reused, "no host comes back from its cluster");
    let missing: Vec<_> = Phase::ALL
        .iter()
        .filter(|phase| !phases.contains(phase))
        .collect();
    assert_eq!(
        missing,
        Vec::<&Phase>::new(),
        "of {} situations",
        known.len()
    );
}
