//! etcd, over the JSON gateway on its own client port.
//!
//! - `address`: where a member is.
//! - `client`: one request over TLS, with limits on time and size; `failed`: why it had no answer.
//! - `stream`: an answer that comes in parts.
//! - `wire`: what the gateway answers.
//! - `look`: all members at once; `external`: those of an etcd that is not of kubeadm's.
//! - `asked`: one of them and its answer; `speak`: what one member says for all.
//! - `identity`: what the own member says about its data.
//! - `snapshot`: its database, part by part.
//! - `leader`: hands the leadership over.

mod address;
mod asked;
mod client;
mod external;
mod failed;
mod identity;
mod leader;
mod look;
mod snapshot;
mod speak;
mod stream;
mod wire;

pub use address::{Address, NoAddress};
pub use client::{Client, Unusable};
pub use external::external;
pub use failed::Failed;
pub use identity::{Identity, Peer, identity};
pub use leader::hand_over;
pub use look::{Found, stacked};
pub use snapshot::{Broken, Snapshot, snapshot};
pub use stream::Stream;
