//! Each rule, with the survey that breaks it and the one that does not.

use super::super::*;
use super::{Class, Code, findings};

const NOW: u64 = 1_800_000_000;

/// Three healthy members, all at v1.35.4, asked about v1.36.3.
fn healthy() -> Survey {
    let mut survey = Survey::of("cp-1".into(), Kind::Stacked, NOW);
    survey.me = Some(EtcdId(1));
    survey.members = [1, 2, 3].map(member).to_vec();
    survey.db_bytes = Some(50 << 20);
    survey.versions.cluster = Some("v1.35.4".parse().unwrap());
    survey.versions.image = Some("v1.36.3".parse().unwrap());
    for component in Component::KUBERNETES {
        let version = "v1.35.4".parse().unwrap();
        survey.versions.manifests.insert(component, version);
        survey.others.push(other("cp-2", component, "v1.35.4"));
    }
    survey.versions.etcd = Some("3.6.6-0".parse().unwrap());
    survey.versions.etcd_wanted = Some("3.6.8-0".parse().unwrap());
    survey.certificates = vec![certificate("admin.conf", NOW + 300 * 86_400)];
    survey.drift = Some(Vec::new());
    survey.missing_images = Some(Vec::new());
    survey.room = vec![place(1 << 40)];
    survey
}

fn member(id: u64) -> Member {
    Member {
        id: EtcdId(id),
        name: format!("cp-{id}").into(),
        version: Some(EtcdVersion::new(3, 6, 6)),
        started: true,
        learner: false,
        leader: id == 1,
        lag: Some(0),
        sick: None,
    }
}

fn other(node: &str, component: Component, version: &str) -> Other {
    Other {
        node: node.into(),
        component,
        version: version.parse().unwrap(),
        ready: true,
    }
}

fn certificate(name: &str, until: u64) -> Certificate {
    let from = NOW - 86_400;
    Certificate {
        name: name.into(),
        from,
        until,
    }
}

fn place(free_bytes: u64) -> Place {
    Place {
        path: "/etc/kubernetes".into(),
        r#use: Use::Both,
        free_bytes,
    }
}

fn drifted(setting: &str, changed: bool) -> Option<Vec<Drift>> {
    let component = Component::ApiServer;
    let setting = setting.into();
    Some(vec![Drift {
        component,
        setting,
        changed,
    }])
}

type Change = fn(&mut Survey);

