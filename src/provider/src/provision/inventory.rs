//! The hosts and machines as last seen. The choice of a host and the brake read them; each write is
//! decided again on what the API server says.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use infrastructure::{Host, provider_id};
use k8s_openapi::jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::facts;
use super::wire::{Lease, LeaseSpec};
use crate::kinds::policies::OF_A_HOST;
use crate::kinds::{CareenHost, CareenMachine};
use crate::machines::Key;
use crate::watch::News;

/// A Lease that says so at the first look counts as just renewed.
const FRESH: i64 = 180;

/// Everything that is watched. Clones share it.
#[derive(Clone, Default)]
pub struct Inventory(Arc<RwLock<State>>);

#[derive(Default)]
struct State {
    hosts: HashMap<Arc<str>, BTreeMap<String, Host>>,
    machines: HashMap<Key, Known>,
    leases: HashMap<Key, Heard>,
    named: [HashSet<Key>; 4],
    listed: [bool; 7],
}

/// A kind of which only the names are kept.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    /// CareenClusters.
    Cluster,
    /// HostRegistrations.
    Registration,
    /// CareenMachineTemplates.
    Template,
    /// CareenMachinePools.
    Pool,
}

/// What is kept of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The Machine that owns it.
    pub owner: Option<String>,
    /// The CareenMachinePool that made it.
    pub pool: Option<String>,
    /// Its Cluster.
    pub cluster: Option<String>,
    /// Its host, and the claim.
    pub host: Option<(String, String)>,
    /// The hosts that failed it.
    pub tried: facts::Tried,
}

/// What a change of a machine is news for.
#[derive(Debug, PartialEq, Eq)]
pub struct MachineNews {
    /// The machine.
    pub machine: Key,
    /// Its pool.
    pub pool: Option<Key>,
    /// The host that it had, if the machine is gone or has another one.
    pub host: Option<Key>,
}

/// What was seen of a Lease.
struct Heard {
    renew_time: Option<String>,
    at: i64,
    renewed: bool,
}

impl Known {
    fn pool_of(&self, machine: &Key) -> Option<Key> {
        let name = self.pool.as_deref()?;
        Some(Key::new(Arc::clone(&machine.namespace), name))
    }

    /// A machine that is gone: its host has a claim that nobody has any more.
    fn gone(self, machine: Key) -> MachineNews {
        let host = self.host.as_ref().map(|(name, _)| name.as_str());
        MachineNews {
            pool: self.pool_of(&machine),
            host: host.map(|name| Key::new(Arc::clone(&machine.namespace), name)),
            machine,
        }
    }
}

impl Inventory {
    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether everything was listed once.
    #[must_use]
    pub fn synced(&self) -> bool {
        self.read(|state| state.listed == [true; 7])
    }

    /// Takes what the watch of hosts reports. Returns the hosts that are new or changed.
    pub fn hosts(&self, news: News<CareenHost>, now: i64) -> Vec<(Key, Host)> {
        self.write(|state| match news {
            News::All(all) => {
                state.hosts.clear();
                state.listed[0] = true;
                all.iter().map(|one| state.put_host(one, now)).collect()
            }
            News::Changed(one) => vec![state.put_host(&one, now)],
            News::Gone(one) => {
                let key = key(&one);
                let all = state.hosts.get_mut(&key.namespace);
                let gone = all.and_then(|all| all.remove(&*key.name));
                gone.map(|host| (key, host)).into_iter().collect()
            }
        })
    }

    /// Takes what the watch of machines reports. What was removed in a gap of the watch is news for
    /// its host too.
    pub fn machines(&self, news: News<CareenMachine>) -> Vec<MachineNews> {
        self.write(|state| match news {
            News::All(all) => {
                let before = std::mem::take(&mut state.machines);
                state.listed[1] = true;
                let there: Vec<_> = all.iter().map(|one| state.put_machine(one)).collect();
                let has = |key: &Key| state.machines.get(key).and_then(|now| now.host.as_ref());
                let gone = before
                    .into_iter()
                    .filter(|(key, known)| known.host.as_ref() != has(key))
                    .map(|(key, known)| known.gone(key));
                gone.chain(there).collect()
            }
            News::Changed(one) => vec![state.put_machine(&one)],
            News::Gone(one) => {
                let news = state.put_machine(&one);
                let known = state.machines.remove(&news.machine).unwrap_or_default();
                vec![known.gone(news.machine)]
            }
        })
    }

    /// Takes what the watch of a kind reports. Returns the objects that are new or changed.
    pub fn keep<K: Resource>(&self, kind: Named, news: News<K>) -> Vec<Key> {
        self.write(|state| {
            state.listed[3 + kind as usize] |= matches!(news, News::All(_));
            keep(&mut state.named[kind as usize], news)
        })
    }

