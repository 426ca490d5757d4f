//! The units for programs that lie below /var, and may be gone from there.
//!
//! A system that is kept has an /etc of its own, out of the pod's reach, with our units in it still when an uninstall has taken the programs
//! away. So nothing in them may fail where there are no programs.

use upgrade::names;

/// Where the image has what the units run.
const IN_THE_IMAGE: &str = "/usr/libexec/careen/";

/// Holds a unit back outside a trial. No trial is begun without an agent; and where a program is missed in one, the boot has to fail.
const ON_TRIAL: &str = "ConditionKernelCommandLine=careen.trial=1";

/// The file, among the programs, with what a unit sets in the environment of another's.
pub const ENVIRONMENT: &str = "environment";

/// The unit for programs that lie below /var.
pub fn moved(text: &str) -> String {
    let is_for_trials = text.lines().any(|line| line == ON_TRIAL);
    let line = |line: &str| match line {
        "[Unit]" if !is_for_trials => format!("{line}\n{}", conditions(text)),
        mounts if mounts.starts_with("RequiresMountsFor=") => {
            format!("{mounts} {}\n", names::AGENTS_DIR)
        }
        // systemd passes over a file that is not there, and a variable that names a program which is not there would stop libostree.
        set if variable(set).is_some() => {
            format!("EnvironmentFile=-{}/{ENVIRONMENT}\n", names::AGENTS_DIR)
        }
        other => format!("{}\n", below_var(other)),
    };
    text.lines().map(line).collect()
}

fn below_var(line: &str) -> String {
    line.replace(IN_THE_IMAGE, &format!("{}/proven/", names::AGENTS_DIR))
}

/// One for each program that the unit runs.
fn conditions(text: &str) -> String {
    let runs = text
        .lines()
        .filter_map(|line| line.strip_prefix("ExecStart="));
    let programs = runs.filter_map(|command| command.split_whitespace().next());
    let conditions =
        programs.map(|program| format!("ConditionFileIsExecutable={}\n", below_var(program)));
    conditions.collect()
}

/// What a line puts into the environment, where that names a program of ours.
fn variable(line: &str) -> Option<&str> {
    let set = line.strip_prefix("Environment=")?;
    set.contains(IN_THE_IMAGE).then_some(set)
}

/// What all units together put there.
pub fn environment<'a>(units: impl Iterator<Item = &'a str>) -> String {
    let variables = units.flat_map(|text| text.lines().filter_map(variable));
    variables
        .map(|variable| format!("{}\n", below_var(variable)))
        .collect()
}

/// The folders, `.wants` and `.requires`, that a unit's [Install] section asks for a link in.
pub fn pulled_in_by(text: &str) -> Vec<String> {
    let mut folders = Vec::new();
    for (setting, suffix) in [("WantedBy=", "wants"), ("RequiredBy=", "requires")] {
        let targets = text.lines().filter_map(|line| line.strip_prefix(setting));
        let targets = targets.flat_map(str::split_whitespace);
        folders.extend(targets.map(|target| format!("{target}.{suffix}")));
    }
    folders
}
