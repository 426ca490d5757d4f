//! Which files of settings the kubelet's flags name. A flag is in the unit, a drop-in or an
//! environment file, and this looks for it in their text: `$KUBELET_EXTRA_ARGS` may have it
//! anywhere.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of drop-ins (kubernetes, cmd/kubelet/app/options, `--config-dir`), and the file.
const FLAGS: [&str; 2] = ["--config-dir", "--config"];

/// The only files of the folder that the kubelet reads (kubernetes, cmd/kubelet/app/server.go,
/// `mergeKubeletConfigurations`).
const DROP_IN: &str = "conf";

/// The most files of a folder that are looked at.
const MOST: usize = 256;

/// The files that flags in these files name, with those below a folder. Paths are of the system at
/// this root.
#[must_use]
pub fn named(root: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let texts = files.iter().filter_map(|file| {
        let text = fs::read(below(root, file)).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    });
    let mut found = Vec::new();
    for text in texts {
        for path in FLAGS.iter().flat_map(|flag| values(&text, flag)) {
            if below(root, &path).is_dir() {
                drop_ins(root, &path, &mut found);
            } else {
                found.push(path);
            }
        }
    }
    found
}

/// The absolute paths that follow a flag in this text.
fn values(text: &str, flag: &str) -> Vec<PathBuf> {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let rests = lines.flat_map(|line| line.split(flag).skip(1));
    let values = rests.filter_map(|rest| rest.strip_prefix(['=', ' ']));
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'');
    let values = values.map(|value| {
        let value = value.trim_start_matches(['"', '\'', ' ']);
        value.split(ends).next().unwrap_or_default()
    });
    let paths = values.map(PathBuf::from);
    paths.filter(|path| path.is_absolute()).collect()
}

fn drop_ins(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(below(root, folder)).into_iter().flatten();
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for path in names.into_iter().map(|name| folder.join(name)) {
        if found.len() >= MOST {
            return;
        }
        let here = below(root, &path);
        if here.is_dir() && !here.is_symlink() {
            drop_ins(root, &path, found);
        } else if path.extension().is_some_and(|end| end == DROP_IN) {
            found.push(path);
        }
    }
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_the_flags_of_the_kubelet_name_are_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("etc/kubelet.d/10-site.conf", "maxPods: 42");
        write("etc/kubelet.d/deep/20.conf", "");
        write("etc/kubelet.d/README", "");
        write("etc/site.yaml", "");
        for (text, expected) in [
            (
                "ExecStart=/usr/bin/kubelet --config-dir=/etc/kubelet.d $X",
                2,
            ),
            ("Environment=\"A=--v=2 --config-dir /etc/kubelet.d\"", 2),
            ("KUBELET_EXTRA_ARGS='--config=/etc/site.yaml'", 1),
            ("KUBELET_EXTRA_ARGS=--config-dirs=/etc/kubelet.d", 0),
            ("# KUBELET_EXTRA_ARGS=--config-dir=/etc/kubelet.d", 0),
            ("KUBELET_EXTRA_ARGS=--config-dir=relative", 0),
        ] {
            write("etc/default/kubelet", text);
            let found = named(root.path(), &["/etc/default/kubelet".into()]);
            assert_eq!(found.len(), expected, "{text}: {found:?}");
            assert!(found.iter().all(|path| path.starts_with("/etc")));
        }
    }
}
