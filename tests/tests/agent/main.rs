//! The agent against a real API server and etcd. Only the machine below it is small: see `careen_tests::machine`.

mod drain;
mod garbage;
mod life;
mod outage;
mod rights;
mod story;
mod trial;
mod watching;
