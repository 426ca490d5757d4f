//! The survey as a person and as a program see it.

use upgrade::control_plane::{
    Certificate, EtcdId, EtcdVersion, Lock, Member, Place, Source, Use, findings,
};

use super::*;

const NOW: u64 = 1_800_000_000;

fn found() -> Survey {
    let mut survey = Survey::of("cp-1".into(), upgrade::control_plane::Kind::Stacked, NOW);
    let member = |id: u64| Member {
        id: EtcdId(id),
        name: format!("cp-{id}").into(),
        version: Some(EtcdVersion::new(3, 6, 6)),
        started: true,
        learner: false,
        leader: id == 2,
        lag: Some(0),
        sick: None,
    };
    survey.me = Some(EtcdId(1));
    survey.take_members([1, 2, 3].map(member).to_vec()).unwrap();
    survey.db_bytes = Some(20 << 20);
    survey.versions.cluster = Some("v1.35.4".parse().unwrap());
    survey.versions.image = Some("v1.36.3".parse().unwrap());
    survey.versions.etcd = Some("3.6.6-0".parse().unwrap());
    survey.versions.etcd_wanted = Some("3.6.8-0".parse().unwrap());
    for component in upgrade::control_plane::Component::KUBERNETES {
        survey
            .versions
            .manifests
            .insert(component, "v1.35.4".parse().unwrap());
    }
    let (name, until) = ("admin.conf".into(), NOW + 300 * 86_400);
    survey.certificates = vec![Certificate {
        name,
        from: 1,
        until,
    }];
    let path = "/etc/kubernetes".into();
    survey.room = vec![Place {
        path,
        r#use: Use::Both,
        free_bytes: 4 << 30,
    }];
    survey
}

#[test]
fn a_survey_is_aligned_and_says_what_an_upgrade_does() {
    let survey = found();
    let expected = "\
node          cp-1; etcd is on the control-plane nodes
kubernetes    the cluster is at v1.35.4, this node's pods are at v1.35.4
upgrade       to v1.36.3: kubeadm upgrade apply
etcd          3.6.6-0 to 3.6.8-0, a patch. Both versions read the same data.
members       3 of 3 healthy; this one may be away, and then no other
              cp-1  3.6.6    this node
              cp-2  3.6.6    leads
              cp-3  3.6.6
drift         not compared
certificates  admin.conf ends first, in 300 days
room          /etc/kubernetes has 4096 MiB, and an upgrade takes 252 MiB
lock          free

Nothing is in the way of an upgrade of this control plane.
";
    assert_eq!(text(&survey, &findings(&survey)), expected);
}

#[test]
fn findings_follow_the_worst_first_and_decide_the_code() {
    let mut survey = found();
    assert_eq!(exit_code(&findings(&survey)), 0);
    survey.other_manifests = vec!["etcd.yaml.bak".into()];
    assert_eq!(exit_code(&findings(&survey)), 4);
    survey.lock = Some(Lock {
        holder: "cp-2/7".into(),
        since: None,
    });
    assert_eq!(exit_code(&findings(&survey)), 3);
    survey.miss(
        Source::Credential,
        "/etc/kubernetes/admin.conf does not exist",
    );
    let all = findings(&survey);
    assert_eq!(exit_code(&all), 3);
    let shown = text(&survey, &all);
    let places = [
        "\nrefuse  NoAdminCredential: ",
        "\nwait    ControlPlaneBusy: ",
        "\nwarn    OtherManifests: ",
    ];
    let places = places.map(|line| shown.find(line).unwrap());
    assert!(places.is_sorted(), "{shown}");
    assert!(
        shown.contains("1 to fix, 1 to wait for, 1 to check"),
        "{shown}"
    );
}

#[test]
fn a_survey_fits_a_terminal() {
    let mut survey = found();
    survey.miss(Source::Api, "connect ".repeat(40));
    let shown = text(&survey, &findings(&survey));
    assert!(
        shown.lines().all(|line| line.chars().count() <= WIDTH),
        "{shown}"
    );
    assert!(shown.lines().count() <= 24, "{shown}");
}

#[test]
fn a_program_gets_survey_and_findings() {
    let mut survey = found();
    survey.miss(Source::Api, "refused");
    let read: serde_json::Value = serde_json::from_str(&json(&survey, &findings(&survey))).unwrap();
    assert_eq!(read["survey"]["members"][1]["leader"], true);
    assert_eq!(read["survey"]["members"][1]["id"], "2");
    assert_eq!(read["findings"][0]["code"], "ApiAway");
    assert_eq!(read["findings"][0]["class"], "wait");
}
