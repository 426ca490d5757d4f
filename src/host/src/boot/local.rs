//! What a person has changed in the running deployment itself. It is in no image, so a deployment
//! of another image does not have it.

use std::fs;
use std::path::Path;

use upgrade::Deployment;

use crate::Places;

/// Keys of the origin by which rpm-ostree changes a deployment (rpm-ostree,
/// rust/src/origin.rs), and what they change. An empty key stands for every key of the group.
const CHANGES: [(&str, &str, &str); 6] = [
    ("packages", "", "layered packages"),
    ("overrides", "", "overridden packages"),
    ("modules", "", "layered modules"),
    ("rpmostree", "regenerate-initramfs", "a local initramfs"),
    ("rpmostree", "initramfs-args", "dracut arguments"),
    (
        "rpmostree",
        "initramfs-etc",
        "files of /etc in the initramfs",
    ),
];

/// Where libostree notes a /usr that is writable until the next boot (ostree-sysroot-private.h,
/// `_OSTREE_SYSROOT_DEPLOYMENT_RUNSTATE_DIR`).
const UNLOCKED: &str = "run/ostree/deployment-state";

/// Each change of the running deployment, for a person. Empty if there is none.
#[must_use]
pub fn changes(places: &Places, booted: &Deployment) -> Vec<String> {
    let mut name = places.deployment(booted).into_os_string();
    name.push(".origin");
    let bytes = fs::read(Path::new(&name)).unwrap_or_default();
    let mut changes = of_origin(&String::from_utf8_lossy(&bytes));
    changes.extend(unlocked(&places.root, booted));
    changes
}

fn of_origin(text: &str) -> Vec<String> {
    let (mut group, mut changes) = ("", Vec::new());
    for line in text.lines().map(str::trim) {
        let name = line.strip_prefix('[');
        group = name
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(group);
        let (key, value) = line.split_once('=').unwrap_or_default();
        let (key, value) = (key.trim(), value.trim().trim_end_matches(';'));
        if !key.starts_with('#') && !matches!(value, "" | "false") {
            changes.extend(change(group, key, value));
        }
    }
    changes
}

fn change(group: &str, key: &str, value: &str) -> Option<String> {
    if (group, key) == ("origin", "unlocked") {
        return Some(format!("/usr is unlocked ({value})"));
    }
    let is =
        |(of, name, _): &&(&str, &str, &str)| *of == group && (name.is_empty() || *name == key);
    let (_, name, told) = CHANGES.iter().find(is)?;
    let values: Vec<_> = value.split(';').map(package).collect();
    Some(match (*name, value) {
        (_, "true") => (*told).to_owned(),
        ("", _) => format!("{told} ({key}): {}", upgrade::reason::few(&values)),
        _ => format!("{told}: {}", upgrade::reason::few(&values)),
    })
}

/// rpm-ostree puts the digest of a local package before its name.
fn package(value: &str) -> &str {
    match value.split_once(':') {
        Some((digest, name)) if digest.len() >= 40 => name,
        _ => value,
    }
}

fn unlocked(root: &Path, booted: &Deployment) -> Option<String> {
    let folder = root.join(UNLOCKED);
    let folder = folder.join(format!("{}.{}", booted.digest, booted.serial));
    let kinds = ["development", "transient"];
    let found = kinds
        .iter()
        .find(|kind| folder.join(format!("unlocked-{kind}")).exists());
    found.map(|kind| format!("/usr is unlocked ({kind})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_overrides_and_initramfs_are_local_changes() {
        let digest = "a".repeat(64);
        let text = format!(
            "[origin]\nbaserefspec=fedora:x\n[packages]\nrequested=htop;vim;\n\
             requested-local={digest}:foo-1-1.x86_64;\n[overrides]\nremove=nano;\nreplace=\n\
             [rpmostree]\nregenerate-initramfs=true\ninitramfs-args=-I;/etc/x;\n"
        );
        let told = [
            "layered packages (requested): htop, vim",
            "layered packages (requested-local): foo-1-1.x86_64",
            "overridden packages (remove): nano",
            "a local initramfs",
            "dracut arguments: -I, /etc/x",
        ];
        assert_eq!(of_origin(&text), told);
    }

    #[test]
    fn plain_origin_has_no_local_changes() {
        let text = "[origin]\nrefspec=abc\n[careen]\npinned=true\n[libostree-transient]\n\
                    pinned=true\n[rpmostree]\nregenerate-initramfs=false\n#[packages]\n";
        assert_eq!(of_origin(text), Vec::<String>::new());
    }

    #[test]
    fn unlocked_deployment_is_a_local_change() {
        let root = tempfile::tempdir().unwrap();
        let booted = Deployment {
            digest: "a".repeat(64).parse().unwrap(),
            serial: 1,
            stateroot: "os".to_owned(),
            bootcsum: String::new(),
            pinned: false,
            kept: false,
        };
        let places = Places::running(root.path());
        assert!(changes(&places, &booted).is_empty());
        let state = root
            .path()
            .join(UNLOCKED)
            .join(format!("{}.1", booted.digest));
        fs::create_dir_all(&state).unwrap();
        fs::write(state.join("unlocked-development"), "").unwrap();
        assert_eq!(
            changes(&places, &booted),
            ["/usr is unlocked (development)"]
        );
        let hotfix = of_origin("[origin]\nrefspec=x\nunlocked=hotfix\n");
        assert_eq!(hotfix, ["/usr is unlocked (hotfix)"]);
    }
}
