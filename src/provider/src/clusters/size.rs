//! The memory that facts take. The budget of a cluster counts in these sizes, so each field is
//! named: a new field must be counted too.

use requests::{EndedRequest, NodeFacts};
use upgrade::report::{Cause, Status};

/// The memory that facts take.
pub trait Size {
    /// The approximate size in bytes.
    fn size(&self) -> usize;
}

impl Size for NodeFacts {
    fn size(&self) -> usize {
        let Self {
            name,
            uid,
            resource_version,
            provider_id,
            architecture,
            ready: _,
            cordoned: _,
            kubelet,
            control_plane: _,
            requested: _,
            image,
            version,
            id,
            paused,
            left_alone,
            reply,
            reached,
            failure,
            ended,
        } = self;
        // The name is also the map key.
        let strings = [name, name, uid, resource_version, architecture, kubelet];
        let strings: usize = strings.map(String::capacity).iter().sum();
        let texts = [provider_id, image, version, id, paused, left_alone, failure];
        let texts: usize = texts.map(len).iter().sum();
        let ended = ended.as_ref().map_or(0, |ended| {
            size_of::<EndedRequest>() + ended.reason.capacity()
        });
        let status = reply.status.as_ref().map_or(0, status_strings);
        size_of::<Self>() + strings + texts + status + ended + items(reached)
    }
}

fn status_strings(status: &Status) -> usize {
    let Status {
        id: _,
        phase,
        step,
        doing,
        percent: _,
        code,
        reason,
        reverts_for,
        from,
        to,
        to_version: _,
        boot: _,
        tries: _,
        unguarded: _,
        paused,
        unknown_keys,
        differs,
        control_plane,
        reached,
        waiting_since: _,
        default_moved: _,
    } = status;
    let texts: usize = [step, doing, code, reason, paused].map(len).iter().sum();
    let cause = reverts_for.as_ref();
    let cause = cause.map_or(0, |Cause { code, reason }| {
        code.capacity() + reason.capacity()
    });
    let lists = [unknown_keys, differs].map(list).iter().sum::<usize>() + items(reached);
    let digests = [from, to].map(|digest| digest.as_ref().map_or(0, |one| one.as_str().len()));
    // Fields that are not counted by length have narrow limits of their own.
    let snapshot = control_plane.as_ref().map_or(0, |one| len(&one.snapshot));
    phase.capacity() + snapshot + texts + cause + lists + digests.iter().sum::<usize>() + 256
}

fn len(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::capacity)
}

/// Items take memory even if they are empty.
fn items<T>(all: &Vec<T>) -> usize {
    all.capacity() * size_of::<T>()
}

fn list(all: &Vec<String>) -> usize {
    items(all) + all.iter().map(String::capacity).sum::<usize>()
}
