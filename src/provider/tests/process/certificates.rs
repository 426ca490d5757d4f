//! Somebody else rotates the certificate in `--tls-dir`.

use crate::hooks::call;
use crate::program::{Program, lay, pair};

/// A rotation writes three files one after the other, and a check may fall between them.
#[test]
fn rotated_certificate_is_served_without_restart_once_complete() {
    let (old, new) = (pair(), pair());
    let program = Program::start(&old, &[]);
    program.until_it_has_a_certificate();
    assert_eq!(call(program.hooks, &old.authorities).1["status"], "Success");

    std::fs::write(program.folder.path().join("tls.crt"), &new.certificate).unwrap();
    let half = program.until_it_warns();
    assert!(
        half.ends_with("The old certificate stays in use."),
        "{half}"
    );
    assert_eq!(call(program.hooks, &old.authorities).1["status"], "Success");

    lay(program.folder.path(), &new);
    program.until_it_says("a new certificate is in use");
    assert_eq!(call(program.hooks, &new.authorities).1["status"], "Success");
}
