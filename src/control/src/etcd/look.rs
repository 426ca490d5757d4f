//! All members of etcd, asked at the same time.

use futures::future::{join_all, join3};
use upgrade::control_plane::{Alarm, Answer, EtcdId, Listed, Member, Status, members};

use super::address::Address;
use super::client::Client;
use super::wire::{self, Addressed};

/// What etcd says.
#[derive(Debug, Default)]
pub struct Found {
    /// The member of this node. An external etcd may have one too.
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
    found.judge(own, &mine);
    found
}

impl Found {
    /// The quorum is counted from the own member, so a list without its answer is not enough.
    fn judge(&mut self, own: &Address, mine: &Answer) {
        match mine {
            Answer::Status(mine) => self.take(mine),
            Answer::Silent(why) if !self.members.is_empty() => {
                let why = format!("the status of this node's member, {own}: {why}");
                self.unread.push(why);
            }
            // Without a list there is one complaint already.
            Answer::Silent(_) => {}
        }
    }

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

pub(super) async fn status(client: &Client, address: &Address) -> Answer {
    let answer = client.post(address, wire::STATUS, "{}").await;
    match answer
        .map_err(|error| error.to_string())
        .and_then(|text| wire::status(&text))
    {
        Ok(status) => Answer::Status(status),
        Err(why) => Answer::Silent(why.into()),
    }
}

async fn raised(client: &Client, address: &Address) -> Result<Vec<Alarm>, String> {
    let answer = client.post(address, wire::ALARMS, wire::ALL_ALARMS).await;
    wire::alarms(&answer.map_err(|error| error.to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_member_without_an_answer_is_missed_beside_a_list() {
        let own: Address = "https://127.0.0.1:2379".parse().unwrap();
        let listed = Listed {
            id: EtcdId(1),
            name: "cp-1".into(),
            learner: false,
        };
        let silent = Answer::Silent("timed out".into());
        let mut found = Found {
            members: members(&[(listed, silent.clone())]),
            ..Found::default()
        };
        found.judge(&own, &silent);
        assert!(found.unread[0].contains("timed out"), "{:?}", found.unread);
        let mut nothing = Found::default();
        nothing.judge(&own, &silent);
        assert!(nothing.unread.is_empty());
    }
}
