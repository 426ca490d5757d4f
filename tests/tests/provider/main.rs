//! careen-provider against a real API server, with the rights of its release: who leads, its certificate and whom core trusts, what it
//! shows of itself, its writes and what becomes of those that are refused. Whole rollouts with the real managers are in `cluster_api`.

mod cancelled;
mod catalogue;
mod certificate;
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
