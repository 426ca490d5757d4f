//! Putting together what the machine, the API server, the step under way and the checks show.

use upgrade::decide::RecordRead;
use upgrade::{Finished, Health, Home, Observation, Step};

use crate::hands::{Local, Machine};
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

/// The observation of this moment.
#[must_use]
pub fn observation(machine: Machine, around: Around<'_>, read: &RecordRead) -> Observation {
    let link = around.link;
    let health = health(around.local, &machine, link, read);
    Observation {
        home: Home::Agent,
        now: machine.now,
        wall: machine.wall,
        boot: machine.boot,
        booted: machine.booted,
        version: machine.version,
        trial: machine.trial,
        deployments: machine.deployments,
        one_shot: machine.one_shot,
        loader: machine.loader,
        control_plane: machine.control_plane,
        machine: machine.machine,
        etc_stale: machine.etc_stale,
        request: link.asked.clone(),
        paused: link.paused.clone(),
        api: link.api.clone(),
        running: around.running,
        finished: around.finished,
        health,
        // The stage alone looks at the files.
        integrity: None,
    }
}

fn health(local: Option<Local>, machine: &Machine, link: &Link, read: &RecordRead) -> Health {
    let (Some(local), Ok(record)) = (local, read) else {
        return Health::unknown();
    };
    Health {
        runtime: local.runtime,
        kubelet: local.kubelet,
        kubeadm: local.kubeadm,
        ready: link.ready(&machine.boot),
        version: link.version(&machine.boot, record),
        required: local.required,
    }
}
