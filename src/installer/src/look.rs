//! What is seen in one turn.

use host::agents::{AgentId, Launched, Role};
use host::journal::Store;
use thiserror::Error;
use upgrade::{Reason, Release, Standing, names};

use crate::node::Node;
use crate::systemd::{Active, Origin, Refused, Service, Systemd};
use crate::units;

/// The runs of careen-deploy: one that lives is a step in the middle, also where the record speaks of no upgrade (it cleans up). Only the look
/// for a plan is none: the next agent ends it.
const STEPS: &str = "careen-deploy-*";

/// Everything that a decision is taken on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What the pod brings.
    pub brought: AgentId,
    /// What the image has is of the same version or newer, so that it runs in place of what the pod brings.
    pub image_goes_first: bool,
    /// What shall run.
    pub wanted: Option<AgentId>,
    /// What has shown that it runs.
    pub proven: Option<AgentId>,
    /// What was tried and left.
    pub given_up: Option<AgentId>,
    /// What was started last.
    pub launched: Option<Launched>,
    /// Whether an upgrade allows a change.
    pub standing: Standing,
    /// The agent's service.
    pub service: Service,
    /// Our units, for an image without them are those of this pod.
    pub units_are_ours: bool,
    /// What the pod brings lies whole on the disk, as far as it was looked at.
    pub is_whole: bool,
    /// An agent is there that runs, or could.
    pub can_run: bool,
}

impl Seen {
    /// Whether what the pod brings has run here before and does not in this boot.
    #[must_use]
    pub fn is_left(&self) -> bool {
        let left = self.launched.as_ref().and_then(|last| last.left.as_ref());
        left == Some(&self.brought)
    }
}

/// Why it cannot be told how the node is.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum Blind {
    #[error(
        "{0} does not exist: Careen upgrades only systems that OSTree deployed. Keep this DaemonSet off this node"
    )]
    NoOstree(String),
    #[error("cannot tell whether an upgrade is under way, so nothing changes: {0}")]
    Record(Reason),
    #[error(transparent)]
    Host(#[from] host::Error),
    #[error(transparent)]
    Systemd(#[from] Refused),
}

/// Whether an upgrade allows a change: what the record says and what runs.
///
/// # Errors
/// When it cannot be told.
pub fn standing(node: &Node, systemd: &dyn Systemd) -> Result<Standing, Blind> {
    let repository = node.places.sysroot.join("ostree/repo");
    if !repository.is_dir() {
        return Err(Blind::NoOstree(repository.display().to_string()));
    }
    let record = Store::new(&node.places.sysroot)
        .read()
        .map_err(Blind::Record)?;
    let alive = systemd.alive(STEPS)?;
    let at_least = match alive.iter().any(|unit| unit != names::PLAN_UNIT) {
        true => Standing::UnderWay,
        false => Standing::Free,
    };
    Ok(Standing::of(&record).max(at_least))
}

/// Looks at everything.
///
/// # Errors
/// When something cannot be told.
pub fn look(node: &Node, systemd: &dyn Systemd) -> Result<Seen, Blind> {
    let service = systemd.service(names::AGENT_UNIT)?;
    let seen = Seen {
        brought: node.brought.id.clone(),
        image_goes_first: image_goes_first(node),
        wanted: node.agents.id(Role::Wanted)?,
        proven: node.agents.id(Role::Proven)?,
        given_up: node.agents.given_up(),
        launched: node.agents.launched(),
        standing: standing(node, systemd)?,
        can_run: can_run(node, &service),
        service,
        units_are_ours: units::are_in_place(node),
        is_whole: true,
    };
    let is_whole = !is_missed(&seen) || node.agents.bundle(&seen.brought).is_ok();
    Ok(Seen { is_whole, ..seen })
}

/// Whether there is an agent that runs, or could: the image's own, or the proven one, which our units start.
#[must_use]
pub fn can_run(node: &Node, service: &Service) -> bool {
    match (service.active, service.origin) {
        (Active::Running, _) | (_, Origin::Image) => true,
        (Active::Changing | Active::Down, Origin::Elsewhere | Origin::Nobody) => {
            has_a_proven_one(node)
        }
    }
}

/// Whether the bundle that has shown that it runs is there, to the last bit.
#[must_use]
pub fn has_a_proven_one(node: &Node) -> bool {
    let proven = node.agents.id(Role::Proven);
    proven.is_ok_and(|id| id.is_some_and(|id| node.agents.bundle(&id).is_ok()))
}

/// As the launcher chooses, which says what it started.
fn image_goes_first(node: &Node) -> bool {
    let images = |last: &Launched| match last.ran {
        Some(_) => None,
        None => last.release.parse::<Release>().ok(),
    };
    let image = node.agents.launched().as_ref().and_then(images);
    image.is_some_and(|image| image >= node.brought.release)
}

/// Whether something else runs than should, for no reason that is seen here. Only then are the digests looked at: the launcher does it at every
/// start, and all programs are read for it.
fn is_missed(seen: &Seen) -> bool {
    let is_to_run = seen.wanted.as_ref() == Some(&seen.brought)
        && seen.given_up.as_ref() != Some(&seen.brought);
    let runs = match (seen.service.active, &seen.launched) {
        (Active::Running, Some(last)) => match &last.ran {
            Some(id) => *id == seen.brought,
            None => seen.image_goes_first || seen.is_left(),
        },
        // An image from before the launcher.
        (Active::Running, None) => true,
        (Active::Changing | Active::Down, _) => false,
    };
    is_to_run && !runs
}
