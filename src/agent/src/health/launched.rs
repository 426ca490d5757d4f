//! Programs of this node that a unit starts through one of the image (`ExecStart=/bin/sh -c /opt/x`
//! or `/usr/bin/env x`), through a variable that a file of this node sets, or beside its main
//! program (`ExecStartPre=`). This looks for them in the text of the unit's files, and takes any
//! path of the node for a program. It only takes blame from an image.

mod parts;
mod unit;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::ownership::{self, below, is_the_images_program};
use parts::{Part, parts};
use unit::{Command, Unit};

/// Programs whose arguments are a program or a script, without the digits of a version.
const LAUNCHERS: [&str; 37] = [
    "ash",
    "bash",
    "busybox",
    "catatonit",
    "chroot",
    "chrt",
    "dash",
    "dumb-init",
    "env",
    "flock",
    "ionice",
    "java",
    "ksh",
    "mksh",
    "nice",
    "node",
    "nohup",
    "nsenter",
    "numactl",
    "perl",
    "prlimit",
    "python",
    "ruby",
    "runuser",
    "setpriv",
    "setsid",
    "sh",
    "stdbuf",
    "su",
    "sudo",
    "systemd-inhibit",
    "systemd-run",
    "taskset",
    "timeout",
    "tini",
    "unshare",
    "zsh",
];

/// Where this node has its own programs.
const OF_THE_NODE: [&str; 7] = [
    "/etc",
    "/home",
    "/opt",
    "/root",
    "/srv",
    "/usr/local",
    "/var",
];

/// Words of a shell, and options, after which a program follows.
const BEFORE_A_PROGRAM: [&str; 9] = [
    "!", "--", "-c", "command", "do", "else", "exec", "then", "time",
];

/// What a unit starts beside the programs of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launched {
    /// A program of this node, or one that this file of the node names.
    Node(PathBuf),
    /// A program that a variable names which no file of the unit sets.
    Unknown,
}

impl Launched {
    /// The file of this node.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Node(file) => Some(file),
            Self::Unknown => None,
        }
    }
}

/// Whether a program starts another one that its arguments name.
pub fn is_a_launcher(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    LAUNCHERS.contains(&name)
}

/// The first program of this node that a command in these files of a unit names, or else one that
/// is not known.
pub fn beside_the_image<'a>(
    root: &Path,
    files: impl Iterator<Item = &'a Path>,
) -> Option<Launched> {
    let unit = Unit::read(root, files);
    let commands = unit.commands.iter();
    let found: Vec<_> = commands
        .flat_map(|command| launched(root, &unit, command))
        .collect();
    let node = found.iter().find(|launched| launched.file().is_some());
    node.or(found.first()).cloned()
}

/// What of a command is not the image's.
fn launched(root: &Path, unit: &Unit, command: &Command) -> Vec<Launched> {
    let parts = parts(&command.line);
    let launches = match parts.first() {
        Some(Part::Word(program)) => is_a_launcher(Path::new(program)),
        // It may be one.
        Some(Part::Variable(_)) => true,
        Some(Part::Setting(_) | Part::Next) | None => false,
    };
    let mut found = Vec::new();
    // Whether a program comes next.
    let mut expects = true;
    for (at, part) in parts.into_iter().enumerate() {
        match part {
            Part::Next => expects = launches,
            Part::Setting(word) => found.extend(named(root, word, launches)),
            Part::Word(word) => {
                if at > 0 || !command.is_main() {
                    found.extend(named(root, word, launches || at == 0));
                }
                expects = launches && follows(word, expects);
            }
            Part::Variable(name) => {
                found.extend(valued(root, unit, command, name, expects));
                expects = false;
            }
        }
    }
    found
}

/// Whether a program may follow this word of a launcher's command.
fn follows(word: &str, expects: bool) -> bool {
    let is_a_number = word.starts_with(|letter: char| letter.is_ascii_digit());
    let passes = word.starts_with('-') || is_a_number || is_a_launcher(Path::new(word));
    BEFORE_A_PROGRAM.contains(&word) || expects && passes
}

