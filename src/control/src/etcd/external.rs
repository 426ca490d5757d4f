//! The members of an etcd that is not of kubeadm's, found at the endpoints that kubeadm-config
//! names.
//!
//! Endpoints are no members: one may lead to several members, and some members may have none. So
//! the list of members counts, and an endpoint only shows which member answers there.

use futures::future::{join, join_all};
use upgrade::control_plane::{Answer, EtcdId, Listed, Name, members};

use super::address::{Address, Place};
use super::asked::{Asked, pairs};
use super::client::Client;
use super::look::{Found, status};
use super::speak::{self, Said};
use super::wire::Addressed;

/// Asks the endpoints for the members, then each member to which no endpoint leads. A member that
/// can speak for all says the alarms.
///
/// Without a list, the endpoints are told in place of the members. One that does not answer then
/// has its number in place of an id.
pub async fn external(client: &Client, endpoints: &[String]) -> Found {
    let asked = (1..).zip(endpoints);
    let asked = asked.map(|(number, url)| endpoint(client, number, url));
    let endpoints = join_all(asked).await;
    let mut found = Found::default();
    let asked = match found.answered(speak::members(client, &endpoints).await) {
        Some(list) => {
            let all = list.iter().map(|one| member(client, one, &endpoints));
            let all = join_all(all).await;
            found.me = own(&all).or_else(|| dead(&all, &endpoints));
            all
        }
        None => {
            found.me = own(&endpoints);
            endpoints
        }
    };
    let alarms = speak::alarms(client, &asked).await;
    found.alarms = found.answered(alarms).unwrap_or_default();
    found.members = members(&pairs(&asked));
    found
}

impl Found {
    fn answered<T>(&mut self, answer: Said<T>) -> Option<T> {
        match answer? {
            Ok(answer) => Some(answer),
            Err(why) => {
                self.unread.push(why);
                None
            }
        }
    }
}

async fn endpoint(client: &Client, number: u64, url: &str) -> Asked {
    let urls = [url.to_owned()];
    let (found, place) = join(reached(client, &urls), place(url)).await;
    let (answer, address) = found;
    let id = match &answer {
        Answer::Status(status) => status.id,
        Answer::Silent(_) => EtcdId(number),
    };
    let (name, learner) = (Name::from(url), false);
    Asked {
        listed: Listed { id, name, learner },
        answer,
        address,
        place,
    }
}

/// Asks a member at its own addresses, if no endpoint has led to it.
async fn member(client: &Client, (listed, urls): &Addressed, endpoints: &[Asked]) -> Asked {
    let mut known = endpoints.iter();
    let (answer, address) = match known.find(|one| one.id() == Some(listed.id)) {
        Some(one) => (one.answer.clone(), one.address.clone()),
        None => reached(client, urls).await,
    };
    let place = match is_here(client, listed.id, urls, endpoints).await {
        true => Place::Here,
        false => Place::Elsewhere,
    };
    Asked {
        listed: listed.clone(),
        answer,
        address,
        place,
    }
}

/// Whether a member is on this machine: an endpoint of this machine leads to it, or it has an
/// address of this machine. Each machine has a loopback, so there the member must answer itself.
async fn is_here(client: &Client, id: EtcdId, urls: &[String], endpoints: &[Asked]) -> bool {
    let leads_here = |one: &Asked| one.is_here() && one.id() == Some(id);
    if endpoints.iter().any(leads_here) {
        return true;
    }
    for url in urls {
        let is_here = match place(url).await {
            Place::Here => true,
            Place::Loopback => {
                let (answer, _) = reached(client, std::slice::from_ref(url)).await;
                matches!(answer, Answer::Status(status) if status.id == id)
            }
            Place::Shared | Place::Elsewhere => false,
        };
        if is_here {
            return true;
        }
    }
    false
}

async fn place(url: &str) -> Place {
    match url.parse::<Address>() {
        Ok(address) => address.place().await,
        Err(_) => Place::Elsewhere,
    }
}

/// The answer at the first of these addresses that has one.
async fn reached(client: &Client, urls: &[String]) -> (Answer, Option<Address>) {
    let mut last = (Answer::Silent("it has no address yet".into()), None);
    for url in urls {
        last = match url.parse() {
            Ok(address) => (status(client, &address).await, Some(address)),
            Err(error) => (Answer::Silent(format!("{error}").into()), None),
        };
        if matches!(last.0, Answer::Status(_)) {
            break;
        }
    }
    last
}

/// The member of this node. Its reboot takes that one away.
fn own(asked: &[Asked]) -> Option<EtcdId> {
    let mut here = asked.iter().filter(|one| one.place != Place::Elsewhere);
    here.next().map(|one| one.listed.id)
}

/// An endpoint of this machine that is silent is a member that is away, although nobody can say
/// which one.
fn dead(members: &[Asked], endpoints: &[Asked]) -> Option<EtcdId> {
    let is_silent = |one: &&Asked| one.id().is_none();
    let mut here = endpoints.iter().filter(|one| one.is_here());
    here.find(is_silent)?;
    members.iter().find(is_silent).map(|one| one.listed.id)
}
