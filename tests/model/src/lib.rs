//! A model checker over the brain that ships.
//!
//! [`upgrade::decide`] is called as it is, in the agent's home and in the stage's; around it stands a small model of the
//! rest, explored by `stateright` in every order in which a bounded number of misfortunes can come.
//!
//! **What is modelled.** GRUB (one-shot by position, cleared before the kernel; a torn grubenv; a kernel that cannot be read;
//! a loader that cannot clear, or whose clearing is lost with the power; a /boot of its own that the guard does not see;
//! the menu picked by hand, a kept system in it). libostree's swap (folder, rename of the loader's link, flush,
//! clean-up; a cut between rename and flush loses it for both, or for the loader alone, which replays no journal). The
//! record, written between decision and act. The kubelet's state, which an older one cannot read, its snapshot and
//! `careen-restore`, which may fail or not run at all; by whose kubeadm it is configured. The deadman. The API server: away, back, older than it was, without an answer that it had accepted, hearing of a change late; the version known
//! later than the server. The requester and other people: another request, the same by another id, by none, taken back; a
//! pause, which ends when nothing else is left to wait for; a cordon, and one taken off, whoever set it, each without a look at our mark; the cordon, or the word to load balancers, of an upgrade that is over, which comes back; a default of
//! their own, made at once or staged until the next way down; the system on trial made the default; the old one's pin taken off; a clean-up of what is not pinned; another entry of the menu. /etc changing. An agent that dies for good in a trial. Steps that fail before, within or
//! behind their effect.
//!
//! **Misfortunes cost.** Each state has one calm successor, or none at rest; everything else costs one of a finite number.
//! So a run is finitely many misfortunes with calm stretches between them, and liveness needs no fairness: from *every*
//! state the calm run is followed to its rest, which is judged (`rest::unrest`). `stateright`'s own `eventually` is not
//! used: it is unsound where paths join or loop, as its documentation says. States are told apart by 64-bit prints.
//!
//! **Abstractions, and what they leave out.**
//! - Time is whole seconds of a boot. What is done takes none; only waiting takes time, and the misfortune `Late` moves it
//!   beyond the next moment that matters. Left out: two things that are late by different amounts at once.
//! - The record is written whole or not at all, and its generation and times are forgotten once that it rises is checked. Left out: torn copies
//!   (`host::journal`'s tests), records of other versions.
//! - The operator's hours end as a misfortune, and come again at once, or when that is waited for. Left out: their end as a moment that cuts a
//!   wait short, and time zones (`upgrade`'s tests).
//! - The cluster is one server with one Node; a patch is done or fails. A conflict is a step that fails for a while (`Fails`): by it
//!   nothing has come about, and the step is tried again. Left out: single fields and the watch (the cluster tests), wall time, by which nothing but those hours goes.
//! - An agent dies for good only where the new system is not the default yet: behind that the deadman asks no more, and outside a trial
//!   nothing of ours would bring it back.
//! - The soak is the operator's, beside hooks and hours. Left out: a longer one that a requester asks for.
//! - What is kept is there to be picked at the menu. Left out: a request for it (`kept:`), which needs a kubelet that reads what a newer one wrote.
//! - Whose a cordon is only our mark tells. Left out: the server's books, by which a person's cordon under our mark is known where the agent had no
//!   chance to take that mark off (`agent::cluster::marks`, the cluster tests); the mark of the word to load balancers, which nobody takes off here.
//! - Of a cordon that is taken off an agent knows what it was told in this life: one that was started anew goes on unheard where the API server
//!   stays away, and knows of none that was set again meanwhile.
//!   Left out: what libostree makes of a staged system when
//!   the menu is written.
//! - A killed agent takes its step with it at the part that it has reached. Left out: a `careen-deploy` that outlives it.
//! - People do one thing at a time, and none changes the default within the second in which the blessing swaps it.
//! - Verify, rehearsal and drain have no contents: images differ by their flaw, pods are there or gone.
//! - The world does not lie about its own state: /boot is never older than the last flush (T7's other half), folders and
//!   files are whole (the guard's answer stands for the files).

#![deny(clippy::wildcard_enum_match_arm)]

pub mod boot;
pub mod cast;
pub mod check;
pub mod fault;
pub mod kept;
pub mod look;
pub mod machine;
pub mod mutant;
pub mod program;
pub mod promises;
pub mod rest;
pub mod runs;
pub mod steps;
pub mod way;
pub mod world;
