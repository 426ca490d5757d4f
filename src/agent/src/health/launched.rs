//! Programs of this node that a unit starts through one of the image: `ExecStart=/bin/sh -c /opt/x`
//! or `/usr/bin/env x`. This looks for them in the text of the unit's files, and takes any path of
//! the node for a program. It only takes blame from an image.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::ownership::{below, is_the_images_program};

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

/// What may precede the program in a line (systemd.service(5), "Command lines").
const PREFIXES: [char; 6] = ['-', '@', ':', '+', '!', '|'];

/// What ends a word of a shell, or of a list of paths.
const ENDS: &str = "\"'`;|&()<>={},:$\\";

/// Whether a program starts another one that its arguments name.
pub fn is_a_launcher(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    LAUNCHERS.contains(&name)
}

/// The first program of this node that a command in these files of a unit names.
pub fn by_the_node<'a>(root: &Path, files: impl Iterator<Item = &'a Path>) -> Option<PathBuf> {
    let mut commands = Vec::new();
    for file in files {
        let text = fs::read(below(root, file)).unwrap_or_default();
        read(&String::from_utf8_lossy(&text), &mut commands);
    }
    commands.iter().find_map(|command| named(root, command))
}

/// Adds the commands in this text. An empty one removes those before it.
fn read(text: &str, commands: &mut Vec<String>) {
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        let Some((name, command)) = line.split_once('=') else {
            continue;
        };
        match (name.trim(), command.trim()) {
            ("ExecStart", "") => commands.clear(),
            ("ExecStart", command) => commands.push(command.to_owned()),
            _ => {}
        }
    }
}

fn named(root: &Path, command: &str) -> Option<PathBuf> {
    let (program, arguments) = command.split_once(char::is_whitespace)?;
    let launches = is_a_launcher(Path::new(program.trim_start_matches(PREFIXES)));
    let ends = |letter: char| letter.is_whitespace() || ENDS.contains(letter);
    let mut words = arguments.split(ends).map(Path::new);
    let word = words.find(|word| match (word.is_absolute(), launches) {
        (true, true) => is_the_nodes(root, word),
        (true, false) => is_the_nodes(root, word) && is_executable(&below(root, word)),
        (false, true) => is_a_name(word) && !is_the_images_program(root, word),
        (false, false) => false,
    })?;
    Some(word.to_owned())
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

    /// The program of the node in a unit with this text.
    fn found(text: &str) -> Option<PathBuf> {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        write(root, UNIT, &format!("[Service]\n{text}\n"), 0o644);
        write(root, "/usr/local/bin/agent", "", 0o755);
        write(root, "/var/lib/vendor/x", "", 0o755);
        write(root, "/var/lib/vendor/data", "", 0o644);
        write(root, "/etc/same", "a", 0o755);
        write(root, "/usr/etc/same", "a", 0o755);
        by_the_node(root, [Path::new(UNIT)].into_iter())
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
            assert_eq!(found.as_deref(), Some(Path::new(program)), "{command}");
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
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
