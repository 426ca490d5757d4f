//! The agents that a DaemonSet's pod has installed on this node, below `/var/lib/careen/agents`.
//!
//! ```text
//! 0.1.1-0123456789ab/   one bundle: programs, VERSION, SHA256SUMS
//! wanted -> 0.1.1-…     what the pod wants to run
//! proven -> 0.1.0-…     the last that has shown that it runs
//! launched              what was started last, and how often the wanted one was
//! given-up              the bundle that did not start
//! ```
//!
//! A bundle never changes once it has its name; a link is replaced atomically. So a running agent
//! keeps its files, and a power cut leaves either the old state or the new one.

mod bundle;
mod folder;
mod found;
mod launched;
mod pick;
mod starts;

pub use bundle::{AgentId, Bundle, PROGRAMS};
pub use folder::{Agents, Role};
pub use found::Found;
pub use launched::{Launched, Tried};
pub use pick::Pick;
