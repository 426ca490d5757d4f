//! A model checker for the shipped brain.
//!
//! The model calls [`upgrade::decide`] unchanged, in the agent's home and in the stage's. A small
//! model of the rest surrounds it. `stateright` explores every order in which a bounded number of
//! faults can occur.
//!
//! **What is modelled.**
//! - GRUB: the one-shot by position, which GRUB clears before the kernel; a torn grubenv; an
//!   unreadable kernel. A loader that cannot clear, or loses the clearing with the power; a
//!   separate /boot that the guard does not see. A person's choice in the menu, also of a kept
//!   system.
//! - libostree's swap: folder, rename of the loader's link, flush, clean-up. A power cut between
//!   rename and flush loses the rename for both, or only for the loader, which replays no journal.
//! - The record, written between decision and act.
//! - The kubelet's state, which an older kubelet cannot read, and the kubeadm that configured it.
//!   Its snapshot and `careen-restore`, which may fail or not run at all.
//! - The deadman.
//! - The API server: unavailable, back, older than before; without an answer that it had accepted,
//!   or late with a change. Its version, which becomes known later than the server.
//! - The requester and other people: another request, the same request with another id or without
//!   an id, and a withdrawal. A pause, which ends when nothing else is left to wait for. A cordon,
//!   and an uncordon of any cordon, both without a look at Careen's mark. The cordon or the load
//!   balancer label of a finished upgrade, which comes back. A person's own default, immediate or
//!   staged until the next shutdown; the system on trial made the default. The old system's pin
//!   removed; a clean-up of everything without a pin; another entry of the menu.
//! - A member of a control plane (`plane`): kubeadm's moves of each manifest, its rollback, and the
//!   ledger. The repair at a boot, etcd's minors, other members, the Lease, the mount. The functions
//!   of `upgrade::control_plane` that ship judge this world.
//! - A prepared host without a cluster (`host`): no Node, no pods and no kubelet.
//! - Changes of /etc.
//! - An agent that dies permanently in a trial.
//! - Steps that fail before, during or after their effect.
//!
//! **Faults cost.** Each state has one calm successor, or none at rest. Everything else uses up one
//! of a finite number. So a run consists of finitely many faults with calm stretches between them,
//! and liveness needs no fairness. From *every* state the model follows the calm run to its rest,
//! and judges that rest (`rest::unrest`). The model does not use `stateright`'s own `eventually`:
//! it is unsound where paths join or loop, as its documentation says. 64-bit hashes distinguish
//! states.
//!
//! **Abstractions, and what they leave out.**
//! - Time is whole seconds of a boot. Actions take no time; only waiting does, and the fault `Late`
//!   moves the time beyond the next moment that matters. Left out: two things that are late by
//!   different amounts at the same time.
//! - The record is written completely or not at all. The model drops its generation and times after
//!   the check that the generation rises. Left out: torn copies (`host::record`'s tests), records
//!   of other versions.
//! - The operator's hours end as a fault. They come again immediately, or when a run waits for
//!   them. That no time service has set the clock is a fault as well, before the arming; the clock
//!   is set when a run waits, or in the next boot. Left out: their end as a moment that ends a wait early, and time zones (`upgrade`'s
//!   tests).
//! - The cluster is one server with one Node, and a patch succeeds or fails. A conflict is a step
//!   that fails temporarily (`Fails`): it has no effect, and the brain retries it. Left out: single
//!   fields and the watch (the cluster tests), and wall time, on which only those hours depend.
//! - An agent dies permanently only while the new system is not the default yet. After that the
//!   deadman no longer acts, and outside a trial nothing of Careen would restart the agent.
//! - The shields of an upgrade stay until a careful operator's node has settled, also if another
//!   upgrade begins meanwhile and ends before it takes the node.
//! - The soak is the operator's, together with hooks and hours. Left out: a longer soak that a
//!   requester asks for.
//! - A person can pick a kept system in the menu. Left out: a request for it (`kept:`), which needs
//!   a kubelet that reads what a newer one wrote.
//! - Only Careen's mark tells the owner of a cordon. Left out: the server's managed fields, which
//!   identify a person's cordon under Careen's mark if the agent had no chance to remove that mark
//!   (`agent::cluster::marks`, the cluster tests). Also left out: the mark of the load balancer
//!   label, which nobody removes here.
//! - An agent knows about the removal of a cordon only what it learned since its start. A restarted
//!   agent continues without that knowledge while the API server stays unavailable, and does not
//!   know of a cordon that was set again meanwhile.
//! - A person can stage a system. Left out: what libostree does with a staged system during a write
//!   of the menu.
//! - A killed agent also kills its step at the part that the step has reached. Left out: a
//!   `careen-deploy` that outlives it.
//! - A killed agent also ends the raise, after the ledger has kept what is there. Left out: a
//!   careen-control that is killed while kubeadm goes on, an external etcd, learners, alarms,
//!   certificates, room, and a KubeadmControlPlane.
//! - Other members act as one: they are away or not, and have one version. Nobody but this node
//!   looks at the quorum. Their upgrades take no time.
//! - The copies of the ledger are whole (`host::ledger`'s tests), and so is the snapshot of etcd.
//! - People do one thing at a time, and no person changes the default in the second in which the
//!   blessing swaps it.
//! - Verify, rehearsal and drain have no contents: images differ by their flaw, and pods exist or
//!   not. Their containers end after them, and their volumes detach at the end of the drain. Left
//!   out: the limits after which the drain goes on with a container that still runs, or with a
//!   volume that is still attached.
//! - The world does not lie about its own state: /boot is never older than the last flush (T7's
//!   other half), and folders and files are complete (the guard's answer represents the files).

#![deny(clippy::wildcard_enum_match_arm)]

pub mod befall;
pub mod boot;
pub mod brain;
pub mod cast;
pub mod chain;
pub mod check;
pub mod fault;
pub mod host;
pub mod kept;
pub mod look;
pub mod machine;
pub mod mistakes;
pub mod mutant;
pub mod plane;
pub mod program;
pub mod promises;
pub mod rest;
pub mod runs;
pub mod steps;
pub mod way;
pub mod world;
