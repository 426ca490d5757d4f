//! host.toml.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use prepared::settings::Settings;

const GOOD: &str = r#"
server = "https://10.0.0.10:6443"
certificate-authority = "PEM"
namespace = "fleet"
registration = "rack-a"
token = "secret"

[bootstrap]
ignore = ["ntp"]
"#;

fn read(text: &str) -> Result<Settings, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.toml");
    fs::write(&path, text).unwrap();
    Settings::read(&path).map_err(|error| error.to_string())
}

#[test]
fn a_join_file_is_read() {
    let settings = read(GOOD).unwrap();
    assert_eq!(settings.bootstrap.ignore, ["ntp"]);
    assert_eq!(
        (settings.namespace.as_str(), settings.name),
        ("fleet", None)
    );
}

#[test]
fn a_join_file_that_others_may_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.toml");
    fs::write(&path, GOOD).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
    let why = Settings::read(&path).unwrap_err().to_string();
    assert!(why.contains("may be written by group"), "{why}");
    assert!(!why.contains("secret"), "{why}");
}

#[test]
fn a_bad_join_file_is_refused_without_its_token() {
    for (from, to, part) in [
        ("registration = \"rack-a\"\n", "", "registration"),
        ("[bootstrap]", "[boot]", "boot"),
        ("ignore = [\"ntp\"]", "ignore = 1", "line 9"),
        ("https://", "http://", "https://"),
        ("token = \"secret\"", "token = secret", "line 6"),
    ] {
        let said = read(&GOOD.replace(from, to)).unwrap_err();
        assert!(said.contains(part), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
