//! What an upgrade does to etcd, and whether that can be undone.

use serde::{Deserialize, Serialize};

use super::etcd::{EtcdTag, EtcdVersion};

/// The step that etcd takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// It stays: the same image, or kubeadm has an older one and leaves it alone.
    Nothing,
    /// Another image on the same data.
    Patch,
    /// The next minor, which raises the data.
    Minor,
    /// More than one minor, which etcd does not support.
    TooLarge,
}

/// A member whose version is too old for the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOld {
    /// Its version.
    pub found: EtcdVersion,
    /// The oldest version from which the step is safe.
    pub floor: EtcdVersion,
}

/// The oldest patches from which the next minor is safe, for each member: before them, members that
/// were removed come back (3.5), and a rolling upgrade is not supported (3.6; etcd.io,
/// upgrade_3_7).
const FLOORS: [(EtcdVersion, EtcdVersion); 2] = [
    (EtcdVersion::new(3, 6, 0), EtcdVersion::new(3, 5, 26)),
    (EtcdVersion::new(3, 7, 0), EtcdVersion::new(3, 6, 11)),
];

/// The step from what runs to what kubeadm would write. `members` are the versions of all members
/// that answered.
///
/// # Errors
/// A member is too old for it.
pub fn etcd_step(
    live: &EtcdTag,
    wanted: &EtcdTag,
    members: &[EtcdVersion],
) -> Result<Step, TooOld> {
    let (from, to) = (live.version(), wanted.version());
    if live == wanted || to < from {
        return Ok(Step::Nothing);
    }
    if from.line() == to.line() {
        return Ok(Step::Patch);
    }
    if from.major != to.major || to.minor - from.minor > 1 {
        return Ok(Step::TooLarge);
    }
    let oldest = members.iter().copied().chain([from]).min().unwrap_or(from);
    let floor = FLOORS.iter().find(|(line, _)| line.line() == to.line());
    match floor {
        Some((_, floor)) if oldest < *floor => Err(TooOld {
            found: oldest,
            floor: *floor,
        }),
        Some(_) | None => Ok(Step::Minor),
    }
}

/// Whether the step can be undone, in one sentence.
#[must_use]
pub const fn undo(step: Step, voters: usize) -> &'static str {
    match (step, voters) {
        (Step::Nothing, _) => "etcd stays as it is.",
        (Step::Patch, _) => "Both versions read the same data.",
        (Step::Minor, 0 | 1) => {
            "This cannot be undone: seconds after its start no older etcd reads the data."
        }
        (Step::Minor, _) => {
            "This cannot be undone once the last member has it: then no older etcd reads the data."
        }
        (Step::TooLarge, _) => "etcd takes one minor at a time.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(live: &str, wanted: &str, members: &[&str]) -> Result<Step, TooOld> {
        let members: Vec<_> = members.iter().map(|text| text.parse().unwrap()).collect();
        etcd_step(&live.parse().unwrap(), &wanted.parse().unwrap(), &members)
    }

    #[test]
    fn the_table_of_the_steps() {
        for (live, wanted, expected) in [
            ("3.6.8-0", "3.6.8-0", Step::Nothing),
            ("3.6.8-0", "3.6.6-0", Step::Nothing),
            ("3.7.0-0", "3.6.8-0", Step::Nothing),
            ("3.6.8-0", "3.6.8-1", Step::Patch),
            ("3.6.6-0", "3.6.8-0", Step::Patch),
            ("3.5.26-0", "3.6.6-0", Step::Minor),
            ("3.6.11-0", "3.7.0-0", Step::Minor),
            ("3.7.0-0", "3.8.0-0", Step::Minor),
            ("3.5.26-0", "3.7.0-0", Step::TooLarge),
            ("3.6.11-0", "4.0.0-0", Step::TooLarge),
        ] {
            assert_eq!(step(live, wanted, &[]), Ok(expected), "{live} {wanted}");
        }
    }

    #[test]
    fn a_minor_step_from_an_old_patch_is_refused() {
        for (live, wanted, floor) in [
            ("3.5.25-0", "3.6.6-0", EtcdVersion::new(3, 5, 26)),
            ("3.6.10-0", "3.7.0-0", EtcdVersion::new(3, 6, 11)),
        ] {
            let old = step(live, wanted, &[]).unwrap_err();
            assert_eq!(old.floor, floor);
            assert_eq!(live, format!("{}-0", old.found));
        }
        assert_eq!(
            step("3.6.6-0", "3.6.8-0", &["3.6.6"]),
            Ok(Step::Patch),
            "no floor for a patch"
        );
    }

    #[test]
    fn one_old_member_refuses_the_minor_step_for_all() {
        let old = step("3.6.14-0", "3.7.0-0", &["3.6.14", "3.6.8"]).unwrap_err();
        assert_eq!(old.found, EtcdVersion::new(3, 6, 8));
        let later = step("3.6.14-0", "3.7.0-0", &["3.7.0", "3.6.14"]);
        assert_eq!(
            later,
            Ok(Step::Minor),
            "another member may be there already"
        );
    }

    #[test]
    fn only_a_minor_step_is_said_to_be_final() {
        for voters in [1, 3] {
            for step in [Step::Nothing, Step::Patch, Step::Minor, Step::TooLarge] {
                let text = undo(step, voters);
                assert_eq!(
                    text.contains("cannot be undone"),
                    step == Step::Minor,
                    "{text}"
                );
            }
        }
        assert_ne!(undo(Step::Minor, 1), undo(Step::Minor, 3));
    }
}
