//! The decision on one host.

mod claims;
mod orphans;
mod registering;

use infrastructure::{
    Holder, Host, HostDecision, HostFacts, Node, Phase, PodsLeft, Policy, Registration, Wanted,
    tend,
};

use crate::scene::{ID, NOW, claim, host};

struct Scene {
    host: Host,
    word_since: Option<i64>,
    registration: Option<Registration>,
    has_account: bool,
    handed_over: Option<i64>,
    renewed_at: Option<i64>,
    holder: Holder,
    paused: bool,
    leads_for: i64,
    orphans: (usize, usize),
    node: Option<Node>,
    left_alone: Option<&'static str>,
    pods: Option<PodsLeft>,
    policy: Policy,
}

fn free() -> Scene {
    Scene {
        host: host("h"),
        word_since: None,
        registration: None,
        has_account: true,
        handed_over: None,
        renewed_at: Some(NOW - 30),
        holder: Holder::Unread,
        paused: false,
        leads_for: 1000,
        orphans: (1, 20),
        node: None,
        left_alone: None,
        pods: None,
        policy: Policy::default(),
    }
}

/// A host that has joined by its claim, which no machine has.
fn orphan() -> Scene {
    let mut scene = free();
    scene.host.claim = Some(claim(ID));
    scene.host.observed = Some(ID.to_owned());
    scene.host.phase = Phase::Joined;
    scene.holder = Holder::Nobody;
    scene
}

fn released(phase: Phase) -> Scene {
    orphan().with(|s| {
        s.host.claim.as_mut().unwrap().wanted = Wanted::Released;
        s.host.phase = phase;
    })
}

impl Scene {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn decide(&self) -> HostDecision {
        tend(&HostFacts {
            now: NOW,
            host: &self.host,
            word_since: self.word_since,
            registration: self.registration.as_ref(),
            has_account: self.has_account,
            handed_over: self.handed_over,
            renewed_at: self.renewed_at,
            holder: self.holder,
            paused: self.paused,
            leads_for: self.leads_for,
            orphans: self.orphans,
            node: self.node.as_ref(),
            left_alone: self.left_alone,
            pods: self.pods.as_ref(),
            policy: &self.policy,
        })
    }
}

fn check(rows: Vec<(&str, Scene, &str, &str)>) {
    for (name, scene, act, why) in rows {
        let decision = scene.decide();
        let text = decision
            .act
            .map_or_else(|| "-".to_owned(), |act| format!("{act:?}"));
        let word = text.split(['(', '{', ' ']).next().unwrap_or_default();
        assert_eq!((word, decision.why.code()), (act, why), "{name}");
    }
}
