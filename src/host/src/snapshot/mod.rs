//! The kubelet's state, saved before a trial and restored when the old system comes back.
//!
//! Both systems share /var: the new kubeadm rewrites config.yaml, the new kubelet rewrites its
//! checkpoints, and an older kubelet rejects what it does not know (kubernetes issues 86689,
//! 137820). Keys and certificates are never touched: they are renewed in the meantime, and the old
//! ones may be invalid.

mod due;
mod find;
mod folders;
mod index;
mod once;
mod owed;
mod restore;
mod save;
mod tidy;
mod way;

pub use due::{Here, is_outstanding, is_wanted, owe_outstanding};
pub use index::exists;
pub use once::{is_noted, is_over, note, note_armed, restore_again};
pub use owed::{Owed, all_owed, none_is_owed, owe, owed};
pub use restore::{Snapshot, open, restore};
pub use save::{Before, rehearse, save, save_while};
pub use tidy::{forget, keep_only};
