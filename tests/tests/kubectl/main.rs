//! `kubectl careen` against a real API server, with an agent where its answer matters.

mod agents;
mod asking;
mod lease;
mod person;
mod planning;
mod proxies;
mod reading;
mod rights;
mod unlocking;
mod watching;