    /// All objects of a kind.
    #[must_use]
    pub fn all(&self, kind: Named) -> Vec<Key> {
        self.read(|state| state.named[kind as usize].iter().cloned().collect())
    }

    /// The objects of a kind in a namespace.
    #[must_use]
    pub fn all_of(&self, kind: Named, space: &str) -> Vec<Key> {
        let of_it = |key: &&Key| *key.namespace == *space;
        self.read(|state| {
            let all = state.named[kind as usize].iter();
            all.filter(of_it).cloned().collect()
        })
    }

    /// The pool of a machine.
    #[must_use]
    pub fn pool_of(&self, machine: &Key) -> Option<Key> {
        self.read(|state| state.machines.get(machine)?.pool_of(machine))
    }

    /// A host, as last seen.
    #[must_use]
    pub fn host(&self, space: &str, name: &str) -> Option<Host> {
        self.read(|state| state.hosts.get(space)?.get(name).cloned())
    }

    /// Takes what the watch of Leases reports. After a gap nobody has been silent: a renewal in the
    /// gap was not seen. Returns the hosts whose Lease is new, or is renewed for the first time or
    /// after a silence.
    pub fn leases(&self, news: News<Lease>, now: i64) -> Vec<Key> {
        self.write(|state| match news {
            News::All(all) => {
                state.listed[2] = true;
                let before = std::mem::take(&mut state.leases);
                let one = |lease: &Lease| {
                    let known = before.get(&key(lease));
                    let renewed = known.is_some_and(|known| known.renewed) || is_fresh(lease, now);
                    state.put_lease(lease, now, renewed)
                };
                all.iter().filter_map(one).collect()
            }
            News::Changed(one) => {
                let known = state.leases.get(&key(&one));
                let same = known.is_some_and(|known| known.renew_time == one.spec.renew_time);
                let begins = known.is_none_or(|known| !known.renewed || now - known.at >= FRESH);
                let renewed = one.spec.renew_time.is_some();
                if same {
                    return Vec::new();
                }
                let host = state.put_lease(&one, now, renewed);
                host.filter(|_| begins).into_iter().collect()
            }
            News::Gone(one) => {
                let none = Lease {
                    spec: LeaseSpec::default(),
                    ..one
                };
                state.put_lease(&none, now, false).into_iter().collect()
            }
        })
    }

    /// The clock was set by so many seconds.
    pub(super) fn clock_was_set(&self, by: i64) {
        self.write(|state| {
            state.leases.values_mut().for_each(|lease| lease.at += by);
            let hosts = state.hosts.values_mut().flat_map(BTreeMap::values_mut);
            hosts.for_each(|host| host.heard += by);
        });
    }

    /// What is known of a host's Lease, in this host.
    #[must_use]
    pub fn with_lease(&self, namespace: &str, host: Host) -> Host {
        self.read(|state| state.heard(namespace, host))
    }

    /// When the Lease of this host was renewed last, by the host's clock. A time that cannot be read
    /// is long ago.
    #[must_use]
    pub fn renewed_at(&self, key: &Key) -> Option<i64> {
        self.read(|state| {
            let heard = state.leases.get(&lease_key(&key.namespace, &key.name))?;
            let at = heard.renew_time.as_ref()?.parse::<Timestamp>();
            Some(at.map_or(0, Timestamp::as_second))
        })
    }

    /// Looks at all hosts of a namespace.
    pub fn look<T>(&self, namespace: &str, look: impl FnOnce(&[&Host]) -> T) -> T {
        self.read(|state| {
            let hosts = state.hosts.get(namespace);
            let all: Vec<&Host> = hosts.into_iter().flat_map(BTreeMap::values).collect();
            look(&all)
        })
    }

    /// Looks at the hosts of one namespace after the other.
    pub fn look_at_each_namespace(&self, mut look: impl FnMut(&[&Host])) {
        self.read(|state| {
            for hosts in state.hosts.values() {
                look(&hosts.values().collect::<Vec<_>>());
            }
        });
    }

    /// The machines that this is true of.
    pub fn which(&self, is: impl Fn(&Key, &Known) -> bool) -> Vec<Key> {
        self.read(|state| {
            let found = state.machines.iter().filter(|(key, known)| is(key, known));
            found.map(|(key, _)| key.clone()).collect()
        })
    }

    /// The provider ids of the machines of a namespace that have a host.
    #[must_use]
    pub fn claims(&self, space: &str) -> HashSet<String> {
        self.read(|state| {
            let here = state
                .machines
                .iter()
                .filter(|(key, _)| *key.namespace == *space);
            let hosts = here.filter_map(|(_, known)| known.host.as_ref());
            hosts
                .map(|(host, claim)| provider_id(space, host, claim))
                .collect()
        })
    }

