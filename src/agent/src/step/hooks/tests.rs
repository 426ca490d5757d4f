use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use tokio::sync::watch;
use upgrade::Policy;
use upgrade::step::StepKind;

use super::*;
use crate::health::group::seen;

fn write(root: &Path, name: &str, script: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn errand() -> (Errand, watch::Sender<bool>) {
    let (stop, cancel) = watch::channel(false);
    let mut policy = Policy::default();
    policy.hooks.seconds = 1;
    let errand = Errand {
        step: StepKind::PreHooks,
        id: Some("u1".parse().unwrap()),
        policy: Arc::new(policy),
        cancel,
        doing: watch::channel(None).0,
    };
    (errand, stop)
}

async fn ended(root: &Path, point: HookPoint) -> Result<StepEnd, Reason> {
    let (errand, _stop) = errand();
    Hooks::below(root).perform(point, &errand).await
}

#[tokio::test]
async fn hooks_run_in_name_order_and_stop_at_the_first_failure() {
    let root = tempfile::tempdir().unwrap();
    let log = root.path().join("log");
    let say = |word: &str| format!("echo {word} >> {}", log.display());
    write(root.path(), "etc/careen/pre.d/20-noout", &say("second"));
    write(root.path(), "usr/lib/careen/pre.d/10-image", &say("first"));
    let fails = "echo 'battery at 20 %'; exit 1";
    write(root.path(), "etc/careen/pre.d/30-battery", fails);
    write(root.path(), "etc/careen/pre.d/40-last", &say("never"));
    let failed = Reason::HookFailed {
        hook: "30-battery".into(),
        detail: "battery at 20 % (exit status 1)".into(),
    };
    assert_eq!(ended(root.path(), HookPoint::Pre).await, Err(failed));
    assert_eq!(fs::read_to_string(log).unwrap(), "first\nsecond\n");
}

#[tokio::test]
async fn a_post_hook_is_told_which_upgrade_it_was_and_how_it_ended() {
    let root = tempfile::tempdir().unwrap();
    let log = root.path().join("log");
    let say = format!(
        "echo $CAREEN_UPGRADE_ID $CAREEN_OUTCOME >> {}",
        log.display()
    );
    write(root.path(), "etc/careen/post.d/10-log", &say);
    for upgraded in [true, false] {
        let point = HookPoint::Post { upgraded };
        assert!(ended(root.path(), point).await.is_ok());
    }
    let said = fs::read_to_string(log).unwrap();
    assert_eq!(said, "u1 Upgraded\nu1 NotUpgraded\n");
}

#[tokio::test]
async fn hanging_hook_fails_at_its_limit_and_its_children_end() {
    let root = tempfile::tempdir().unwrap();
    let id = root.path().join("id");
    let hook = "etc/careen/pre.d/slow";
    write(root.path(), hook, &seen::hangs_in_a_child(&id));
    let Err(reason) = ended(root.path(), HookPoint::Pre).await else {
        panic!("it passed");
    };
    assert!(reason.to_string().contains("no answer in 1 s"), "{reason}");
    assert!(seen::ends(seen::child(&id).await).await);
}

#[tokio::test]
async fn a_hook_has_the_path_that_the_docs_say() {
    let root = tempfile::tempdir().unwrap();
    let log = root.path().join("log");
    let say = format!("echo $PATH >{}", log.display());
    write(root.path(), "etc/careen/pre.d/10-path", &say);
    assert!(ended(root.path(), HookPoint::Pre).await.is_ok());
    let path = host::trust::OPERATORS_PATH;
    let own = host::trust::operators_path();
    assert_eq!(fs::read_to_string(log).unwrap(), format!("{own}\n"));
    assert!(include_str!("../../../../../docs/policy.md").contains(&format!("`PATH` is `{path}`")));
}

/// The example of docs/policy.md, with this folder in place of /sys.
fn documented(supplies: &Path) -> String {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let page = fs::read_to_string(Path::new(&here).join("../../docs/policy.md")).unwrap();
    let (_, example) = page.split_once("`/etc/careen/pre.d/10-power`:").unwrap();
    let (_, script) = example.split_once("```sh\n").unwrap();
    let (script, _) = script.split_once("```").unwrap();
    let sys = "/sys/class/power_supply";
    assert!(script.contains(sys), "{script}");
    script.replace(sys, supplies.to_str().unwrap())
}

#[tokio::test]
async fn documented_hook_fails_only_when_the_system_battery_is_low() {
    let low = "BAT0 at 20 %, but 50 are needed (exit status 1)";
    for (kind, scope, capacity, said) in [
        ("Battery", "System", "50", None),
        ("Battery", "System", "20", Some(low)),
        ("Battery", "Device", "20", None),
        ("Mains", "System", "0", None),
    ] {
        let root = tempfile::tempdir().unwrap();
        let supply = root.path().join("supplies/BAT0");
        fs::create_dir_all(&supply).unwrap();
        for (file, word) in [("type", kind), ("scope", scope), ("capacity", capacity)] {
            fs::write(supply.join(file), format!("{word}\n")).unwrap();
        }
        let script = documented(&root.path().join("supplies"));
        write(root.path(), "etc/careen/pre.d/10-power", &script);
        let failed = match ended(root.path(), HookPoint::Pre).await {
            Err(Reason::HookFailed { detail, .. }) => Some(detail),
            other => other.map(|_| None).unwrap(),
        };
        assert_eq!(failed.as_deref(), said, "{kind} {scope} {capacity}");
    }
}

#[tokio::test]
async fn a_hook_that_others_may_write_is_not_run_and_has_failed() {
    let root = tempfile::tempdir().unwrap();
    let ran = root.path().join("ran");
    let hook = "etc/careen/pre.d/open";
    write(root.path(), hook, &format!("touch {}", ran.display()));
    let everybody = fs::Permissions::from_mode(0o777);
    fs::set_permissions(root.path().join(hook), everybody).unwrap();
    let Err(reason) = ended(root.path(), HookPoint::Pre).await else {
        panic!("it passed");
    };
    assert!(!ran.exists() && reason.to_string().contains("not run as root"));
}

#[tokio::test]
async fn cancelled_hooks_are_stopped_with_their_children() {
    let root = tempfile::tempdir().unwrap();
    let id = root.path().join("id");
    let hook = "etc/careen/pre.d/slow";
    write(root.path(), hook, &seen::hangs_in_a_child(&id));
    let (mut errand, stop) = errand();
    Arc::make_mut(&mut errand.policy).hooks.seconds = 100;
    let stopped = async {
        let child = seen::child(&id).await;
        stop.send_replace(true);
        child
    };
    let hooks = Hooks::below(root.path());
    let (ended, child) = tokio::join!(hooks.perform(HookPoint::Pre, &errand), stopped);
    assert_eq!(ended, Ok(StepEnd::Cancelled));
    assert!(seen::ends(child).await);
}

#[test]
fn only_programs_count_as_hooks() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "etc/careen/post.d/10-log", "");
    fs::create_dir_all(root.path().join("etc/careen/pre.d")).unwrap();
    fs::write(root.path().join("etc/careen/pre.d/README"), "none").unwrap();
    let there = upgrade::Hooks {
        pre: false,
        post: true,
    };
    assert_eq!(Hooks::below(root.path()).seen(), there);
}