/// A change of the healthy survey, and what is found then: code, class, and words of the text.
const ROWS: &[(Code, Class, &[&str], Change)] = &[
    (
        Code::NoAdminCredential,
        Class::Refuse,
        &["no such file", "check-expiration"],
        |s| {
            s.miss(Source::Credential, "no such file");
        },
    ),
    (Code::ApiAway, Class::Wait, &["refused"], |s| {
        s.miss(Source::Api, "refused.")
    }),
    (
        Code::ApiAway,
        Class::Wait,
        &["no route", "virtual address"],
        |s| s.miss(Source::Endpoint, "no route"),
    ),
    (
        Code::EtcdUnhealthy,
        Class::Wait,
        &["no route", "Do not"],
        |s| s.miss(Source::Etcd, "no route"),
    ),
    (Code::NotSeen, Class::Refuse, &["not YAML"], |s| {
        s.miss(Source::Manifest, "not YAML")
    }),
    (
        Code::NotSeen,
        Class::Refuse,
        &["etcd.tar", "ctr images export"],
        |s| s.miss(Source::Archive, "etcd.tar: no image in it has a name"),
    ),
    (Code::NotSeen, Class::Warn, &["a.crt"], |s| {
        s.miss(Source::Certificate, "a.crt")
    }),
    (Code::NotSeen, Class::Warn, &["statvfs"], |s| {
        s.miss(Source::Room, "statvfs")
    }),
    (Code::NotSeen, Class::Warn, &["exit"], |s| {
        s.miss(Source::Kubeadm, "exit status 1")
    }),
    (
        Code::ControlPlaneBusy,
        Class::Wait,
        &["cp-2/7", "since 60 min"],
        |s| {
            s.lock = Some(Lock {
                holder: "cp-2/7".into(),
                since: Some(NOW - 3600),
            });
        },
    ),
    (
        Code::ManagedElsewhere,
        Class::Wait,
        &["v1.35.4", "v1.36.3"],
        |s| {
            s.owner = Owner::KubeadmControlPlane;
        },
    ),
    (
        Code::StepTooLarge,
        Class::Refuse,
        &["v1.35.4", "v1.37.1"],
        |s| {
            s.versions.image = Some("v1.37.1".parse().unwrap());
        },
    ),
    (
        Code::StepTooLarge,
        Class::Refuse,
        &["3.6.6-0", "3.8.0-0"],
        |s| {
            s.versions.etcd_wanted = Some("3.8.0-0".parse().unwrap());
        },
    ),
    (
        Code::NewerThanApiServer,
        Class::Refuse,
        &["v1.36.3", "v1.35.4"],
        |s| {
            s.versions.cluster = Some("v1.37.1".parse().unwrap());
        },
    ),
    (
        Code::MembersDiffer,
        Class::Refuse,
        &["apply v1.37.1"],
        |s| {
            let ahead = "v1.37.1".parse().unwrap();
            s.versions.manifests.insert(Component::ApiServer, ahead);
        },
    ),
    (
        Code::MembersDiffer,
        Class::Wait,
        &["cp-2", "v1.35.4", "v1.36.3"],
        |s| {
            s.others[0].version = "v1.36.3".parse().unwrap();
        },
    ),
    (
        Code::MembersDiffer,
        Class::Wait,
        &["cp-3", "v1.34.1"],
        |s| {
            s.others
                .push(other("cp-3", Component::ApiServer, "v1.34.1"));
        },
    ),
    (
        Code::MemberNotReady,
        Class::Wait,
        &["nodes are not Ready: cp-3"],
        |s| s.nodes_not_ready = vec!["cp-3".into()],
    ),
    (
        Code::MemberNotReady,
        Class::Wait,
        &["kube-apiserver on cp-2"],
        |s| s.others[0].ready = false,
    ),
    (
        Code::QuorumAtRisk,
        Class::Wait,
        &["2 healthy", "cp-3 is not"],
        |s| {
            s.members[2].sick = Some("no answer".into());
        },
    ),
    (Code::QuorumAtRisk, Class::Wait, &["two members"], |s| {
        s.members.truncate(2)
    }),
    (
        Code::QuorumAtRisk,
        Class::Wait,
        &["cp-3 is still a learner"],
        |s| s.members[2].learner = true,
    ),
    (Code::QuorumAtRisk, Class::Wait, &["never started"], |s| {
        s.members[2].started = false
    }),
    (
        Code::QuorumAtRisk,
        Class::Wait,
        &["does not have this node"],
        |s| s.me = Some(EtcdId(9)),
    ),
    (Code::QuorumAtRisk, Class::Wait, &["cp-2, cp-3"], |s| {
        s.kind = Kind::External;
        s.members[1].sick = Some("no answer".into());
        s.members[2].sick = Some("no answer".into());
    }),
    (
        Code::EtcdUnhealthy,
        Class::Wait,
        &["cp-3", "no answer", "Do not remove"],
        |s| {
            s.members[2].sick = Some("no answer".into());
        },
    ),
    (Code::EtcdUnhealthy, Class::Wait, &["cp-1"], |s| {
        s.members[0].sick = Some("slow".into())
    }),
    (Code::EtcdUnhealthy, Class::Warn, &["cp-3"], |s| {
        s.members.extend([4, 5].map(member));
        s.members[2].sick = Some("no answer".into());
    }),
    (Code::EtcdAlarm, Class::Refuse, &["NOSPACE", "cp-2"], |s| {
        s.alarms = vec![Alarm {
            member: EtcdId(2),
            kind: AlarmKind::NoSpace,
        }];
    }),
    (Code::EtcdAlarm, Class::Refuse, &["CORRUPT"], |s| {
        s.alarms = vec![Alarm {
            member: EtcdId(2),
            kind: AlarmKind::Corrupt,
        }];
    }),
    (Code::EtcdAlarm, Class::Refuse, &["FULLMOON"], |s| {
        let kind = AlarmKind::Other("FULLMOON".into());
        s.alarms = vec![Alarm {
            member: EtcdId(2),
            kind,
        }];
    }),
    (Code::EtcdTooOld, Class::Refuse, &["3.6.6", "3.6.11"], |s| {
        s.versions.etcd_wanted = Some("3.7.0-0".parse().unwrap());
    }),
    (
        Code::EtcdMinor,
        Class::Warn,
        &["3.6.14-0", "3.7.0-0", "once the last member"],
        |s| {
            s.versions.etcd = Some("3.6.14-0".parse().unwrap());
            s.versions.etcd_wanted = Some("3.7.0-0".parse().unwrap());
            for member in &mut s.members {
                member.version = Some(EtcdVersion::new(3, 6, 14));
            }
        },
    ),
    (Code::SingleMember, Class::Warn, &["only member"], |s| {
        s.members.truncate(1)
    }),
    (Code::SingleMember, Class::Warn, &["only API server"], |s| {
        s.kind = Kind::External;
        s.me = None;
        s.others.clear();
    }),
    (
        Code::ExternalEtcd,
        Class::Warn,
        &["external", "no snapshot"],
        |s| s.kind = Kind::External,
    ),
    (
        Code::NoOtherNode,
        Class::Warn,
        &["evicts nothing", "stop with the node"],
        |s| s.alone = true,
    ),
    (
        Code::ManifestDrift,
        Class::Refuse,
        &["kube-apiserver --audit-log-path"],
        |s| {
            s.drift = drifted("--audit-log-path", false);
        },
    ),
    (
        Code::ManifestDrift,
        Class::Warn,
        &["kube-apiserver --v"],
        |s| s.drift = drifted("--v", true),
    ),
    (
        Code::ManifestDrift,
        Class::Refuse,
        &["--encryption-provider-config"],
        |s| {
            s.drift = drifted("--encryption-provider-config", true);
        },
    ),
    (
        Code::ManifestDrift,
        Class::Refuse,
        &["--service-account-issuer"],
        |s| {
            s.drift = drifted("--service-account-issuer", true);
        },
    ),
    (Code::ImagesMissing, Class::Refuse, &["etcd:3.6.8-0"], |s| {
        s.missing_images = Some(vec!["registry.k8s.io/etcd:3.6.8-0".into()]);
    }),
    (
        Code::CertificatesExpired,
        Class::Refuse,
        &["pki/apiserver.crt", "renew all"],
        |s| {
            s.certificates.push(certificate("pki/apiserver.crt", NOW));
        },
    ),
    (
        Code::CertificatesExpired,
        Class::Refuse,
        &["not valid yet", "Set the clock"],
        |s| {
            s.at = NOW - 2 * 86_400;
        },
    ),
    (
        Code::CertificatesExpireSoon,
        Class::Warn,
        &["pki/apiserver.crt", "in 3 days"],
        |s| {
            s.certificates
                .push(certificate("pki/apiserver.crt", NOW + 3 * 86_400));
        },
    ),
    (Code::ExternalCa, Class::Refuse, &["pki/ca.key"], |s| {
        s.certificates
            .push(certificate("pki/apiserver.crt", NOW + 3 * 86_400));
        s.external_authorities = vec!["pki/ca.key".into()];
    }),
    (
        Code::NoRoom,
        Class::Refuse,
        &["/etc/kubernetes", "332 MiB"],
        |s| {
            s.room = vec![place(10 << 20)];
        },
    ),
    (Code::OtherManifests, Class::Warn, &["etcd.yaml.bak"], |s| {
        s.other_manifests = vec!["etcd.yaml.bak".into()];
    }),
];

