//! Putting together what the machine, the API server, the step under way and the checks show.

use upgrade::decide::RecordRead;
use upgrade::{Finished, Health, Observation, Step};

use crate::hands::Local;
use crate::link::Link;

/// What the loop itself knows beside the machine.
pub struct Around<'a> {
    /// The API server and our Node.
    pub link: &'a Link,
    /// The step that is being performed.
    pub running: Option<Step>,
    /// The step that has just ended.
    pub finished: Option<Finished>,
    /// What the checks of a trial have found.
    pub local: Option<Local>,
}

/// The observation of this moment: what the machine shows, and what the loop knows.
#[must_use]
pub fn observation(machine: Observation, around: Around<'_>, read: &RecordRead) -> Observation {
    let link = around.link;
    let api = match around.local {
        Some(_) => link.api_in_trial(),
        None => link.api.clone(),
    };
    let network = around
        .local
        .as_ref()
        .map_or(Ok(()), |local| local.network.clone());
    let health = health(around.local, &machine, link, read);
    Observation {
        node: link.node.as_ref().map(|node| node.name.clone()),
        request: link.asked.clone(),
        paused: link.paused.clone(),
        opted_out: link.opted_out.clone(),
        strays: link.strays.clone(),
        uncordoned: link.is_schedulable()
            || read
                .as_ref()
                .is_ok_and(|record| link.is_cordoned_by_others(record)),
        own_cordon: read
            .as_ref()
            .is_ok_and(|record| link.is_cordoned_for(record)),
        own_exclusion: read
            .as_ref()
            .is_ok_and(|record| link.is_excluded_for(record)),
        stale_mark: link.has_left_mark(),
        api,
        network,
        running: around.running,
        finished: around.finished,
        health,
        ..machine
    }
}

fn health(local: Option<Local>, machine: &Observation, link: &Link, read: &RecordRead) -> Health {
    let ready = link.ready(&machine.boot);
    let (Some(local), Ok(record)) = (local, read) else {
        // Outside a trial nothing is judged, but how long the node was away is counted.
        return Health {
            ready,
            ..Health::unknown()
        };
    };
    Health {
        runtime: local.runtime,
        kubelet: local.kubelet,
        credential: local.credential,
        kubeadm: local.kubeadm,
        ready,
        version: link.version(&machine.boot, record),
        required: local.required,
    }
}
