//! The observed state of one turn.

use host::agents::{AgentId, Launched, Role};
use host::record::Store;
use thiserror::Error;
use upgrade::{Activity, Reason, Release, names};

use crate::node::Node;
use crate::systemd::{Active, Origin, Refused, Service, Systemd};
use crate::units;

/// The runs of careen-deploy. One that is running is a step in progress, even if the record shows
/// no upgrade (it cleans up). Only the run for a plan does not count: the next agent ends it.
const STEPS: &str = "careen-deploy-*";

/// All input of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The pod's bundle.
    pub brought: AgentId,
    /// The image's agent has the same version or a newer one, so it runs instead of the pod's.
    pub image_goes_first: bool,
    /// The agent that should run.
    pub wanted: Option<AgentId>,
    /// The agent that has proved that it runs.
    pub proven: Option<AgentId>,
    /// The agent that was tried and left.
    pub given_up: Option<AgentId>,
    /// The agent that was last started.
    pub launched: Option<Launched>,
    /// Whether an upgrade permits a change.
    pub activity: Activity,
    /// The agent's service.
    pub service: Service,
    /// The installer's units for an image without them are those of this pod.
    pub units_are_ours: bool,
    /// The pod's bundle is complete on disk, as far as it was checked.
    pub is_whole: bool,
    /// There is an agent that runs or can run.
    pub can_run: bool,
}

impl Seen {
    /// Whether the pod's agent ran here before and does not in this boot.
    #[must_use]
    pub fn is_left(&self) -> bool {
        let left = self.launched.as_ref().and_then(|last| last.left.as_ref());
        left == Some(&self.brought)
    }
}

/// Why the node's state is unknown.
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

/// Whether an upgrade permits a change, from the record and the running units.
///
/// # Errors
/// If this cannot be determined.
pub fn activity(node: &Node, systemd: &dyn Systemd) -> Result<Activity, Blind> {
    let repository = node.places.sysroot.join("ostree/repo");
    if !repository.is_dir() {
        return Err(Blind::NoOstree(repository.display().to_string()));
    }
    let record = Store::new(&node.places.sysroot)
        .read()
        .map_err(Blind::Record)?;
    let alive = systemd.alive(STEPS)?;
    let at_least = match alive.iter().any(|unit| unit != names::PLAN_UNIT) {
        true => Activity::UnderWay,
        false => Activity::Free,
    };
    Ok(Activity::of(&record).max(at_least))
}

/// Observes everything.
///
/// # Errors
/// If something cannot be determined.
pub fn look(node: &Node, systemd: &dyn Systemd) -> Result<Seen, Blind> {
    let service = systemd.service(names::AGENT_UNIT)?;
    let seen = Seen {
        brought: node.brought.id.clone(),
        image_goes_first: image_goes_first(node),
        wanted: node.agents.id(Role::Wanted)?,
        proven: node.agents.id(Role::Proven)?,
        given_up: node.agents.given_up(),
        launched: node.agents.launched(),
        activity: activity(node, systemd)?,
        can_run: can_run(node, &service),
        service,
        units_are_ours: units::are_in_place(node),
        is_whole: true,
    };
    let is_whole = !is_missed(&seen) || node.agents.bundle(&seen.brought).is_ok();
    Ok(Seen { is_whole, ..seen })
}

/// Whether there is an agent that runs or can run: the image's own, or the proven one, which the
/// installer's units start.
#[must_use]
pub fn can_run(node: &Node, service: &Service) -> bool {
    match (service.active, service.origin) {
        (Active::Running, _) | (_, Origin::Image) => true,
        (Active::Changing | Active::Down, Origin::Elsewhere | Origin::Nobody) => {
            has_a_proven_one(node)
        }
    }
}

/// Whether the bundle that has proved that it runs is there and undamaged.
#[must_use]
pub fn has_a_proven_one(node: &Node) -> bool {
    let proven = node.agents.id(Role::Proven);
    proven.is_ok_and(|id| id.is_some_and(|id| node.agents.bundle(&id).is_ok()))
}

/// The launcher's choice, which it records when it starts an agent.
fn image_goes_first(node: &Node) -> bool {
    let images = |last: &Launched| match last.ran {
        Some(_) => None,
        None => last.release.parse::<Release>().ok(),
    };
    let image = node.agents.launched().as_ref().and_then(images);
    image.is_some_and(|image| image >= node.brought.release)
}

/// Whether the wrong agent runs for no visible reason. Only in that case are the digests checked,
/// because that reads all programs, and the launcher does it at every start.
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
