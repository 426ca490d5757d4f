//! One turn of careen-host: read what the management cluster says, pass until the host is at rest,
//! and say what it is.

use std::fs;
use std::path::Path;
use std::time::Duration;

use life::{Claimed, Phase, Wanted};
use serde_json::{Value, json};
use upgrade::SinceBoot;

use crate::api::{Api, Own};
use crate::disk::Owner;
use crate::error::Result;
use crate::facts::{facts, hostname};
use crate::hands::Hands;
use crate::join::Handed;
use crate::pass::{Host, Told};

/// The longest time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(60);

/// The shortest time between two heartbeats, in seconds.
const BEAT: u64 = 20;

/// How soon the host looks again while it is claimed and not joined.
const SOON: Duration = Duration::from_secs(3);

/// How soon a host without a claim looks for one.
const FREE: Duration = Duration::from_secs(10);

/// A host that does not come to rest has a fault. It looks again later.
const PASSES: u32 = 100;

/// What a host remembers between turns.
pub struct Turns<'a> {
    host: Host<'a>,
    ignore: Vec<String>,
    said: Option<Value>,
    /// The last status of the server that was not what this host had said, and was answered.
    answered: Option<Value>,
    unsaid: Option<String>,
    phase: Phase,
    renewed: Option<SinceBoot>,
    /// When careen-agent was told last that the management cluster answers.
    told: Option<SinceBoot>,
}

impl<'a> Turns<'a> {
    /// The turns of a host that passes over these keys of bootstrap data.
    #[must_use]
    pub const fn new(host: Host<'a>, ignore: Vec<String>) -> Self {
        Self {
            host,
            ignore,
            said: None,
            answered: None,
            unsaid: None,
            phase: Phase::Registered,
            renewed: None,
            told: None,
        }
    }

    /// One turn. Returns when the next one is due.
    ///
    /// # Errors
    /// A step has failed. The next turn decides again.
    pub fn turn(&mut self, hands: &mut dyn Hands, api: &mut dyn Api) -> Result<Duration> {
        let (told, shown) = self.ask(api);
        self.note_reached(&told, hands.now())?;
        let mut passed = self.host.pass(hands, &told)?;
        let mut left = PASSES;
        while passed.again && left > 0 {
            passed = self.host.pass(hands, &told)?;
            left -= 1;
        }
        let mut status = facts(self.host.paths);
        merge(&mut status, json!(passed.status));
        if self.is_news(&status, shown.as_ref()) {
            self.say(status, shown, api);
        }
        self.phase = passed.status.phase;
        self.beat(hands.now(), api);
        Ok(pause(self.phase))
    }

    /// What was said once is said again only if it changes, or if the server has lost it: heartbeats
    /// are the Lease's. A server that drops a part of what it is told is answered once.
    fn is_news(&mut self, status: &Value, shown: Option<&Value>) -> bool {
        let is_kept = shown.is_none_or(|shown| shows(shown, status));
        if is_kept {
            self.answered = None;
        }
        let is_answered = self.answered.is_some() && self.answered.as_ref() == shown;
        self.said.as_ref() != Some(status) || !is_kept && !is_answered
    }

    /// An answer that fails again and again is one line in the journal.
    fn say(&mut self, status: Value, shown: Option<Value>, api: &mut dyn Api) {
        match api.say(&status) {
            Ok(()) => {
                let again = self.said.as_ref() == Some(&status);
                self.answered = shown.filter(|_| again);
                (self.said, self.unsaid) = (Some(status), None);
            }
            Err(why) if self.unsaid.as_ref() == Some(&why) => {}
            Err(why) => {
                let said = why.trim_end_matches('.');
                eprintln!(
                    "careen-host: the status is not written: {said}. The next turn tries again."
                );
                self.unsaid = Some(why);
            }
        }
    }

    /// Tells careen-agent since when, and until when at least, a trial of this boot can be managed.
    /// The file is gone while no read succeeds. The agent believes it for a few minutes only: this
    /// program may die.
    fn note_reached(&mut self, told: &Told, now: SinceBoot) -> Result<()> {
        let path = self.host.paths.reached();
        match told.claimed {
            Claimed::Unknown(_) if path.exists() => self.host.disk.remove(&path),
            Claimed::Unknown(_) => Ok(()),
            Claimed::No | Claimed::By(_) if is_fresh(self.told, now) && path.exists() => Ok(()),
            Claimed::No | Claimed::By(_) => {
                let text = format!("{} {}", since(&path).unwrap_or(now.0), now.0);
                let owner = Owner::root(0o600);
                let written = self.host.disk.write(&path, text.as_bytes(), owner);
                self.told = written.is_ok().then_some(now);
                // A host that cannot renew it, as with a full /run, still has its heartbeat.
                written.or_else(|error| path.exists().then_some(()).ok_or(error))
            }
        }
    }

    fn beat(&mut self, now: SinceBoot, api: &mut dyn Api) {
        if !is_fresh(self.renewed, now) && api.renew().is_ok() {
            self.renewed = Some(now);
        }
    }

    /// What the server says, and the status that it shows, if it was read.
    fn ask(&self, api: &mut dyn Api) -> (Told, Option<Value>) {
        let own = api.credential().and_then(|()| api.own());
        match own {
            Err(why) => (unknown(why), None),
            Ok(mut own) => {
                let shown = std::mem::take(&mut own.status);
                (self.told(own, api), Some(shown))
            }
        }
    }

    fn told(&self, own: Own, api: &mut dyn Api) -> Told {
        let claim = match own.claim {
            None => {
                return Told {
                    claimed: Claimed::No,
                    data: None,
                };
            }
            Some(Err(why)) => return unknown(why),
            Some(Ok(claim)) => claim,
        };
        let is_waiting = claim.wanted == Wanted::Joined && awaits_data(self.phase);
        let has_data = is_waiting && claim.bootstrap_hash.is_some();
        let data = has_data.then(|| api.data().ok().flatten()).flatten();
        let data = data.map(|(id, data)| {
            let handed = Handed {
                data,
                hostname: hostname(self.host.paths),
                provider_id: claim.provider_id.clone(),
                failure_domain: own.failure_domain.clone(),
                ignore: self.ignore.clone(),
            };
            (id, handed)
        });
        let claimed = Claimed::By(Box::new(claim));
        Told { claimed, data }
    }
}

fn is_fresh(at: Option<SinceBoot>, now: SinceBoot) -> bool {
    at.is_some_and(|at| now.seconds_since(at) < BEAT)
}

/// Since when the management cluster answers, as this program wrote it earlier in this boot.
fn since(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn unknown(why: String) -> Told {
    Told {
        claimed: Claimed::Unknown(why),
        data: None,
    }
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

/// Whether a server shows what was said to it as a merge patch.
fn shows(shown: &Value, said: &Value) -> bool {
    match (shown, said) {
        (Value::Object(shown), Value::Object(said)) => said
            .iter()
            .all(|(key, said)| shows(shown.get(key).unwrap_or(&Value::Null), said)),
        (shown, said) => shown == said,
    }
}

/// Whether bootstrap data can be used now. A host that has joined has no use for their token.
const fn awaits_data(phase: Phase) -> bool {
    use Phase::{Available, Imaging, Joining, Registered};
    matches!(phase, Registered | Available | Imaging | Joining)
}

const fn pause(phase: Phase) -> Duration {
    match phase {
        Phase::Registered | Phase::Available => FREE,
        Phase::Imaging | Phase::Joining | Phase::Fencing | Phase::Cleaning => SOON,
        Phase::Joined | Phase::Failed | Phase::Quarantined => HEARTBEAT,
    }
}
