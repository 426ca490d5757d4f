//! Generates `docs/provider.md` from the command line and the names, so that the page matches the
//! code. `CAREEN_BLESS=1 cargo test -p careen-provider --bin careen-provider` rewrites it.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command, CommandFactory};
use provider::names;

use crate::Cli;

const HEAD: &str = "# careen-provider\n\nRendered from `src/provider/src`: the program's flags, and the names that it reads and writes in the\nmanagement cluster. [Cluster API](cluster-api.md) says what it does with them. On Nodes it writes\nthe requests of [names.md](names.md), with ids that begin with `capi-`.\n\n";

/// A name in the management cluster: what it is, where it is, who writes it, what it means.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const NAMES: &[Row] = &[
    (
        names::ASK,
        "annotation",
        "Machine",
        "operator",
        "any: upgrade this Machine in place (the annotation flow); removed at the end",
    ),
    (
        names::RETRY,
        "annotation",
        "Machine",
        "operator",
        "any new value: retry after a failure",
    ),
    (
        names::LEAVE_OUT,
        "annotation",
        "Machine",
        "operator",
        "any, as the reason: no other Machine waits for this one, and its node gets no new request",
    ),
    (
        names::NEVER_REPLACE,
        "annotation",
        "Cluster, MachineDeployment, KubeadmControlPlane",
        "operator",
        "`true` holds a rollout that cannot be done in place, `false` lets it replace; the nearest counts",
    ),
    (
        names::STATEROOT_LABEL,
        "label",
        "Machine",
        "operator",
        "the stateroot of its node, if it is not the default",
    ),
    (
        names::MARK,
        "annotation",
        "Machine",
        "careen-provider",
        "while its node works: the request's id, since when",
    ),
    (
        names::POOL_VERSION,
        "annotation",
        "Machine of a MachinePool",
        "careen-provider with prepared hosts, in no release yet",
        "the version that the pool asks for; removed at the end",
    ),
    (
        names::SKIP_REMEDIATION,
        "annotation",
        "Machine",
        "careen-provider; others",
        "while its node works; the annotation of another writer stays",
    ),
    (
        names::CONDITION,
        "condition",
        "InfraMachine",
        "careen-provider",
        "how far the upgrade is, in coarse steps, with the reason",
    ),
    (
        names::READY,
        "condition",
        "InfraMachine",
        "its controller; careen-provider in the annotation flow",
        "`False` with the reason `InplaceUpgrading` while the node works",
    ),
    (
        names::PAUSED,
        "annotation",
        "Cluster, MachineDeployment, KubeadmControlPlane, Machine",
        "operator",
        "requests are withdrawn where that is still possible",
    ),
    (
        names::SETTING_NEVER_REPLACE,
        "setting",
        "ExtensionConfig",
        "operator",
        "`true` or `false`, as in the annotation",
    ),
    (
        names::SETTING_IMAGE_FIELDS,
        "setting",
        "ExtensionConfig",
        "operator",
        "fields of an InfraMachine's spec that name an image, comma-separated; default: those of `--image-field`",
    ),
    (
        names::SETTING_PATCH_TYPE,
        "setting",
        "ExtensionConfig",
        "operator",
        "`JSONPatch` (the default), `JSONMergePatch`",
    ),
];

fn page() -> String {
    let mut cli = Cli::command();
    cli.build();
    let mut text = HEAD.to_owned();
    text += &section("Flags", &cli);
    for command in cli.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let about = command.get_about().unwrap();
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ");
        text += &section(command.get_name(), command).replacen(
            "\n\n",
            &format!("\n\n{about}.\n\n    {usage}\n\n"),
            1,
        );
    }
    text += "## Names\n\n| name | kind | where | who writes it | what it says |\n|---|---|---|---|---|\n";
    for (name, kind, place, writer, says) in NAMES {
        let _ = writeln!(text, "| `{name}` | {kind} | {place} | {writer} | {says} |");
    }
    text
}

fn section(title: &str, command: &Command) -> String {
    let own = command
        .get_arguments()
        .filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()));
    let rows: String = own
        .map(|arg| format!("| `{}` | {} |\n", shown(arg), help(arg)))
        .collect();
    format!("## {title}\n\n| | |\n|---|---|\n{rows}\n")
}

fn shown(arg: &Arg) -> String {
    let short = arg
        .get_short()
        .map(|short| format!("-{short}, "))
        .unwrap_or_default();
    match (arg.get_long(), arg.get_action().takes_values()) {
        (None, _) => arg.to_string(),
        (Some(long), false) => format!("{short}--{long}"),
        (Some(long), true) => format!("{short}--{long} <{}>", arg.get_value_names().unwrap()[0]),
    }
}

fn help(arg: &Arg) -> String {
    let mut text = arg.get_help().unwrap().to_string();
    if let Some(variable) = arg.get_env() {
        let _ = write!(
            text,
            "; or the environment variable `{}`",
            variable.display()
        );
    }
    if let (true, Some(default)) = (
        arg.get_action().takes_values(),
        arg.get_default_values().first(),
    ) {
        let _ = write!(text, "; default `{}`", default.display());
    }
    if matches!(arg.get_action(), ArgAction::Append) {
        text += "; can be repeated";
    }
    text.replace('|', "\\|")
}

fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

#[test]
fn the_page_of_flags_and_names_is_what_the_code_says() {
    let path = source().join("docs/provider.md");
    if std::env::var_os("CAREEN_BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written,
        page(),
        "docs/provider.md has drifted: run CAREEN_BLESS=1 cargo test -p careen-provider --bin careen-provider"
    );
}

/// Otherwise a name in the code that the table does not have would appear in no page.
#[test]
fn every_name_of_ours_and_every_setting_stands_in_it() {
    let code = std::fs::read_to_string(source().join("src/provider/src/names.rs")).unwrap();
    let page = page();
    let mut found = 0;
    for line in code.lines().filter(|line| line.starts_with("pub const ")) {
        let value = line.split('"').nth(1).unwrap_or_default();
        if value.starts_with("careen.dev/") || line.contains("SETTING_") {
            found += 1;
            assert!(page.contains(&format!("`{value}`")), "{line}");
        }
    }
    assert!(found > 5, "only {found}");
}
