//! The agent against a real API server and etcd. Only the machine is simulated: see
//! `careen_tests::machine`.

mod answers;
mod captured;
mod credentials;
mod doctor;
mod drain;
mod garbage;
mod gone;
mod hand;
mod keys;
mod killed;
mod life;
mod marks;
mod neighbours;
mod offered;
mod outage;
mod outsider;
mod overtaken;
mod policy;
mod proxies;
mod rights;
mod serving;
mod story;
mod trial;
mod watching;