    /// All hosts.
    #[must_use]
    pub fn all_hosts(&self) -> Vec<Key> {
        self.read(|state| {
            let all = state.hosts.iter();
            all.flat_map(|(of, hosts)| {
                hosts
                    .keys()
                    .map(|name| Key::new(Arc::clone(of), name.as_str()))
            })
            .collect()
        })
    }

    /// Each image that failed in this namespace since then, with each host that says so. A host
    /// that fails one machine after the other is one failure, and other tenants' hosts are none. The
    /// watch may not show yet what one machine says by itself.
    #[must_use]
    pub fn failures(
        &self,
        namespace: &str,
        since: i64,
        own: &facts::Tried,
    ) -> HashSet<(String, String)> {
        self.read(|state| {
            let all = state.machines.iter();
            let here = all.filter(|(key, _)| *key.namespace == *namespace);
            here.map(|(_, known)| &known.tried)
                .chain([own])
                .filter(|tried| tried.at >= since)
                .flat_map(|tried| {
                    let hosts = tried.by_image.iter();
                    hosts.map(|host| (tried.image.clone(), host.clone()))
                })
                .collect()
        })
    }
}

impl State {
    /// A host without a Lease is silent since the first look at it.
    fn put_host(&mut self, object: &CareenHost, now: i64) -> (Key, Host) {
        let key = key(object);
        let lease = lease_key(&key.namespace, &key.name);
        self.leases.entry(lease).or_insert(Heard {
            renew_time: None,
            at: now,
            renewed: false,
        });
        let host = self.heard(&key.namespace, facts::host(object));
        let of = self.hosts.entry(key.namespace.clone()).or_default();
        of.insert(host.name.clone(), host.clone());
        (key, host)
    }

    fn put_machine(&mut self, object: &CareenMachine) -> MachineNews {
        let key = key(object);
        let host = object.spec.host_ref.as_ref();
        let known = Known {
            owner: facts::owner_of(object.meta(), "Machine"),
            pool: facts::pool_of(object.meta()),
            cluster: facts::cluster_of(object.meta()),
            host: host.map(|host| (host.name.clone(), host.claim.clone())),
            tried: facts::tried(object),
        };
        let pool = known.pool_of(&key);
        let has = known.host.clone();
        let before = self.machines.insert(key.clone(), known);
        let had = before.and_then(|before| before.host);
        let host = had.filter(|had| Some(had) != has.as_ref());
        MachineNews {
            host: host.map(|(name, _)| Key::new(Arc::clone(&key.namespace), name)),
            machine: key,
            pool,
        }
    }

    /// Returns the host of the Lease.
    fn put_lease(&mut self, lease: &Lease, at: i64, renewed: bool) -> Option<Key> {
        let (key, renew_time) = (key(lease), lease.spec.renew_time.clone());
        let name = key.name.strip_prefix(OF_A_HOST)?;
        let of = Key::new(Arc::clone(&key.namespace), name);
        let hosts = self.hosts.get_mut(&key.namespace);
        if let Some(host) = hosts.and_then(|hosts| hosts.get_mut(name)) {
            (host.heard, host.renewed) = (at, renewed);
        }
        let heard = Heard {
            renew_time,
            at,
            renewed,
        };
        self.leases.insert(key, heard);
        Some(of)
    }

    fn heard(&self, namespace: &str, host: Host) -> Host {
        let heard = self.leases.get(&lease_key(namespace, &host.name));
        Host {
            heard: heard.map_or(host.heard, |heard| heard.at),
            renewed: heard.is_some_and(|heard| heard.renewed),
            ..host
        }
    }
}

fn lease_key(namespace: &str, host: &str) -> Key {
    Key::new(namespace, format!("{OF_A_HOST}{host}"))
}

/// Keeps the names of the objects that exist. Returns those that are new or changed.
fn keep<K: Resource>(all: &mut HashSet<Key>, news: News<K>) -> Vec<Key> {
    match news {
        News::All(listed) => {
            *all = listed.iter().map(key).collect();
            all.iter().cloned().collect()
        }
        News::Changed(one) => {
            all.insert(key(&one));
            vec![key(&one)]
        }
        News::Gone(one) => {
            all.remove(&key(&one));
            Vec::new()
        }
    }
}

/// The key of an object.
pub fn key(object: &impl ResourceExt) -> Key {
    Key::new(object.namespace().unwrap_or_default(), object.name_any())
}

fn is_fresh(lease: &Lease, now: i64) -> bool {
    let text = lease.spec.renew_time.as_deref();
    let at = text.and_then(|text| text.parse::<Timestamp>().ok());
    at.is_some_and(|at| now.abs_diff(at.as_second()) < FRESH.unsigned_abs())
}

#[cfg(test)]
mod tests;
