//! What a plan says of the control plane.

use super::found::Rehearsed;
use crate::control_plane::{Class, Finding, Survey, findings, forbidden, lines};
use crate::policy::ControlPlane;

/// The names of lines that a plan shows. The others say what the plan says elsewhere.
const SHOWN: [&str; 7] = [
    "kubernetes",
    "upgrade",
    "etcd",
    "members",
    "drift",
    "certificates",
    "lock",
];

impl Rehearsed {
    /// Adds what a survey has found: its lines, then what an upgrade would wait for or should know.
    /// The first finding that would end an upgrade becomes the refusal. Where no other Node takes
    /// pods, none moves.
    pub fn take_survey(&mut self, survey: &Survey, policy: &ControlPlane) {
        let shown = lines(survey).into_iter();
        let shown = shown.filter(|(name, _)| SHOWN.contains(name));
        let shown = shown.map(|(name, text)| format!("{name}: {text}"));
        let found = findings(survey);
        let told = found.iter().filter(|one| one.class != Class::Refuse);
        let told = told.map(|one| format!("{}: {}", one.code.name(), one.says));
        self.control_plane = shown.chain(told).collect();
        if survey.alone {
            self.moving.clear();
            self.blocked.clear();
            self.returning.clear();
        }
        let refused = found.iter().find(|one| one.class == Class::Refuse);
        let refused = refused.and_then(Finding::reason);
        let refused = refused.or_else(|| forbidden(&found, policy));
        self.refusal = self.refusal.take().or(refused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_plane::{Alarm, AlarmKind, EtcdId, Kind, Member};
    use crate::policy::{ExternalEtcd, SingleNode};
    use crate::reason::Reason;

    fn survey() -> Survey {
        let mut survey = Survey::of("cp-1".into(), Kind::Stacked, 1);
        survey.me = Some(EtcdId(1));
        survey.members = vec![Member {
            id: EtcdId(1),
            name: "cp-1".into(),
            version: None,
            started: true,
            learner: false,
            leader: true,
            lag: Some(0),
            sick: None,
        }];
        survey
    }

    #[test]
    fn a_plan_shows_the_lines_and_the_findings_of_a_survey() {
        let mut rehearsed = Rehearsed::default();
        rehearsed.take_survey(&survey(), &ControlPlane::default());
        let text = rehearsed.control_plane.join("\n");
        for part in [
            "members: 1 of 1 healthy; this is the only one",
            "lock: free",
            "SingleMember: this is the only member: the API server is away",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(rehearsed.refusal, None);
    }

    #[test]
    fn plan_of_the_only_member_is_refused_if_the_policy_forbids_it() {
        let mut rehearsed = Rehearsed::default();
        let policy = ControlPlane {
            single_node: SingleNode::Refuse,
            ..ControlPlane::default()
        };
        rehearsed.take_survey(&survey(), &policy);
        let refusal = rehearsed.refusal.unwrap().to_string();
        assert!(refusal.contains("single-node"), "{refusal}");
    }

    #[test]
    fn plan_says_that_etcd_is_external_and_obeys_the_policy() {
        let mut external = survey();
        external.kind = Kind::External;
        external.me = None;
        external.versions.cluster = Some("v1.36.3".parse().unwrap());
        let mut rehearsed = Rehearsed::default();
        rehearsed.take_survey(&external, &ControlPlane::default());
        let text = rehearsed.control_plane.join("\n");
        for part in [
            "etcd: external, and kubeadm does not change it",
            "members: 1 of 1 healthy; none is on this node",
            "ExternalEtcd: etcd is external",
            "SingleMember: this node has the only API server",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(rehearsed.refusal, None);
        let policy = ControlPlane {
            external_etcd: ExternalEtcd::Refuse,
            ..ControlPlane::default()
        };
        rehearsed.take_survey(&external, &policy);
        let refusal = rehearsed.refusal.unwrap().to_string();
        assert!(refusal.contains("external-etcd"), "{refusal}");
    }

    #[test]
    fn no_pod_moves_where_no_other_node_takes_pods() {
        let mut rehearsed = Rehearsed {
            moving: vec!["default/web".to_owned()],
            ..Rehearsed::default()
        };
        let mut survey = survey();
        survey.alone = true;
        rehearsed.take_survey(&survey, &ControlPlane::default());
        assert!(rehearsed.moving.is_empty());
        let text = rehearsed.control_plane.join("\n");
        assert!(
            text.contains("NoOtherNode: no other Node takes pods"),
            "{text}"
        );
    }

    #[test]
    fn a_finding_that_ends_an_upgrade_refuses_the_plan() {
        let mut survey = survey();
        let (member, kind) = (EtcdId(1), AlarmKind::NoSpace);
        survey.alarms = vec![Alarm { member, kind }];
        let mut rehearsed = Rehearsed::default();
        rehearsed.take_survey(&survey, &ControlPlane::default());
        assert!(matches!(
            rehearsed.refusal,
            Some(Reason::ControlPlaneUnfit { ref finding, .. }) if finding == "EtcdAlarm"
        ));
    }
}
