use std::os::unix::fs::PermissionsExt;

use super::*;
use upgrade::window::Door;

/// A folder with this policy in it, and the file as a newly started agent reads it.
fn with(text: &str) -> (tempfile::TempDir, PolicyFile) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.toml"), text).unwrap();
    let file = of(folder.path());
    (folder, file)
}

fn of(folder: &Path) -> PolicyFile {
    PolicyFile::new(folder.join("policy.toml"), &folder.join("state"))
}

fn trials(file: &mut PolicyFile) -> Result<u32, u32> {
    let read = file.read();
    read.map(|policy| policy.trials)
        .map_err(|broken| broken.last.trials)
}

#[test]
fn no_file_means_the_defaults_and_nothing_is_kept_of_them() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(of(folder.path()).read(), Ok(Policy::default()));
    assert!(!folder.path().join("state").exists());
}

fn refused(read: PolicyRead) -> (Reason, u32) {
    let broken = read.expect_err("it is taken");
    (broken.reason, broken.last.trials)
}

#[test]
fn a_policy_that_others_may_write_gives_way_to_the_last_one() {
    let (folder, mut file) = with("trials = 3\n");
    assert_eq!(trials(&mut file), Ok(3));
    let path = folder.path().join("policy.toml");
    fs::write(&path, "trials = 9\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    let (reason, last) = refused(file.read());
    assert_eq!(last, 3);
    let (text, path) = (reason.to_string(), path.display());
    for part in [
        format!("{path}: {path} may be written by group"),
        format!("chmod go-w {path}"),
    ] {
        assert!(text.contains(&part), "{text}");
    }
    assert!(!text.contains("line"), "{text}");
}

#[test]
fn policy_symlink_is_followed_and_a_dangling_one_is_refused() {
    let (folder, mut file) = with("");
    let (path, real) = (
        folder.path().join("policy.toml"),
        folder.path().join("real"),
    );
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&real, &path).unwrap();
    let (reason, _) = refused(file.read());
    assert!(reason.to_string().contains("No such file"), "{reason}");
    fs::write(&real, "trials = 4\n").unwrap();
    assert_eq!(trials(&mut file), Ok(4));
    fs::set_permissions(&real, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(trials(&mut file), Err(4));
}

#[test]
fn policy_with_nearly_the_right_name_refuses_requests() {
    let (folder, mut file) = with("trials = 3\n");
    assert_eq!(trials(&mut file), Ok(3));
    let yaml = folder.path().join("policy.yaml");
    fs::write(&yaml, "opt-out: backup\n").unwrap();
    let (reason, last) = refused(file.read());
    assert_eq!(last, 3);
    let text = reason.to_string();
    let parts = [yaml.display().to_string(), names::POLICY_FILE.to_owned()];
    for part in parts {
        assert!(text.contains(&part), "{part}: {text}");
    }
    let disabled = folder.path().join("policy.yaml.disabled");
    fs::rename(&yaml, disabled).unwrap();
    fs::write(folder.path().join("policy.yaml~"), "").unwrap();
    assert_eq!(trials(&mut file), Ok(3));
    fs::create_dir(folder.path().join("require.d")).unwrap();
    let (reason, _) = refused(file.read());
    assert!(reason.to_string().contains(names::REQUIRED_CHECKS));
}

#[test]
fn behind_a_broken_file_stands_the_last_one_that_held() {
    let (folder, mut file) = with("trials = 3\n");
    assert_eq!(trials(&mut file), Ok(3));
    fs::write(folder.path().join("policy.toml"), "trials = 0\n").unwrap();
    assert_eq!(trials(&mut file), Err(3));
}

#[test]
fn agent_restart_keeps_the_last_good_policy_over_a_broken_file() {
    let (folder, mut file) = with("trials = 3\n");
    assert_eq!(trials(&mut file), Ok(3));
    fs::write(folder.path().join("policy.toml"), "trials = ").unwrap();
    assert_eq!(trials(&mut of(folder.path())), Err(3));
}

#[test]
fn without_one_that_ever_held_the_defaults_stand_there() {
    let (_folder, mut file) = with("trials = 0\n");
    assert_eq!(trials(&mut file), Err(Policy::default().trials));
}

/// One minute after the epoch. The hours of the test below are open then in UTC, and closed one
/// hour east of it.
const NIGHT: u64 = 60;

#[test]
fn missing_zone_in_a_trial_closes_the_hours_and_keeps_the_rest() {
    let text = "trials = 3\n[window]\nopen = [\"daily 00:00-00:30\"]\nzone = \"Europe/Atlantis\"\n[health]\nsoak-seconds = 1800\n";
    let (folder, mut trial) = with(text);
    let kept = folder.path().join("state/policy.toml");
    fs::create_dir(folder.path().join("state")).unwrap();
    fs::write(&kept, text).unwrap();
    trial.zones = folder.path().join("zoneinfo");
    let Err(Broken { reason, last }) = trial.read() else {
        panic!("a new request is refused");
    };
    assert!(reason.to_string().contains("Europe/Atlantis"), "{reason}");
    assert_eq!((last.trials, last.health.soak_seconds), (3, 1800));
    assert_eq!(last.window.at(NIGHT), Door::Closed { opens: None });
    assert_eq!(fs::read_to_string(kept).unwrap(), text, "also for the next");
}

#[test]
fn unknown_zone_is_refused_with_its_line_and_column() {
    let (folder, mut file) = with("[window]\nzone = \"Europe/Atlantis\"\n");
    file.zones = folder.path().join("zoneinfo");
    let Err(Broken {
        reason:
            Reason::BadPolicy {
                line,
                column,
                detail,
                ..
            },
        ..
    }) = file.read()
    else {
        panic!("taken");
    };
    assert_eq!((line, column), (2, 1));
    assert!(
        detail.contains("\"Europe/Atlantis\"") && detail.contains("zoneinfo"),
        "{detail}"
    );
}
