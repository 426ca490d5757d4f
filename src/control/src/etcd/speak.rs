//! What one member says for the whole of etcd.
//!
//! A member that is cut off from its peers still answers for itself, but not for all. So those that
//! are healthy are asked first, one after the other, and those that know no leader never.

use upgrade::control_plane::{Alarm, Answer, Member, members as judged};

use super::address::Address;
use super::asked::{Asked, pairs};
use super::client::Client;
use super::wire::{self, Addressed};

/// The answer of one member, or why the last one has none; nothing if no member knows a leader.
pub(super) type Said<T> = Option<Result<T, String>>;

/// What is asked for, the path and the body.
type Question = (&'static str, &'static str, &'static str);

/// The list of members.
pub(super) async fn members(client: &Client, asked: &[Asked]) -> Said<Vec<Addressed>> {
    let question = ("its members", wire::MEMBERS, "{}");
    for_all(client, asked, question, wire::members).await
}

/// The alarms.
pub(super) async fn alarms(client: &Client, asked: &[Asked]) -> Said<Vec<Alarm>> {
    let question = ("its alarms", wire::ALARMS, wire::ALL_ALARMS);
    for_all(client, asked, question, wire::alarms).await
}

async fn for_all<T>(
    client: &Client,
    asked: &[Asked],
    (what, path, body): Question,
    read: fn(&str) -> Result<T, String>,
) -> Said<T> {
    let mut last = None;
    for address in speakers(asked) {
        let answer = client.post(address, path, body).await;
        let answer = answer
            .map_err(|error| error.to_string())
            .and_then(|text| read(&text));
        last = Some(answer.map_err(|why| format!("{what}, {address}: {why}")));
        if matches!(last, Some(Ok(_))) {
            break;
        }
    }
    last
}

/// Those that may know, the best first. A learner answers neither question.
fn speakers(asked: &[Asked]) -> Vec<&Address> {
    let judged = judged(&pairs(asked));
    let knows = |(one, member): &(&Asked, &Member)| match &one.answer {
        Answer::Status(status) => status.leader.is_some() && !member.learner,
        Answer::Silent(_) => false,
    };
    let mut all: Vec<_> = asked.iter().zip(&judged).filter(knows).collect();
    all.sort_by_key(|(_, member)| !member.is_healthy());
    all.into_iter()
        .filter_map(|(one, _)| one.address.as_ref())
        .collect()
}
