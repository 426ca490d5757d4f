//! rpm's list: a database that only rpm reads, so the node's own rpm reads a copy of it.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use host::programs::{self, Program};

use super::installed::{Installed, List};
use crate::verify::image::Tree;

/// The database's file. Older formats are not supported.
const DATABASE: &str = "rpmdb.sqlite";

/// Name, version and size of each package, with a tab between.
const FORMAT: &str = "%{NAME}\t%{EVR}\t%{LONGSIZE}\n";

/// Reads the list in a folder. `None` if there is no list, or no rpm on this node.
pub fn list(tree: &Tree, folder: &str) -> Option<List> {
    let copy = tree.scratch().ok()?;
    let mut file = File::create(copy.path().join(DATABASE)).ok()?;
    let mut written = Ok(());
    tree.read(&format!("{folder}/{DATABASE}"), &mut |piece| {
        if written.is_ok() {
            written = file.write_all(piece);
        }
    })?;
    written.ok()?;
    ask(copy.path())
}

fn ask(database: &Path) -> Option<List> {
    let mut rpm = Program::Rpm.command().ok()?;
    rpm.arg("--dbpath").arg(database);
    rpm.args(["-qa", "--queryformat", FORMAT]);
    let answer = rpm.stdin(Stdio::null()).output().ok()?;
    if !answer.status.success() {
        let program = Path::new(rpm.get_program());
        let ended = programs::ended(program, answer.status, &answer.stderr);
        eprintln!("careen-deploy plan: cannot list packages: {ended}");
        return None;
    }
    let list = parse(&String::from_utf8_lossy(&answer.stdout));
    // A system without packages has no rpm either, so the database was invalid.
    (!list.is_empty()).then_some(list)
}

fn parse(text: &str) -> List {
    let mut list = List::new();
    for line in text.lines() {
        let mut parts = line.split('\t');
        if let (Some(name), Some(version), Some(size)) = (parts.next(), parts.next(), parts.next())
        {
            let known: &mut Installed = list.entry(name.to_owned()).or_default();
            version.clone_into(&mut known.version);
            known.bytes = known.bytes.saturating_add(size.parse().unwrap_or(0));
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rpm_prints_is_read() {
        let list = parse("bash\t5.2.37-1\t8200000\nkernel\t6.12-1\t10\nkernel\t6.13-1\t20\nodd\n");
        assert_eq!(list.len(), 2);
        assert_eq!(list["bash"].bytes, 8_200_000);
        assert_eq!(
            (list["kernel"].version.as_str(), list["kernel"].bytes),
            ("6.13-1", 30)
        );
    }
}
