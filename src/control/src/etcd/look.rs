//! All members of etcd, asked at the same time.

use futures::future::{join_all, join3};
use upgrade::control_plane::{Alarm, Answer, EtcdId, Listed, Member, Name, Status, members};

use super::address::Address;
use super::client::Client;
use super::wire::{self, Addressed};

/// What etcd says.
#[derive(Debug, Default)]
pub struct Found {
    /// The member of this node. An external etcd has one only where an endpoint is on this node.
    pub me: Option<EtcdId>,
    /// What the own member says.
    pub own: Option<Status>,
    /// The members, judged.
    pub members: Vec<Member>,
    /// The alarms that are raised.
    pub alarms: Vec<Alarm>,
    /// The size of the own database.
    pub db_bytes: Option<u64>,
    /// The size that raises an alarm.
    pub quota_bytes: Option<u64>,
    /// What could not be read.
    pub unread: Vec<String>,
}

/// Asks the own member for the others, then all of them.
pub async fn stacked(client: &Client, own: &Address) -> Found {
    let list = client.post(own, wire::MEMBERS, "{}");
    let alarms = raised(client, own);
    let (list, alarms, mine) = join3(list, alarms, status(client, own)).await;
    let mut found = Found::default();
    match list
        .map_err(|error| error.to_string())
        .and_then(|text| wire::members(&text))
    {
        Ok(list) => found.members = all(client, own, &mine, list).await,
        Err(why) => found
            .unread
            .push(format!("the member of this node, {own}: {why}")),
    }
    match alarms {
        Ok(alarms) => found.alarms = alarms,
        // Without a list there is one complaint already.
        Err(why) if !found.members.is_empty() => {
            found.unread.push(format!("its alarms: {why}"));
        }
        Err(_) => {}
    }
    if let Answer::Status(mine) = &mine {
        found.take(mine);
    }
    found
}

impl Found {
    fn take(&mut self, mine: &Status) {
        self.me = Some(mine.id);
        self.own = Some(mine.clone());
        self.db_bytes = Some(mine.db_bytes);
        self.quota_bytes = mine.quota_bytes;
    }
}

/// Judges all members. The own one was asked at the own address.
async fn all(client: &Client, own: &Address, mine: &Answer, list: Vec<Addressed>) -> Vec<Member> {
    let asked = list.into_iter().map(|(listed, urls)| async move {
        let answer = match is_own(mine, &listed, own, &urls) {
            true => mine.clone(),
            false => first(client, &urls).await,
        };
        (listed, answer)
    });
    members(&join_all(asked).await)
}

fn is_own(mine: &Answer, listed: &Listed, own: &Address, urls: &[String]) -> bool {
    match mine {
        Answer::Status(status) => status.id == listed.id,
        Answer::Silent(_) => urls.iter().any(|url| url.parse().as_ref() == Ok(own)),
    }
}

/// The answer at the first of these addresses that has one.
async fn first(client: &Client, urls: &[String]) -> Answer {
    let mut last = Answer::Silent("it has no address yet".into());
    for url in urls {
        last = match url.parse() {
            Ok(address) => status(client, &address).await,
            Err(error) => Answer::Silent(format!("{error}").into()),
        };
        if matches!(last, Answer::Status(_)) {
            break;
        }
    }
    last
}

async fn status(client: &Client, address: &Address) -> Answer {
    let answer = client.post(address, wire::STATUS, "{}").await;
    match answer
        .map_err(|error| error.to_string())
        .and_then(|text| wire::status(&text))
    {
        Ok(status) => Answer::Status(status),
        Err(why) => Answer::Silent(why.into()),
    }
}

/// Asks the endpoints of an etcd that is not of kubeadm's, each for its health, and the first that
/// answers for the alarms. An endpoint that does not answer has its number in place of an id.
pub async fn external(client: &Client, endpoints: &[String]) -> Found {
    let asked = (1..).zip(endpoints);
    let asked = asked.map(|(number, endpoint)| ask(client, number, endpoint));
    let asked = join_all(asked).await;
    let mut found = Found {
        me: own(&asked),
        ..Found::default()
    };
    if let Some(address) = asked.iter().find_map(Asked::answering) {
        match raised(client, address).await {
            Ok(alarms) => found.alarms = alarms,
            Err(why) => found.unread.push(format!("its alarms, {address}: {why}")),
        }
    }
    let pairs: Vec<_> = asked
        .into_iter()
        .map(|one| (one.listed, one.answer))
        .collect();
    found.members = members(&pairs);
    found
}

/// An endpoint, and what it said.
struct Asked {
    address: Option<Address>,
    is_here: bool,
    listed: Listed,
    answer: Answer,
}

impl Asked {
    fn answering(&self) -> Option<&Address> {
        match self.answer {
            Answer::Status(_) => self.address.as_ref(),
            Answer::Silent(_) => None,
        }
    }
}

async fn ask(client: &Client, number: u64, endpoint: &str) -> Asked {
    let answer = first(client, &[endpoint.to_owned()]).await;
    let address: Option<Address> = endpoint.parse().ok();
    let is_here = match &address {
        Some(address) => address.is_here().await,
        None => false,
    };
    let id = match &answer {
        Answer::Status(status) => status.id,
        Answer::Silent(_) => EtcdId(number),
    };
    let (name, learner) = (Name::from(endpoint), false);
    Asked {
        address,
        is_here,
        listed: Listed { id, name, learner },
        answer,
    }
}

/// The member of this node, if an endpoint is on this node. Its reboot takes that one away.
fn own(asked: &[Asked]) -> Option<EtcdId> {
    let mut here = asked.iter().filter(|one| one.is_here);
    here.next().map(|one| one.listed.id)
}

async fn raised(client: &Client, address: &Address) -> Result<Vec<Alarm>, String> {
    let answer = client
        .post(address, wire::ALARMS, r#"{"action":"GET"}"#)
        .await;
    wire::alarms(&answer.map_err(|error| error.to_string())?)
}
