//! fs-verity: with it, the guard asks the kernel for a digest instead of reading a whole file.

use std::fs::File;

use host::verity::{Support, support};

use super::finding::Finding;
use super::patient::Patient;

/// A file that careen-deploy would seal in the next system.
const EXAMPLE: &str = "usr/bin/kubelet";

/// Whether the file system of the deployments can protect files with fs-verity.
pub(super) fn verity(patient: &Patient) -> Finding {
    let path = patient.places.root.join(EXAMPLE);
    judge(File::open(path).ok().map(|file| support(&file)))
}

fn judge(support: Option<Support>) -> Finding {
    const NAME: &str = "fs-verity";
    let fix = "run tune2fs -O verity on the device of the root, if it is ext4; without it everything works, but the guard reads the files that it checks";
    match support {
        Some(Support::Sealed) => Finding::ok(NAME, "in use"),
        Some(Support::Able) => Finding::ok(NAME, "the next system can be sealed"),
        Some(Support::Unable) => Finding::warn(
            NAME,
            "the root file system or the kernel does not support it",
            fix,
        ),
        None => Finding::warn(
            NAME,
            format!("/{EXAMPLE} does not exist, so the doctor cannot test it"),
            "put the kubelet into the image",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Ok, Warn};
    use super::*;

    #[test]
    fn a_file_system_that_cannot_seal_is_worth_a_look() {
        let all = [
            Some(Support::Sealed),
            Some(Support::Able),
            Some(Support::Unable),
            None,
        ];
        assert_eq!(
            all.map(|support| judge(support).verdict),
            [Ok, Ok, Warn, Warn]
        );
    }
}