/// The program of this node that a word is.
fn named(root: &Path, word: &str, launches: bool) -> Option<Launched> {
    let word = Path::new(word);
    let is_found = match (word.is_absolute(), launches) {
        (true, true) => is_the_nodes(root, word),
        (true, false) => is_the_nodes(root, word) && is_executable(&below(root, word)),
        (false, true) => is_a_name(word) && !is_the_images_program(root, word),
        (false, false) => false,
    };
    is_found.then(|| Launched::Node(word.to_owned()))
}

/// What a variable names. A file of the node that sets it chooses the program, also one of the
/// image.
fn valued(
    root: &Path,
    unit: &Unit,
    command: &Command,
    name: &str,
    is_program: bool,
) -> Option<Launched> {
    let Some(variable) = unit.variable(name) else {
        // A shell may set it in the same command, or has a default (`${X:-/usr/bin/x}`).
        let sets = [format!("{name}="), format!("{{{name}:")];
        let is_set = sets.iter().any(|sets| command.line.contains(sets));
        return (is_program && !is_set).then_some(Launched::Unknown);
    };
    let mut words = parts(&variable.value).into_iter();
    let program = words.find_map(|part| match part {
        Part::Word(word) | Part::Setting(word) => named(root, word, is_program),
        Part::Variable(_) | Part::Next => None,
    });
    let by_the_node = || is_program && ownership::is_the_nodes(root, &variable.file);
    program.or_else(|| by_the_node().then(|| Launched::Node(variable.file.clone())))
}

fn is_the_nodes(root: &Path, path: &Path) -> bool {
    let mut places = OF_THE_NODE.iter();
    places.any(|place| path.starts_with(place)) && !is_the_images_program(root, path)
}

fn is_a_name(word: &Path) -> bool {
    let word = word.to_string_lossy();
    word.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && !word.contains('/')
}

