//! What a container gets at most.

use std::path::Path;

use systemd::Bus;
use upgrade::names;
use upgrade::serving::{AMOUNTS, LIMIT, Limits, SYSCTL};

use super::settings::sysctl;

/// The limits of the runtime's unit, and the sysctls. `None` if systemd does not answer.
pub async fn limits() -> Option<Limits> {
    let bus = Bus::system().await.ok()?;
    let unit = bus.limits(names::RUNTIME_UNIT).await.ok()?;
    let unit = unit.into_iter();
    let unit = unit.map(|(name, limit)| (format!("{LIMIT}{name}"), limit));
    Some(unit.chain(amounts(Path::new("/"))).collect())
}

/// The sysctls of the system at this root that are numbers.
fn amounts(root: &Path) -> impl Iterator<Item = (String, u64)> {
    AMOUNTS.into_iter().filter_map(move |name| {
        let number = sysctl(root, name)?.parse().ok()?;
        Some((format!("{SYSCTL}{name}"), number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sysctls_that_are_numbers_are_noted() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("vm/max_map_count", "262144\n"),
            ("kernel/pid_max", "many\n"),
            ("fs/aio-max-nr", "65536\n"),
        ] {
            let path = root.path().join("proc/sys").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let noted = Limits::from_iter(amounts(root.path()));
        let all = [
            ("sysctl/fs.aio-max-nr".to_owned(), 65_536),
            ("sysctl/vm.max_map_count".to_owned(), 262_144),
        ];
        assert_eq!(noted, all.into());
    }
}
