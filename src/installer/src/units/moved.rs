//! Adapts units to programs that are below /var, where they may be missing.
//!
//! The kept system has its own /etc, which the pod cannot reach. Its copies of the units remain
//! after an uninstall has removed the programs. So nothing in them may fail if the programs are
//! missing.

use upgrade::names;

/// Where the image has the programs that the units run.
const IN_THE_IMAGE: &str = "/usr/libexec/careen/";

/// Restricts a unit to a trial. No trial starts without an agent; and if a program is missing
/// during a trial, the boot must fail.
const ON_TRIAL: &str = "ConditionKernelCommandLine=careen.trial=1";

/// The file, next to the programs, with the environment variables that a unit sets for another
/// unit's program.
pub const ENVIRONMENT: &str = "environment";

/// The unit for programs below /var.
pub fn moved(text: &str) -> String {
    let is_for_trials = text.lines().any(|line| line == ON_TRIAL);
    let line = |line: &str| match line {
        "[Unit]" if !is_for_trials => format!("{line}\n{}", conditions(text)),
        mounts if mounts.starts_with("RequiresMountsFor=") => {
            format!("{mounts} {}\n", names::AGENTS_DIR)
        }
        // systemd ignores a missing file, and a variable that names a missing program would stop
        // libostree.
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

/// One condition for each program that the unit runs.
fn conditions(text: &str) -> String {
    let runs = text
        .lines()
        .filter_map(|line| line.strip_prefix("ExecStart="));
    let programs = runs.filter_map(|command| command.split_whitespace().next());
    let conditions =
        programs.map(|program| format!("ConditionFileIsExecutable={}\n", below_var(program)));
    conditions.collect()
}

/// The environment variable of a line, if it names one of Careen's programs.
fn variable(line: &str) -> Option<&str> {
    let set = line.strip_prefix("Environment=")?;
    set.contains(IN_THE_IMAGE).then_some(set)
}

/// The environment variables of all units together.
pub fn environment<'a>(units: impl Iterator<Item = &'a str>) -> String {
    let variables = units.flat_map(|text| text.lines().filter_map(variable));
    variables
        .map(|variable| format!("{}\n", below_var(variable)))
        .collect()
}

/// The folders, `.wants` and `.requires`, in which a unit's [Install] section asks for a link.
pub fn pulled_in_by(text: &str) -> Vec<String> {
    let mut folders = Vec::new();
    for (setting, suffix) in [("WantedBy=", "wants"), ("RequiredBy=", "requires")] {
        let targets = text.lines().filter_map(|line| line.strip_prefix(setting));
        let targets = targets.flat_map(str::split_whitespace);
        folders.extend(targets.map(|target| format!("{target}.{suffix}")));
    }
    folders
}
