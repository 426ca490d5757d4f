//! The pages and completions document everything that the command lines accept.

// A failure in a helper fails the test.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use clap::Command;
use tempfile::TempDir;
use upgrade::exit;

fn written() -> TempDir {
    let out = TempDir::new().unwrap();
    pages::write(out.path()).unwrap();
    out
}

fn page(out: &Path, name: &str, section: &str) -> String {
    // roff escapes a hyphen.
    let page = fs::read_to_string(out.join(format!("man/{name}.{section}"))).unwrap();
    page.replace("\\-", "-")
}

/// Calls `look` with every command and the name of its page.
fn each(command: &Command, name: &str, look: &mut dyn FnMut(&Command, &str)) {
    look(command, name);
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        each(sub, &format!("{name}-{}", sub.get_name()), look);
    }
}

#[test]
fn every_command_has_a_page_naming_its_flags_and_subcommands() {
    let out = written();
    let mut pages = 0;
    for (command, section) in pages::commands() {
        let name = command.get_name().to_owned();
        each(&command, &name, &mut |command, name| {
            pages += 1;
            let page = page(out.path(), name, section);
            // Only tests use the hidden ones.
            let shown = command.get_arguments().filter(|flag| !flag.is_hide_set());
            for flag in shown.filter_map(|flag| flag.get_long()) {
                assert!(page.contains(&format!("--{flag}")), "{name}: --{flag}");
            }
            // A program calls the hidden ones, and no person.
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
                let other = format!("{name}-{}({section})", sub.get_name());
                assert!(page.contains(&other), "{name}: {other}");
            }
        });
    }
    let written = fs::read_dir(out.path().join("man")).unwrap().count();
    assert_eq!(written, pages, "pages of commands that there are not");
}

/// A script that follows the manual handles the real exit codes of the program.
#[test]
fn the_doctors_page_names_each_code_that_the_doctor_ends_with() {
    let out = written();
    let page = page(out.path(), "careen-agent-doctor", "8");
    let codes = exit::TABLE
        .iter()
        .filter(|row| row.program == "`careen-agent doctor`")
        .map(|row| (row.code, row.code == exit::DONE));
    for (code, is_done) in codes {
        let words = match is_done {
            true => format!("{code} when all checks are ok"),
            false => format!(", {code} when "),
        };
        assert!(page.contains(&words), "{words}: {page}");
    }
}

#[test]
fn every_shell_completes_the_programs() {
    let out = written();
    for file in [
        "bash/careen-agent.bash",
        "bash/careen-control.bash",
        "zsh/_careen-control",
        "fish/careen-control.fish",
        "bash/careen-deploy.bash",
        "zsh/_careen-agent",
        "zsh/_careen-deploy",
        "fish/careen-agent.fish",
        "fish/careen-deploy.fish",
        "bash/careen-image.bash",
        "zsh/_careen-image",
        "fish/careen-image.fish",
    ] {
        let text = fs::read_to_string(out.path().join(file)).unwrap();
        let flags = ["lock-seconds", "kubeconfig", "authfile", "kubeadm"];
        assert!(flags.iter().any(|flag| text.contains(flag)), "{file}");
    }
}

#[test]
fn written_twice_is_the_same() {
    let (one, two) = (written(), written());
    for file in ["man/careen-deploy.8", "zsh/_careen-agent"] {
        let read = |out: &TempDir| fs::read(out.path().join(file)).unwrap();
        assert_eq!(read(&one), read(&two), "{file}");
    }
}
