//! What the JSON gateway of etcd answers. All numbers of 64 bits are strings, and a field that is
//! false, 0 or empty is absent.

use serde::{Deserialize, Deserializer};
use upgrade::control_plane::{
    Alarm, AlarmKind, Detail, EtcdId, EtcdVersion, Listed, Status, Survey, TooMany,
};
use upgrade::sanitize;

/// No text in an answer is longer that is kept.
const TEXT: usize = 500;

/// The status of a member.
pub(super) const STATUS: &str = "/v3/maintenance/status";
/// The list of members. Each member answers from its own data.
pub(super) const MEMBERS: &str = "/v3/cluster/member/list";
/// The alarms. A member needs a quorum for the answer.
pub(super) const ALARMS: &str = "/v3/maintenance/alarm";
/// The question for the alarms of all members.
pub(super) const ALL_ALARMS: &str = r#"{"action":"GET"}"#;
/// The whole database, as a stream.
pub(super) const SNAPSHOT: &str = "/v3/maintenance/snapshot";
/// Lets another member lead.
pub(super) const TRANSFER: &str = "/v3/maintenance/transfer-leadership";

/// A number of 64 bits, which the gateway writes as a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number(pub(super) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Number(u64),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(number) => Ok(Self(number)),
            Form::Text(text) => text.parse().map(Self).map_err(serde::de::Error::custom),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Header {
    member_id: Number,
    raft_term: Number,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StatusAnswer {
    header: Header,
    version: String,
    db_size: Number,
    db_size_quota: Number,
    leader: Number,
    raft_term: Number,
    raft_applied_index: Number,
    is_learner: bool,
    errors: Vec<String>,
}

/// Reads a status.
pub(super) fn status(text: &str) -> Result<Status, String> {
    let read: StatusAnswer = json(text)?;
    let version: EtcdVersion = read.version.parse().map_err(|error| format!("{error}"))?;
    let errors = read.errors.iter().map(|error| error.as_str().into());
    Ok(Status {
        id: EtcdId(read.header.member_id.0),
        version,
        leader: Some(read.leader.0).filter(|id| *id != 0).map(EtcdId),
        term: read.raft_term.0.max(read.header.raft_term.0),
        applied: read.raft_applied_index.0,
        learner: read.is_learner,
        errors: errors.collect::<Vec<Detail>>(),
        db_bytes: read.db_size.0,
        quota_bytes: Some(read.db_size_quota.0).filter(|bytes| *bytes != 0),
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MembersAnswer {
    members: Vec<MemberAnswer>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MemberAnswer {
    #[serde(rename = "ID")]
    id: Number,
    name: String,
    #[serde(rename = "clientURLs")]
    client_urls: Vec<String>,
    #[serde(rename = "isLearner")]
    is_learner: bool,
}

/// A member and the addresses at which it says that it answers.
pub(super) type Addressed = (Listed, Vec<String>);

/// Reads the list of members: all of them, or none.
pub(super) fn members(text: &str) -> Result<Vec<Addressed>, String> {
    let read: MembersAnswer = json(text)?;
    let found = read.members.len();
    if found == 0 || found > Survey::MEMBERS {
        return Err(TooMany { found }.to_string());
    }
    let member = |member: MemberAnswer| {
        let listed = Listed {
            id: EtcdId(member.id.0),
            name: member.name.into(),
            learner: member.is_learner,
        };
        (listed, member.client_urls)
    };
    Ok(read.members.into_iter().map(member).collect())
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AlarmsAnswer {
    alarms: Vec<AlarmAnswer>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AlarmAnswer {
    #[serde(rename = "memberID")]
    member: Number,
    alarm: String,
}

/// Reads the alarms.
pub(super) fn alarms(text: &str) -> Result<Vec<Alarm>, String> {
    let read: AlarmsAnswer = json(text)?;
    let raised = read.alarms.into_iter().filter(|one| one.alarm != "NONE");
    let alarm = |one: AlarmAnswer| Alarm {
        member: EtcdId(one.member.0),
        kind: match one.alarm.as_str() {
            "NOSPACE" => AlarmKind::NoSpace,
            "CORRUPT" => AlarmKind::Corrupt,
            other => AlarmKind::Other(other.into()),
        },
    };
    Ok(raised.map(alarm).collect())
}

pub(super) fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    sanitize::from_json(text, TEXT).map_err(|error| format!("its answer cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_numbers_as_strings() {
        let text = r#"{"header":{"cluster_id":"9372538179322589801","member_id":"10501334649042878790",
            "revision":"4","raft_term":"2"},"version":"3.6.8","dbSize":"1880064",
            "leader":"10501334649042878790","raftIndex":"1304","raftTerm":"2","raftAppliedIndex":"1303",
            "dbSizeInUse":"999","storageVersion":"3.6.0","dbSizeQuota":"2147483648","downgradeInfo":{}}"#;
        let read = status(text).unwrap();
        let me = EtcdId(10_501_334_649_042_878_790);
        assert_eq!((read.id, read.leader, read.term), (me, Some(me), 2));
        assert_eq!(
            (read.db_bytes, read.quota_bytes),
            (1_880_064, Some(2 << 30))
        );
        assert_eq!(
            (read.applied, read.learner, read.errors),
            (1303, false, vec![])
        );
    }

    #[test]
    fn a_status_without_a_quorum_has_errors_and_no_leader() {
        let text = r#"{"header":{"member_id":"7"},"version":"3.6.8","isLearner":true,
            "errors":["etcdserver: no leader\u001b[2J"]}"#;
        let read = status(text).unwrap();
        assert_eq!((read.leader, read.quota_bytes), (None, None));
        assert!(read.learner);
        assert_eq!(read.errors[0].as_str(), "etcdserver: no leader [2J");
    }

    #[test]
    fn what_is_no_answer_of_etcd_is_refused() {
        for text in [
            "",
            "{}",
            "[]",
            r#"{"version":"x"}"#,
            r#"{"version":"3.6.8","dbSize":"-1"}"#,
            "<html>",
        ] {
            assert!(status(text).is_err(), "{text}");
        }
        assert!(members(r#"{"members":[]}"#).is_err());
        let many = r#"{"ID":"1"},"#.repeat(9) + r#"{"ID":"1"}"#;
        let error = members(&format!(r#"{{"members":[{many}]}}"#)).unwrap_err();
        assert!(error.contains("10 members"), "{error}");
    }

    #[test]
    fn members_have_addresses_and_may_be_new() {
        let text = r#"{"members":[{"ID":"1","name":"cp-1","clientURLs":["https://10.0.0.1:2379"]},
            {"ID":"2","peerURLs":["https://10.0.0.2:2380"],"isLearner":true}]}"#;
        let read = members(text).unwrap();
        assert_eq!(read[0].1, ["https://10.0.0.1:2379"]);
        assert!(read[1].0.learner && read[1].0.name.is_empty() && read[1].1.is_empty());
    }

    #[test]
    fn no_alarm_is_no_field() {
        assert_eq!(alarms(r#"{"header":{}}"#), Ok(Vec::new()));
        let text = r#"{"alarms":[{"memberID":"2","alarm":"NOSPACE"},{"memberID":"2","alarm":"MOON"},{"alarm":"NONE"}]}"#;
        let kinds: Vec<_> = alarms(text)
            .unwrap()
            .into_iter()
            .map(|one| one.kind)
            .collect();
        assert_eq!(kinds, [AlarmKind::NoSpace, AlarmKind::Other("MOON".into())]);
    }
}
