//! The brain, given any record that can be read and each kind of moment.

use upgrade::{
    Act, Api, Asked, Deployment, Finished, Health, Home, Hooks, Journal, Observation, OneShot,
    Outcome, Policy, Reason, Record, SinceBoot, Step, decide,
};

/// How much one decision may add to a record, in bytes of JSON.
const GROWTH: usize = 8192;

/// There is a decision for each; its record can be written and read again, is the next one, and does not swell; its act is
/// one that its home may take.
pub fn check(input: &[u8]) {
    let Ok(record) = serde_json::from_slice::<Record>(input) else {
        return;
    };
    // `host::journal` reads no such record.
    if record.generation == u64::MAX {
        return;
    }
    for seen in moments(&record) {
        let act = decided(&seen, &record);
        if let Act::Begin(step) = act {
            assert!(step.at_home(seen.home), "{step:?} in {:?}", seen.home);
        }
        paused(seen, &record);
    }
}

fn decided(seen: &Observation, record: &Record) -> Act {
    let decision = decide(seen, &Ok(record.clone()), &Ok(Policy::default()));
    let Ok((next, act)) = decision.commit(&mut Written { before: record });
    if let Some(next) = next {
        assert!(next != *record);
    }
    act
}

/// On a Node that is seen, and paused, nothing is begun that leads to a trial.
fn paused(seen: Observation, record: &Record) {
    if seen.request == Asked::Unknown {
        return;
    }
    let seen = Observation {
        paused: Some("an audit".to_owned()),
        ..seen
    };
    if let Act::Begin(step) = decided(&seen, record) {
        let new = matches!(
            step,
            Step::Fetch { .. }
                | Step::Verify { .. }
                | Step::Rehearse
                | Step::Deploy { .. }
                | Step::PreHooks
                | Step::Exclude
                | Step::Drain { .. }
                | Step::Snapshot
        );
        assert!(!new, "{step:?} while paused");
    }
}

/// A disk that reads again what it was given.
struct Written<'a> {
    before: &'a Record,
}

impl Journal for Written<'_> {
    type Error = std::convert::Infallible;

    fn store(&mut self, record: &Record) -> Result<(), Self::Error> {
        assert!(record.generation > self.before.generation);
        let text = serde_json::to_string(record).unwrap_or_default();
        assert_eq!(serde_json::from_str(&text).ok().as_ref(), Some(record));
        let before = serde_json::to_string(self.before).unwrap_or_default();
        // A request that is answered is written down once more, with its image.
        assert!(text.len() <= 2 * before.len() + GROWTH, "{text}");
        Ok(())
    }
}

fn moments(record: &Record) -> Vec<Observation> {
    let up = record.upgrade.as_ref();
    let systems = [
        up.map(|up| up.from.clone()),
        up.and_then(|up| up.to.clone()),
        foreign(),
    ];
    let asked = [
        Asked::Unknown,
        Asked::Nothing,
        up.map_or(Asked::Nothing, |up| Asked::This(up.request.clone())),
    ];
    let mut moments = Vec::new();
    for booted in systems.into_iter().flatten() {
        for request in &asked {
            for (home, trial, fails) in [
                (Home::Agent, false, false),
                (Home::Agent, true, true),
                (Home::Stage, true, false),
            ] {
                let failed = up.and_then(|up| up.intent.clone()).filter(|_| fails);
                moments.push(Observation {
                    home,
                    trial,
                    request: request.clone(),
                    finished: failed.map(|step| Finished {
                        step,
                        outcome: Outcome::Failed(Reason::ApiAway {
                            detail: "no route".to_owned(),
                        }),
                    }),
                    ..calm(booted.clone())
                });
            }
        }
    }
    moments
}

/// A node on which nothing goes on, and nobody asks for anything.
#[must_use]
pub fn quiet() -> Option<Observation> {
    let nothing = |seen| Observation {
        request: Asked::Nothing,
        ..seen
    };
    foreign().map(calm).map(nothing)
}

fn foreign() -> Option<Deployment> {
    Some(Deployment {
        digest: "f".repeat(64).parse().ok()?,
        serial: 0,
        stateroot: "debian".to_owned(),
        bootcsum: "0".to_owned(),
        pinned: false,
    })
}

fn calm(booted: Deployment) -> Observation {
    let boot = "0b1c2d3e-0000-4000-8000-000000000001".parse();
    Observation {
        home: Home::Agent,
        now: SinceBoot(60_000),
        wall: 1_800_000_000,
        boot: boot.unwrap_or_else(|bad| unreachable!("{bad}")),
        deployments: vec![booted.clone()],
        booted,
        version: None,
        trial: false,
        one_shot: OneShot::Clear,
        loader: Ok(()),
        watchdog: Ok(()),
        restored: Ok(()),
        control_plane: None,
        machine: "x86_64".to_owned(),
        etc_stale: false,
        staged: false,
        request: Asked::Unknown,
        paused: None,
        opted_out: None,
        uncordoned: false,
        own_cordon: false,
        hooks: Hooks::default(),
        api: Api::Away,
        running: None,
        finished: None,
        health: Health::unknown(),
        integrity: Some(Ok(())),
    }
}
