//! Parts of careen-provider against a real API server: who leads, the certificate in its Secret, the catalogue's definition. Whole
//! rollouts with the real managers are in `cluster_api`.

mod catalogue;
mod lease;
mod secret;
