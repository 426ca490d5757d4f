//! `careen-control raise` and `give-up`, from the command line to the answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use control::{Folder, RaiseOrder, raise};
use host::ledger::Ledger;
use host::{Places, mounts};
use serde::Serialize;
use upgrade::control_plane::raise::{Ended, GivingUp};
use upgrade::exit;

use crate::args::{GiveUp, Raise};
use crate::begin::{now, runtime};

/// Raises, and prints the answer as one line of JSON.
pub fn run(root: &Path, asked: Raise) -> Result<u8, String> {
    let order = order(root, asked);
    make_writable(&order.places)?;
    let ended = runtime()?.block_on(raise(&order));
    print(&ended)?;
    Ok(match ended {
        Ended::Raised(_) => exit::DONE,
        Ended::NotRaised(_) => exit::FAILED,
    })
}

/// Gives up a raise, and prints the answer as one line of JSON.
pub fn give_up(root: &Path, asked: GiveUp) -> Result<u8, String> {
    let places = places(root, asked.sysroot);
    make_writable(&places)?;
    let id = asked.upgrade;
    let gave_up = match Ledger::of(&places, &id).folder().exists() {
        true => runtime()?.block_on(control::give_up(&places, &id)),
        false => {
            // The agent also asks after a raise that was cut before its ledger.
            eprintln!(
                "careen-control: there is no raise of {id} on this node, so there is none to give up. Compare the id with /sysroot/ostree/careen/control-*."
            );
            Ok(())
        }
    };
    let (answer, code) = match gave_up {
        Ok(()) => (GivingUp::GivenUp(id), exit::DONE),
        Err(why) => (GivingUp::NotGivenUp(why.into()), exit::FAILED),
    };
    print(&answer)?;
    Ok(code)
}

fn print(answer: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string(answer).map_err(|error| error.to_string())?;
    println!("{text}");
    Ok(())
}

/// /sysroot is read-only for everything else. Call it before any thread begins.
fn make_writable(places: &Places) -> Result<(), String> {
    let private = mounts::make_private();
    let writable = private.and_then(|()| mounts::make_writable(&places.sysroot));
    writable.map_err(|error| format!("the ledger cannot be written: {error}"))
}

fn places(root: &Path, sysroot: Option<PathBuf>) -> Places {
    let places = Places::running(root);
    match sysroot {
        Some(sysroot) => Places { sysroot, ..places },
        None => places,
    }
}

fn order(root: &Path, asked: Raise) -> RaiseOrder {
    RaiseOrder {
        folder: Folder::below(root),
        places: places(root, asked.sysroot),
        id: asked.upgrade,
        to: asked.target_version,
        kubeadm: asked.kubeadm,
        images: asked.images,
        runtime: asked.runtime_socket,
        old_kubelet: asked.old_kubelet_path,
        patches: asked.patches,
        ignore: asked.ignore_preflight_errors,
        skip: asked.skip_phases,
        pod: Duration::from_secs(asked.pod_seconds),
        serving: Duration::from_secs(asked.serving_seconds),
        prune_before: asked.prune_before,
        now: now(),
    }
}
