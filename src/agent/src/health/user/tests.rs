use super::super::group::seen;
use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn write(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Every round runs every check, and every failure counts.
const AT_ONCE: Pace = Pace {
    again: Duration::ZERO,
    counts: Duration::ZERO,
    repeats: None,
};

fn policy(tries: u32) -> policy::Health {
    policy::Health {
        check_seconds: 1,
        check_tries: tries,
        ..policy::Health::default()
    }
}

#[tokio::test]
async fn failing_check_is_broken_after_its_tries_with_its_last_line() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "storage",
        "echo looking; echo 'no /dev/sdb'; exit 1",
    );
    let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(2), AT_ONCE);
    checks.round().await;
    let why = || "no /dev/sdb (exit status 1)".to_owned();
    assert_eq!(
        checks.results(),
        [("storage".to_owned(), Check::Fail(why()))]
    );
    checks.round().await;
    assert_eq!(
        checks.results(),
        [("storage".to_owned(), Check::Broken(why()))]
    );
}

/// What one round reports.
async fn told(checks: &mut UserChecks) -> Vec<(String, String)> {
    let mut told = Vec::new();
    let tell = |name: &str, why: &str| told.push((name.to_owned(), why.to_owned()));
    checks.round_telling(tell).await;
    told
}

#[tokio::test]
async fn broken_check_is_reported_once_before_the_next_check_runs() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a", "echo gone; exit 1");
    let ran = folder.path().join("ran");
    write(folder.path(), "b", &format!("touch {}", ran.display()));
    let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(1), AT_ONCE);
    let mut told = Vec::new();
    let tell = |name: &str, why: &str| {
        assert!(!ran.exists(), "told only after {name} and the next one");
        told.push((name.to_owned(), why.to_owned()));
    };
    checks.round_telling(tell).await;
    assert_eq!(told, [("a".to_owned(), "gone (exit status 1)".to_owned())]);
    assert_eq!(super::tests::told(&mut checks).await, [], "once");
}

#[tokio::test]
async fn failures_close_together_count_once_and_a_later_pass_counts() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    write(
        folder.path(),
        "pods",
        &format!("test -e {}", ready.display()),
    );
    let slow = Pace {
        counts: Duration::from_secs(3600),
        ..AT_ONCE
    };
    let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(2), slow);
    for round in 0..4 {
        checks.round().await;
        assert!(!checks.are_settled(), "round {round}");
    }
    fs::write(ready, "").unwrap();
    checks.round().await;
    assert_eq!(checks.results(), [("pods".to_owned(), Check::Pass)]);
}

#[tokio::test]
async fn a_check_that_failed_rests_before_it_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "once", "echo run >> $0.log; exit 1");
    let lazy = Pace {
        again: Duration::from_secs(3600),
        ..AT_ONCE
    };
    let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(9), lazy);
    checks.round().await;
    checks.round().await;
    let runs = fs::read_to_string(folder.path().join("once.log")).unwrap();
    assert_eq!(runs, "run\n");
}

#[tokio::test]
async fn check_that_passed_is_repeated_and_may_fail_later() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    write(
        folder.path(),
        "disk",
        &format!("test ! -e {}", gone.display()),
    );
    let repeating = Pace {
        repeats: Some(Duration::ZERO),
        ..AT_ONCE
    };
    let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(2), repeating);
    let mut now = async || {
        checks.round().await;
        checks.results().remove(0).1
    };
    assert_eq!(now().await, Check::Pass);
    fs::write(&gone, "").unwrap();
    assert!(matches!(now().await, Check::Fail(_)));
    fs::remove_file(&gone).unwrap();
    assert_eq!(now().await, Check::Pass);
    fs::write(&gone, "").unwrap();
    assert!(
        matches!(now().await, Check::Fail(_)),
        "the count began again"
    );
    assert!(matches!(now().await, Check::Broken(_)));
}

#[tokio::test]
async fn hanging_check_breaks_at_its_limit_and_its_children_end() {
    let folder = tempfile::tempdir().unwrap();
    let id = folder.path().join("id");
    write(folder.path(), "slow", &seen::hangs_in_a_child(&id));
    let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(1), AT_ONCE);
    checks.round().await;
    assert_eq!(checks.causes(), [Cause::Unclear]);
    let why = "no answer in 1 s".to_owned();
    assert_eq!(checks.results(), [("slow".to_owned(), Check::Broken(why))]);
    assert!(seen::ends(seen::child(&id).await).await);
}

#[tokio::test]
async fn a_check_that_cannot_be_run_is_pending_not_bad() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd");
    fs::write(&path, "#!/nowhere\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(1), AT_ONCE);
    checks.round().await;
    assert!(matches!(checks.results()[0].1, Check::Pending(_)));
}

#[tokio::test]
async fn the_operators_check_replaces_the_images_of_the_same_name() {
    let (image, operator) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(image.path(), "net", "exit 1");
    write(operator.path(), "net", "exit 0");
    fs::write(operator.path().join("README"), "not a check").unwrap();
    let folders = [image.path().to_owned(), operator.path().to_owned()];
    let mut checks = UserChecks::read(&folders, &policy(1), AT_ONCE);
    checks.round().await;
    assert_eq!(checks.results(), [("net".to_owned(), Check::Pass)]);
}

#[tokio::test]
async fn a_check_that_others_may_write_is_not_run_and_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    write(folder.path(), "net", &format!("touch {}", ran.display()));
    let everybody = fs::Permissions::from_mode(0o777);
    fs::set_permissions(folder.path().join("net"), everybody).unwrap();
    let mut checks = UserChecks::read(&[folder.path().to_owned()], &policy(9), AT_ONCE);
    checks.round().await;
    assert!(!ran.exists());
    let results = checks.results();
    let [(_, Check::Broken(why))] = &results[..] else {
        panic!("{results:?}");
    };
    assert!(why.contains("not run as root"), "{why}");
}
