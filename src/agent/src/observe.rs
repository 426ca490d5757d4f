//! Combines what the machine, the API server, the current step and the checks show.

use upgrade::decide::RecordRead;
use upgrade::serving::{Offer, Serving};
use upgrade::{
    BootId, Finished, Health, Membership, NodeView, Observation, Record, SinceBoot, Step, Turn,
};

use crate::access::Local;
use crate::node_state::Link;
use crate::unjoined;

/// What the loop itself knows in addition to the machine.
pub struct Around<'a> {
    /// The API server and the Node.
    pub link: &'a Link,
    /// The step that the agent is performing.
    pub running: Option<Step>,
    /// The step that has just ended.
    pub finished: Option<Finished>,
    /// When the loop refused a request last.
    pub refused: Option<SinceBoot>,
    /// The results of the trial's checks.
    pub local: Option<Local>,
    /// What the server has of this node, looked at during a trial.
    pub offer: Option<Offer>,
}

/// The current observation: what the machine shows and what the loop knows.
#[must_use]
pub fn observation(seen: Observation, around: Around<'_>, read: &RecordRead) -> Observation {
    let link = around.link;
    let trial = around.local.as_ref();
    let health = health(around.local.clone(), &seen.turn.boot, link, read);
    let (node, health) = match seen.node.membership {
        Membership::Joined => {
            let api = trial.map_or_else(|| link.api.clone(), |_| link.api_in_trial());
            (
                NodeView {
                    api,
                    ..node(link, read)
                },
                health,
            )
        }
        Membership::Unjoined => {
            let health = unjoined::health(health, &seen.node);
            (seen.node, health)
        }
    };
    Observation {
        machine: seen.machine,
        node,
        turn: Turn {
            running: around.running,
            finished: around.finished,
            refused: around.refused,
            serving: Serving {
                node: around.offer,
                units: trial.and_then(|local| local.units.clone()),
                system: trial.map(|local| local.system.clone()),
                settings: trial.and_then(|local| local.settings.clone()),
                limits: trial.and_then(|local| local.limits.clone()),
                kernel: trial.and_then(|local| local.kernel.clone()),
                // The sandbox is a check of its own.
                ..Serving::default()
            },
            network: trial.map_or(Ok(()), |local| local.network.clone()),
            health,
            ..seen.turn
        },
    }
}

/// The Node as the watch shows it.
fn node(link: &Link, read: &RecordRead) -> NodeView {
    let of_the_record = |holds: &dyn Fn(&Record) -> bool| read.as_ref().is_ok_and(holds);
    NodeView {
        membership: Membership::Joined,
        name: link.node.as_ref().map(|node| node.name.clone()),
        request: link.asked.clone(),
        paused: link.paused.clone(),
        opted_out: link.opted_out.clone(),
        strays: link.strays.clone(),
        uncordoned: link.is_schedulable()
            || of_the_record(&|record| link.is_cordoned_by_others(record)),
        own_cordon: of_the_record(&|record| link.is_cordoned_for(record)),
        own_exclusion: of_the_record(&|record| link.is_excluded_for(record)),
        shielded: link.is_shielded(),
        stale_mark: link.has_left_mark(),
        api: link.api.clone(),
    }
}

fn health(local: Option<Local>, boot: &BootId, link: &Link, read: &RecordRead) -> Health {
    let ready = link.ready(boot);
    let (Some(local), Ok(record)) = (local, read) else {
        // Outside a trial nothing is judged, but the agent counts how long the server was
        // unreachable.
        return Health {
            ready,
            ..Health::unknown()
        };
    };
    Health {
        runtime: local.runtime,
        kubelet: local.kubelet,
        sandbox: local.sandbox,
        credential: local.credential,
        kubeadm: local.kubeadm,
        ready,
        version: link.version(boot, record),
        pod_network: local.pod_network,
        required: local.required,
        causes: local.causes,
    }
}
