//! A control plane of kubeadm's: what a look at it has found, and the rules over that.
//!
//! [`Survey`] holds what `careen-control survey` reads on one node. The other files are functions
//! over it: whether this member may be away (`quorum`), what kubeadm has to do (`verb`), what that
//! does to etcd (`etcd_step`), which certificate ends first (`expiry`), and whether there is room
//! (`room`). `findings` puts them together.
//!
//! The other verbs of `careen-control` have their decisions and answers here, too: `lock` (who may
//! change the control plane), `snapshot` (etcd's data before a change) and `leadership` (who leads
//! etcd meanwhile). `raise` decides how kubeadm runs and whether it did its work, and `repair`
//! which manifests are written again after it was cut. `task` lists what an upgrade asks of
//! careen-control, `hurt` says whether this node's part is well after that, and `single` what the
//! policy says of a cluster of one. Nothing here writes.

mod component;
mod etcd;
mod etcd_step;
mod expiry;
mod failure;
mod findings;
mod hurt;
mod leadership;
mod lines;
mod lock;
mod member;
mod quorum;
pub mod raise;
pub mod repair;
mod room;
mod single;
mod snapshot;
mod span;
mod stored;
mod survey;
mod task;
mod text;
mod verb;

pub use component::Component;
pub use etcd::{EtcdId, EtcdTag, EtcdVersion, NotEtcd};
pub use etcd_step::{Step, TooOld, etcd_step, undo};
pub use expiry::{Certificate, Expiry, SOON, expiry};
pub use failure::Failure;
pub use findings::{Class, Code, Finding, findings};
pub use leadership::{Stay, Yielding, successor};
pub use lines::lines;
pub use lock::{
    Claim, Ending, Held, Holder, LOCK, LOCK_NAMESPACE, Locking, News, NoHolder, Taken, Unlocking,
    claim, ending,
};
pub use member::{Answer, LAG, Listed, Member, Status, members};
pub use quorum::{Hold, Leave, Quorum, quorum};
pub use room::{Place, Use, wanted};
pub use single::forbidden;
pub use snapshot::{Kept, Refusal, Saved, Saving, fitness, oldest_kept, surplus};
pub use stored::LONGEST;
pub use survey::{
    Alarm, AlarmKind, Drift, Kind, Lock, Other, Owner, Source, Survey, TooMany, Unseen, Versions,
};
pub use task::{Done, Task};
pub use text::{Detail, Name, Text};
pub use verb::{Verb, verb};
