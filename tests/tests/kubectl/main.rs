//! `kubectl careen` against a real API server, and the agent where it matters that one answers.

mod agents;
mod asking;
mod person;
mod planning;
mod proxies;
mod reading;
mod rights;
mod watching;
