//! Images that are refused after they were looked at: each with its own reason, before anything is
//! deployed or cordoned.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::policy::LocalChanges;
use upgrade::*;

/// The verdict on an image with these facts, asked for like this.
fn verdict(facts: ImageFacts, request: RawRequest, policy: Policy) -> Phase {
    let step = Step::Verify {
        commit: digest('b'),
    };
    let seen = asked().with(|seen| {
        seen.node.request = Asked::This(request.clone());
        seen.turn.finished = finished(step, Outcome::Done(Effect::Verified(facts)));
    });
    let mut record = upgrade_in(Phase::Fetched);
    record.upgrade.as_mut().unwrap().request = request;
    phase_of(&next_with(&seen, &record, &Ok(policy)).0)
}

fn refused(change: impl FnOnce(&mut ImageFacts)) -> Reason {
    let mut found = facts('b');
    change(&mut found);
    match verdict(found, pinned('b'), at_once()) {
        Phase::Reverting { reason } => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_sound_image_is_verified() {
    assert_eq!(verdict(facts('b'), pinned('b'), at_once()), Phase::Verified);
}

#[test]
fn an_image_without_what_it_needs_is_refused_by_what_is_missing() {
    assert!(matches!(
        refused(|f| f.kernel = None),
        Reason::NoKernel { .. }
    ));
    assert!(matches!(
        refused(|f| f.info = None),
        Reason::NoImageInfo { .. }
    ));
    assert!(matches!(
        refused(|f| f.info.as_mut().unwrap().stage = None),
        Reason::NoStage { .. }
    ));
    assert!(matches!(
        refused(|f| f.info.as_mut().unwrap().stage = Some(2)),
        Reason::NoStage { .. }
    ));
}

#[test]
fn an_image_without_a_guard_passes_where_the_policy_says_so() {
    let mut found = facts('b');
    found.info.as_mut().unwrap().stage = None;
    let policy = Policy {
        unguarded: true,
        ..at_once()
    };
    assert_eq!(verdict(found, pinned('b'), policy), Phase::Verified);
}

#[test]
fn an_image_for_another_machine_is_refused_with_both_named() {
    let text = refused(|f| f.info.as_mut().unwrap().architecture = "aarch64".into()).to_string();
    assert!(
        text.contains("aarch64") && text.contains("x86_64"),
        "{text}"
    );
}

#[test]
fn a_downgrade_is_refused_and_says_which_setting_allows_it() {
    let older =
        |f: &mut ImageFacts| f.info.as_mut().unwrap().kubernetes = "v1.34.0".parse().unwrap();
    let text = refused(older).to_string();
    assert!(
        text.contains("v1.34.0") && text.contains("v1.35.4") && text.contains("downgrade = true"),
        "{text}"
    );
    let mut found = facts('b');
    older(&mut found);
    let policy = Policy {
        downgrade: true,
        ..at_once()
    };
    assert_eq!(verdict(found, pinned('b'), policy), Phase::Verified);
}

#[test]
fn image_version_that_differs_from_the_request_is_refused() {
    let request = RawRequest {
        kubernetes: Some("v1.36.4".into()),
        ..pinned('b')
    };
    let phase = verdict(facts('b'), request, at_once());
    assert!(
        matches!(
            phase,
            Phase::Reverting {
                reason: Reason::VersionMismatch { .. }
            }
        ),
        "{phase:?}"
    );
}

#[test]
fn oversized_image_is_refused_with_needed_and_free_bytes() {
    let text = refused(|f| f.boot = Room { need: 80, free: 7 }).to_string();
    assert!(
        text.contains("/boot") && text.contains("80") && text.contains('7'),
        "{text}"
    );
    assert!(matches!(
        refused(|f| f.root = Room { need: 2, free: 1 }),
        Reason::NoRoom { .. }
    ));
}

/// What comes of a request on a node that is otherwise quiet; nothing may be begun.
fn answer(seen: Observation, policy: &PolicyRead) -> Reason {
    let (record, act) = next_with(&seen, &Record::default(), policy);
    assert_eq!(act, Act::Wait(None));
    assert_eq!(record.upgrade, None);
    record.refused.unwrap().reason
}

#[test]
fn unfit_loader_refuses_a_request_before_any_step() {
    let loader = Err(Reason::LoaderUnfit {
        detail: "/boot is on LVM".into(),
    });
    let reason = answer(
        asked().with(|seen| seen.machine.loader = loader),
        &Ok(at_once()),
    );
    assert!(matches!(reason, Reason::LoaderUnfit { .. }));
}

/// A request may wait for its hours for days.
#[test]
fn machine_that_became_unfit_is_not_drained_or_armed() {
    let unfit: [fn(&mut Observation); 3] = [
        |seen| {
            let detail = "/boot is on LVM".into();
            seen.machine.loader = Err(Reason::LoaderUnfit { detail });
        },
        |seen| {
            let (name, detail) = ("50-storage".into(), "mode 0777".into());
            seen.machine.checks = Err(Reason::CheckUntrusted { name, detail });
        },
        |seen| seen.machine.control_plane = Some(control_plane()),
    ];
    for unfit in unfit {
        for phase in [Phase::Deployed, Phase::Drained] {
            let there = on_trial().machine.deployments;
            let fit = asked().with(|seen| seen.machine.deployments = there);
            let (before, act) = next(&fit, &upgrade_in(phase.clone()));
            assert!(matches!(act, Act::Begin(_)), "{act:?}");
            assert_eq!(phase_of(&before), phase);
            let (record, _) = next(&fit.with(unfit), &upgrade_in(phase));
            assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
        }
    }
}

#[test]
fn owed_kubelet_state_refuses_requests_and_says_how_to_restore() {
    let restored = Err(owed());
    for asked in ["ostree:careen:os", "kept:"] {
        let mut kept = deployment('b');
        (kept.pinned, kept.kept) = (true, true);
        let seen = quiet().with(|seen| {
            seen.node.request = Asked::This(raw(asked));
            seen.machine.deployments = vec![held('a'), kept];
            seen.machine.restored = restored.clone();
        });
        let text = answer(seen, &Ok(at_once())).to_string();
        for word in [
            "upgrade u1",
            "No space left on device",
            "/sysroot/ostree/careen/snapshot-u1",
            "systemctl start careen-restore.service",
            "careen.dev/upgrade-id",
        ] {
            assert!(text.contains(word), "no {word} in: {text}");
        }
    }
}

#[test]
fn request_for_the_running_image_is_answered_despite_owed_state() {
    let seen = quiet().with(|seen| {
        seen.node.request = Asked::This(pinned('a'));
        seen.machine.restored = Err(owed());
    });
    let (record, _) = next(&seen, &Record::default());
    assert_eq!(phase_of(&record), Phase::Upgraded);
}

#[test]
fn running_upgrade_proceeds_despite_owed_kubelet_state() {
    let seen = asked().with(|seen| seen.machine.restored = Err(owed()));
    let (_, act) = next(&seen, &upgrade_in(Phase::Deployed));
    assert_eq!(begun(&act), Some("Drain"));
}

#[test]
fn untrusted_check_refuses_a_request_without_blaming_the_image() {
    let seen = asked().with(|seen| seen.machine.checks = Err(untrusted()));
    let (record, act) = next(&seen, &Record::default());
    assert_eq!(act, Act::Wait(None));
    let reason = record.refused.unwrap().reason;
    assert_eq!(reason, untrusted());
    assert!(!reason.blames_image());
    assert_eq!(record.upgrade, None);
}

#[test]
fn local_changes_refuse_a_request_unless_the_policy_drops_them() {
    let told = "layered packages (requested): vim";
    let seen = || asked().with(|seen| seen.machine.local_changes = vec![told.to_owned()]);
    let reason = answer(seen(), &Ok(Policy::default()));
    assert!(reason.to_string().contains(told), "{reason}");
    assert_eq!(reason.code(), "LocalChanges");
    assert!(!reason.blames_image());
    let drops = Policy {
        local_changes: LocalChanges::Drop,
        ..Policy::default()
    };
    let (record, _) = next_with(&seen(), &Record::default(), &Ok(drops));
    assert_eq!(record.refused, None);
    assert!(record.upgrade.is_some());
}

fn without_a_watchdog() -> Observation {
    let found = "softdog".into();
    asked().with(|seen| seen.machine.watchdog = Err(Reason::NoWatchdog { found }))
}

fn watchdog_demanded() -> PolicyRead {
    Ok(Policy {
        require_watchdog: true,
        ..at_once()
    })
}

#[test]
fn missing_required_watchdog_refuses_a_request_before_any_step() {
    let text = answer(without_a_watchdog(), &watchdog_demanded()).to_string();
    assert!(
        text.contains("softdog") && text.contains("require-watchdog"),
        "{text}"
    );
}

#[test]
fn missing_required_watchdog_refuses_a_kept_request_too() {
    let mut kept = deployment('b');
    (kept.pinned, kept.kept) = (true, true);
    let seen = without_a_watchdog().with(|seen| {
        seen.node.request = Asked::This(raw("kept:"));
        seen.machine.deployments = vec![held('a'), kept];
    });
    let reason = answer(seen, &watchdog_demanded());
    assert!(matches!(reason, Reason::NoWatchdog { .. }), "{reason}");
}

#[test]
fn a_watchdog_is_missed_only_where_the_policy_demands_one() {
    let begins = |seen, policy| {
        let (_, act) = next_with(&seen, &Record::default(), &policy);
        assert_eq!(begun(&act), Some("Fetch"));
    };
    begins(without_a_watchdog(), Ok(at_once()));
    begins(asked(), watchdog_demanded());
}

#[test]
fn a_control_plane_is_refused_unless_the_policy_enables_it() {
    let seen = asked().with(|seen| seen.machine.control_plane = Some(control_plane()));
    let reason = answer(seen.clone(), &Ok(at_once()));
    assert!(matches!(reason, Reason::ControlPlane { .. }));
    let mut enabled = at_once();
    enabled.control_plane.enabled = true;
    let (_, act) = next_with(&seen, &Record::default(), &Ok(enabled));
    assert_eq!(begun(&act), Some("Fetch"));
}

#[test]
fn control_plane_without_a_shared_folder_is_told_so() {
    let reason = Reason::KubernetesNotShared { detail: "x".into() };
    let shared = Err(reason.clone());
    let found = ControlPlaneSeen {
        shared,
        ..control_plane()
    };
    let seen = asked().with(|seen| seen.machine.control_plane = Some(found));
    let mut enabled = at_once();
    enabled.control_plane.enabled = true;
    assert_eq!(answer(seen.clone(), &Ok(enabled)), reason);
    let off = answer(seen, &Ok(at_once()));
    assert!(matches!(off, Reason::ControlPlane { .. }), "not enabled");
}

/// Without the variable libostree calls grub-mkconfig, whose menu has none of our one-shot.
const MAKE_DEFAULT: &str =
    "OSTREE_GRUB2_EXEC=/usr/libexec/careen/careen-grub ostree admin set-default <index>";

#[test]
fn node_not_running_its_default_refuses_every_request() {
    let foreign = |letter| {
        quiet().with(|seen| {
            seen.node.request = Asked::This(pinned(letter));
            seen.machine.deployments = vec![deployment('c'), deployment('a')];
        })
    };
    for letter in ['a', 'b'] {
        let text = answer(foreign(letter), &Ok(at_once())).to_string();
        assert!(
            text.contains(digest('c').short()) && text.contains(MAKE_DEFAULT),
            "{text}"
        );
    }
}

#[test]
fn a_remote_that_the_policy_does_not_name_is_refused() {
    let policy = Policy {
        remotes: vec!["ours".into()],
        ..at_once()
    };
    assert!(matches!(
        answer(asked(), &Ok(policy)),
        Reason::RemoteNotAllowed { .. }
    ));
}

/// What becomes of a request for this container image under this policy.
fn of_container(place: &str, registry: policy::Registry) -> Phase {
    let image = format!("{place}@sha256:{}", digest('d'));
    let seen = quiet().with(|seen| seen.node.request = Asked::This(raw(&image)));
    let policy = Policy {
        registry,
        ..at_once()
    };
    let (next, _) = next_with(&seen, &Record::default(), &Ok(policy));
    match next.refused {
        Some(refused) => Phase::Failed {
            reason: refused.reason,
        },
        None => phase_of(&next),
    }
}

fn is_allowed(place: &str, registry: policy::Registry) -> bool {
    match of_container(place, registry) {
        Phase::Accepted => true,
        Phase::Failed {
            reason: Reason::RemoteNotAllowed { remote, .. },
        } => {
            assert_eq!(remote, place);
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_registry_that_the_policy_does_not_name_is_refused() {
    let only = |place: &str| policy::Registry {
        allowed: vec![place.to_owned()],
        ..policy::Registry::default()
    };
    let image = "docker://r.example.com/team/os";
    assert!(!is_allowed(image, policy::Registry::default()));
    assert!(is_allowed(image, only("r.example.com/team")));
    assert!(!is_allowed(image, only("r.example.com/te")));
    assert!(!is_allowed(image, only("other.example.com")));
}

#[test]
fn disallowed_image_place_error_names_the_policy_key_and_value() {
    for (place, words) in [
        (
            "docker://r.example.com/team/os",
            ["registry.allowed = []", "\"r.example.com/team/os\""],
        ),
        (
            "oci-archive:/srv/images/os.tar",
            ["registry.archives = []", "\"/srv/images\""],
        ),
        ("oci:/os", ["registry.archives = []", "\"/\""]),
    ] {
        let Phase::Failed { reason } = of_container(place, policy::Registry::default()) else {
            panic!("{place} is taken")
        };
        let text = reason.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}

#[test]
fn an_archive_is_taken_from_the_policys_folders_alone() {
    let only = |folder: &str| policy::Registry {
        archives: vec![folder.to_owned()],
        ..policy::Registry::default()
    };
    for image in ["oci-archive:/srv/images/os.tar", "oci:/srv/images/os"] {
        assert!(!is_allowed(image, policy::Registry::default()));
        assert!(is_allowed(image, only("/srv/images")));
        assert!(!is_allowed(image, only("/srv/image")));
    }
}

#[test]
fn broken_policy_refuses_every_request_and_says_where_it_breaks() {
    let file = names::POLICY_FILE.to_owned();
    let policy = Err(Reason::BadPolicy {
        file,
        line: 3,
        column: 7,
        detail: "unknown key".into(),
    });
    let text = answer(asked(), &policy.map_err(Broken::from)).to_string();
    assert!(text.contains("line 3, column 7"), "{text}");
    assert!(
        text.contains("ask again"),
        "a refused request is spent: {text}"
    );
}

#[test]
fn policy_values_out_of_range_are_named_with_their_range() {
    let policy = Policy {
        trials: 0,
        ..at_once()
    };
    let outside = policy.validate().unwrap_err();
    assert_eq!((outside.field, outside.accepted), ("trials", "1 to 10"));
    assert_eq!(at_once().validate(), Ok(()));
}