#[test]
fn a_healthy_control_plane_has_no_findings() {
    assert_eq!(findings(&healthy()), []);
}

#[test]
fn each_rule_finds_what_breaks_it() {
    for (code, class, words, change) in ROWS {
        let mut survey = healthy();
        change(&mut survey);
        let found = findings(&survey);
        let fits = |finding: &&Finding| {
            let told = words.iter().all(|word| finding.says.contains(word));
            finding.code == *code && finding.class == *class && told
        };
        assert!(
            found.iter().any(|one| fits(&one)),
            "{code:?} {words:?}: {found:#?}"
        );
    }
}

#[test]
fn each_code_has_a_row_that_shows_it() {
    for code in Code::ALL {
        assert!(ROWS.iter().any(|row| row.0 == *code), "{code:?}");
    }
}

#[test]
fn each_finding_says_what_and_why_and_what_to_do() {
    for (code, _, _, change) in ROWS {
        let mut survey = healthy();
        change(&mut survey);
        for Finding { says, .. } in findings(&survey) {
            assert!(
                says.ends_with('.') && says.contains(": "),
                "{code:?}: {says}"
            );
            assert!(
                says.contains(". ") || says.contains("; "),
                "{code:?}: {says}"
            );
            assert!(
                !says.contains("..") && !says.contains(" ."),
                "{code:?}: {says}"
            );
        }
    }
}

#[test]
fn the_worst_findings_come_first() {
    let mut survey = healthy();
    survey.other_manifests = vec!["x".into()];
    survey.room = vec![place(0)];
    survey.miss(Source::Api, "refused");
    let classes: Vec<Class> = findings(&survey).iter().map(|one| one.class).collect();
    assert_eq!(classes, [Class::Refuse, Class::Wait, Class::Warn]);
}