fn is_executable(path: &Path) -> bool {
    let facts = fs::metadata(path);
    facts.is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = "/usr/lib/systemd/system/x.service";

    fn write(root: &Path, path: &str, text: &str, mode: u32) {
        let file = below(root, Path::new(path));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// What a unit with this text starts beside the image's programs.
    fn found(text: &str) -> Option<Launched> {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        write(root, UNIT, &format!("[Service]\n{text}\n"), 0o644);
        write(root, "/usr/local/bin/agent", "", 0o755);
        write(root, "/var/lib/vendor/x", "", 0o755);
        write(root, "/var/lib/vendor/data", "", 0o644);
        write(root, "/etc/same", "a", 0o755);
        write(root, "/usr/etc/same", "a", 0o755);
        write(
            root,
            "/etc/default/x",
            "X=/usr/bin/x\nOPT=/opt/x --y\nFLAGS=--v=2\n",
            0o644,
        );
        write(root, "/etc/default/same", "SAME=/usr/bin/x\n", 0o644);
        write(root, "/usr/etc/default/same", "SAME=/usr/bin/x\n", 0o644);
        beside_the_image(root, [Path::new(UNIT)].into_iter())
    }

    fn of_the_node(file: &str) -> Option<Launched> {
        Some(Launched::Node(file.into()))
    }

    #[test]
    fn program_of_the_node_behind_a_shell_or_env_is_found() {
        for (command, program) in [
            ("/bin/sh -c /opt/x", "/opt/x"),
            ("-/bin/sh -c 'exec /opt/x --y'", "/opt/x"),
            (
                "/usr/bin/bash -c 'A=1;/usr/local/bin/y>/dev/null'",
                "/usr/local/bin/y",
            ),
            ("/usr/bin/env A=1 agent --y", "agent"),
            ("/bin/sh -c \"agent & wait\"", "agent"),
            ("/usr/bin/python3.11 /srv/x.py", "/srv/x.py"),
            ("/usr/bin/nice -n 5 \\\n  /home/x/y", "/home/x/y"),
            ("/usr/libexec/run /var/lib/vendor/x", "/var/lib/vendor/x"),
        ] {
            let found = found(&format!("ExecStart={command}"));
            assert_eq!(found, of_the_node(program), "{command}");
        }
    }

    #[test]
    fn command_with_the_images_programs_names_none_of_the_node() {
        for text in [
            "ExecStart=/bin/sh -c 'exec /usr/bin/x >/dev/null </proc/1/x'",
            "ExecStart=/bin/sh -c /etc/same",
            "ExecStart=/usr/bin/env x",
            "ExecStart=/usr/bin/x --data /var/lib/vendor/data /opt/gone",
            "ExecStart=/usr/bin/x",
            "ExecStart=/bin/sh -c /opt/x\nExecStart=\nExecStart=/usr/bin/x y",
            "ExecStop=/bin/sh -c /opt/x",
            "#ExecStart=/bin/sh -c /opt/x",
            "ExecStartPre=/usr/bin/mkdir -p /var/lib/vendor/data\nExecStart=/usr/bin/x",
            "ExecStartPre=/opt/x\nExecStartPre=\nExecStart=/usr/bin/x",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn program_of_the_node_before_or_after_the_main_one_is_found() {
        for key in ["ExecCondition", "ExecStartPre", "ExecStartPost"] {
            for (command, program) in [
                ("-/opt/x --y", "/opt/x"),
                ("agent --y", "agent"),
                ("/bin/sh -c /opt/x", "/opt/x"),
                ("/usr/libexec/run /var/lib/vendor/x", "/var/lib/vendor/x"),
            ] {
                let text = format!("{key}={command}\nExecStart=/usr/bin/x");
                assert_eq!(found(&text), of_the_node(program), "{text}");
            }
        }
    }

    #[test]
    fn program_in_a_variable_of_the_nodes_file_is_its_own() {
        let file = "/etc/default/x";
        for (command, expected) in [
            ("${X}", file),
            ("$X --y", file),
            ("/bin/sh -c 'exec $X $FLAGS'", file),
            ("/bin/sh -c \"cd /; $${X} --y\"", file),
            ("/usr/bin/env A=1 ${X}", file),
            ("/usr/bin/nice -n 5 $X", file),
            ("/usr/bin/timeout 5 -- $X", file),
            ("/bin/sh -c '$OPT'", "/opt/x"),
        ] {
            let found = found(&format!("EnvironmentFile=-{file}\nExecStart={command}"));
            assert_eq!(found, of_the_node(expected), "{command}");
        }
    }

    #[test]
    fn program_in_a_variable_that_nobody_sets_is_not_known() {
        for command in ["$GONE", "/bin/sh -c 'exec ${GONE} --y'"] {
            let text = format!("EnvironmentFile=-/etc/default/gone\nExecStart={command}");
            assert_eq!(found(&text), Some(Launched::Unknown), "{command}");
        }
    }

    #[test]
    fn variable_that_is_no_program_of_the_node_names_none() {
        for command in [
            "/usr/bin/x $FLAGS $GONE",
            "/bin/sh -c 'exec /usr/bin/x $FLAGS $GONE'",
            "/bin/sh -c 'exec $SAME --y'",
            "/bin/sh -c 'P=/usr/bin/x; exec $P'",
            "/bin/sh -c 'exec ${GONE:-/usr/bin/x}'",
            "/bin/sh -c 'exec /usr/bin/x \"$@\" $1'",
        ] {
            let files = ["x", "same"].map(|name| format!("EnvironmentFile=/etc/default/{name}"));
            let text = format!("{}\nExecStart={command}", files.join("\n"));
            assert_eq!(found(&text), None, "{command}");
        }
    }
}
