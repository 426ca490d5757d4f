//! Hands the leadership of etcd over to another member.

use std::time::{Duration, Instant};

use upgrade::control_plane::{EtcdId, Failure, Member, Name, Source, Yielding, successor};

use super::address::Address;
use super::client::Client;
use super::look::{Found, stacked};
use super::wire;

/// How long the members may take until they agree on the new leader. An election takes one second.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Lets the best other member lead, if the own one leads, and looks who leads then.
pub async fn hand_over(client: &Client, own: &Address) -> Yielding {
    let found = stacked(client, own).await;
    let Some(me) = found.me else {
        return failed(found.unread.join("; "));
    };
    let chosen = successor(&found.members, me);
    let to = match chosen {
        Ok(member) => member.id,
        Err(stay) => return Yielding::Stayed(stay),
    };
    let body = format!(r#"{{"targetID":"{}"}}"#, to.0);
    let asked = client.post(own, wire::TRANSFER, body).await;
    // A refusal is final. Silence is not: the members may agree all the same.
    let patience = match &asked {
        Ok(_) => PATIENCE,
        Err(_) => Duration::ZERO,
    };
    match new_leader(client, own, me, patience).await {
        Ok(leader) => Yielding::Moved {
            from: called(&found, me),
            to: leader.name,
        },
        Err(seen) => failed(asked.err().map_or(seen, |error| error.to_string())),
    }
}

/// The healthy member that leads instead of this one, once there is one.
async fn new_leader(
    client: &Client,
    own: &Address,
    me: EtcdId,
    patience: Duration,
) -> Result<Member, String> {
    let begun = Instant::now();
    loop {
        let found = stacked(client, own).await;
        let leader = found.members.into_iter().find(|member| member.leader);
        let seen = match leader {
            Some(leader) if leader.id != me && leader.is_healthy() => return Ok(leader),
            Some(leader) => format!("{} leads", leader.called()),
            None => "no member leads".to_owned(),
        };
        if begun.elapsed() >= patience {
            return Err(seen);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn called(found: &Found, id: EtcdId) -> Name {
    let mut members = found.members.iter();
    let member = members.find(|member| member.id == id);
    member.map_or_else(|| id.to_string().into(), |member| member.name.clone())
}

fn failed(why: String) -> Yielding {
    Yielding::Failed(Failure::new(Source::Etcd, why))
}