#[test]
fn the_lock_of_this_node_does_not_keep_it_waiting() {
    let mut survey = healthy();
    for holder in ["cp-1/7", ""] {
        survey.lock = Some(Lock {
            holder: holder.into(),
            since: None,
        });
        assert_eq!(findings(&survey), [], "{holder}");
    }
    // A name without an upgrade is none of Careen's, and the lock would not be given either.
    for holder in ["cp-11/7", "cp-1", "alice"] {
        survey.lock = Some(Lock {
            holder: holder.into(),
            since: None,
        });
        assert_eq!(
            findings(&survey)[0].code,
            Code::ControlPlaneBusy,
            "{holder}"
        );
    }
}

#[test]
fn external_etcd_without_one_of_three_goes_on() {
    let mut survey = healthy();
    survey.kind = Kind::External;
    survey.me = None;
    survey.members[2].sick = Some("no answer".into());
    let found = findings(&survey).into_iter();
    let found: Vec<_> = found.map(|one| (one.code, one.class)).collect();
    let warned = [Code::EtcdUnhealthy, Code::ExternalEtcd].map(|code| (code, Class::Warn));
    assert_eq!(found, warned);
}

#[test]
fn learner_of_an_external_etcd_has_no_vote_in_its_majority() {
    let mut survey = healthy();
    survey.kind = Kind::External;
    survey.me = None;
    survey.members.truncate(2);
    survey.members[1].learner = true;
    let found = findings(&survey);
    assert!(
        found.iter().all(|one| one.class == Class::Warn),
        "{found:#?}"
    );
}

#[test]
fn member_of_an_external_etcd_on_this_node_counts() {
    let mut survey = healthy();
    survey.kind = Kind::External;
    assert!(findings(&survey).iter().all(|one| one.class == Class::Warn));
    survey.members[2].sick = Some("no answer".into());
    let found = findings(&survey);
    assert_eq!(found[0].code, Code::QuorumAtRisk, "{found:#?}");
    survey.members.truncate(1);
    let found = findings(&survey);
    assert!(
        found.iter().any(|one| one.code == Code::SingleMember),
        "{found:#?}"
    );
}

#[test]
fn only_api_server_is_told_unless_kubeadm_config_is_missing() {
    let mut survey = healthy();
    survey.kind = Kind::External;
    survey.me = None;
    let has = |survey: &Survey, code| findings(survey).iter().any(|one| one.code == code);
    assert!(!has(&survey, Code::SingleMember));
    survey.others.clear();
    assert!(has(&survey, Code::SingleMember) && has(&survey, Code::ExternalEtcd));
    survey.versions.cluster = None;
    assert!(!has(&survey, Code::SingleMember) && !has(&survey, Code::ExternalEtcd));
}

#[test]
fn a_clock_that_is_wrong_is_not_called_an_expiry() {
    let mut survey = healthy();
    survey.external_authorities = vec!["pki/ca.key".into()];
    assert_eq!(findings(&survey), [], "no renewal is due");
    survey.at = NOW - 2 * 86_400;
    assert_eq!(findings(&survey).len(), 1);
}

#[test]
fn changed_volume_of_a_manifest_is_refused() {
    for setting in ["volume etcd-data", "mount /var/lib/etcd"] {
        let mut survey = healthy();
        survey.drift = drifted(setting, true);
        let found = findings(&survey);
        let first = (found[0].code, found[0].class);
        assert_eq!(first, (Code::ManifestDrift, Class::Refuse), "{setting}");
        assert!(found[0].says.contains(setting), "{found:#?}");
    }
}

#[test]
fn drift_that_nobody_compared_refuses_a_raise() {
    let mut survey = healthy();
    survey.drift = None;
    assert_eq!(findings(&survey), [], "the image is not on the node yet");
    survey.image_kubeadm = true;
    let found = findings(&survey);
    let first = (found[0].code, found[0].class);
    assert_eq!(first, (Code::ManifestDrift, Class::Refuse), "{found:#?}");
    for component in Component::KUBERNETES {
        let version = "v1.36.3".parse().unwrap();
        survey.versions.manifests.insert(component, version);
    }
    survey.versions.cluster = Some("v1.36.3".parse().unwrap());
    assert_eq!(survey.verb(), Some(Verb::Nothing));
    let found = findings(&survey);
    assert!(
        found.iter().all(|one| one.class != Class::Refuse),
        "{found:#?}"
    );
}
