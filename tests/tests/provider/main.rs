//! careen-provider against a real API server, with the rights of its release: leadership, its
//! certificate and core's trust, its health, metrics and Events, and its accepted and refused
//! writes. Whole rollouts with the real managers are in `cluster_api`.

mod cancelled;
mod catalogue;
mod certificate;
mod control_plane;
mod credential;
mod held;
mod isolated;
mod lease;
mod refused;
mod resolves;
mod rights;
mod secret;
mod shown;
mod silent;
mod successor;
