//! Whether this node's part of the control plane is well, once an upgrade has touched it.

use super::failure::told;
use super::member::Member;
use super::survey::{Kind, Source, Survey};

impl Survey {
    /// What is not well with this node's part, for a person; nothing if it is well. What is wrong
    /// with other nodes is not asked here.
    #[must_use]
    pub fn hurt(&self) -> Option<String> {
        let member = || match self.kind {
            Kind::Stacked => self.hurt_member(),
            // An external etcd may have a member on this node all the same.
            Kind::External => self.me.and_then(|_| self.hurt_member()),
        };
        self.unanswered()
            .or_else(member)
            .or_else(|| self.hurt_pod())
    }

    /// Other API servers answer behind one address, so the answer of this node's own is not missed.
    fn hurt_pod(&self) -> Option<String> {
        let component = self.own_not_ready.first()?;
        Some(format!(
            "the static pod {component} of this node is not Ready"
        ))
    }

    fn unanswered(&self) -> Option<String> {
        let needed = |source| match source {
            Source::Credential | Source::Api | Source::Manifest => true,
            // An external etcd of which no member is here is no part of this node. Its API server
            // is not Ready without it.
            Source::Etcd => self.kind == Kind::Stacked || self.me.is_some(),
            // What is before the API servers is no part of this node, either.
            Source::Endpoint
            | Source::Certificate
            | Source::Room
            | Source::Kubeadm
            | Source::Runtime
            | Source::Archive => false,
        };
        let missed = self.unseen.iter().find(|unseen| needed(unseen.source))?;
        Some(told(missed.source, &missed.why))
    }

    fn hurt_member(&self) -> Option<String> {
        let own = |member: &&Member| Some(member.id) == self.me;
        let Some(member) = self.members.iter().find(own) else {
            return Some("etcd's list of members does not have this node's member".to_owned());
        };
        let name = member.called();
        if let Some(why) = &member.sick {
            return Some(format!("etcd's member {name} is not healthy: {why}"));
        }
        if !member.started || member.learner {
            return Some(format!("etcd's member {name} does not have a vote"));
        }
        let alarm = self.alarms.iter().find(|alarm| alarm.member == member.id)?;
        Some(format!("etcd has an alarm of {name}: {:?}", alarm.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Alarm, AlarmKind, Component, EtcdId};
    use super::*;

    fn member(id: u64) -> Member {
        Member {
            id: EtcdId(id),
            name: format!("cp-{id}").into(),
            version: None,
            started: true,
            learner: false,
            leader: false,
            lag: Some(0),
            sick: None,
        }
    }

    fn of(members: Vec<Member>) -> Survey {
        let mut survey = Survey::of("cp-1".into(), Kind::Stacked, 1);
        survey.me = Some(EtcdId(1));
        survey.members = members;
        survey
    }

    #[test]
    fn a_healthy_member_of_this_node_is_well() {
        let mut other = member(2);
        other.sick = Some("no route".into());
        assert_eq!(of(vec![member(1), other]).hurt(), None);
    }

    #[test]
    fn what_is_wrong_with_this_node_is_named() {
        let mut sick = member(1);
        sick.sick = Some("no leader".into());
        assert!(of(vec![sick]).hurt().unwrap().contains("no leader"));
        let mut learner = member(1);
        learner.learner = true;
        assert!(of(vec![learner]).hurt().unwrap().contains("vote"));
        assert!(of(vec![member(2)]).hurt().unwrap().contains("list"));
        let mut alarmed = of(vec![member(1)]);
        let (member, kind) = (EtcdId(1), AlarmKind::NoSpace);
        alarmed.alarms = vec![Alarm { member, kind }];
        assert!(alarmed.hurt().unwrap().contains("NoSpace"));
    }

    #[test]
    fn static_pod_of_this_node_that_is_not_ready_is_not_well() {
        let mut survey = of(vec![member(1), member(2), member(3)]);
        survey.own_not_ready = vec![Component::ApiServer];
        assert!(survey.hurt().unwrap().contains("kube-apiserver"));
        survey.kind = Kind::External;
        assert!(survey.hurt().is_some());
    }

    #[test]
    fn an_answer_that_is_missing_is_not_well() {
        for (source, is_needed) in [
            (Source::Api, true),
            (Source::Etcd, true),
            (Source::Credential, true),
            (Source::Manifest, true),
            (Source::Endpoint, false),
            (Source::Certificate, false),
            (Source::Room, false),
            (Source::Kubeadm, false),
            (Source::Runtime, false),
            (Source::Archive, false),
        ] {
            let mut survey = of(vec![member(1)]);
            survey.miss(source, "no answer");
            assert_eq!(survey.hurt().is_some(), is_needed, "{source:?}");
        }
        let mut external = Survey::of("cp-1".into(), Kind::External, 1);
        assert_eq!(external.hurt(), None);
        external.members = vec![member(2)];
        external.members[0].sick = Some("no route".into());
        assert_eq!(external.hurt(), None, "it is on no node of ours");
        external.me = Some(EtcdId(2));
        assert!(external.hurt().unwrap().contains("no route"));
        external.members[0].sick = None;
        external.miss(Source::Etcd, "its alarms: no answer");
        assert!(external.hurt().is_some());
        external.me = None;
        assert_eq!(
            external.hurt(),
            None,
            "its members are no part of this node"
        );
        external.me = None;
        external.miss(Source::Api, "no answer");
        assert!(external.hurt().is_some());
    }
}
