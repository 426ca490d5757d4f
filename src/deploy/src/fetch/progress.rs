//! libostree's counters of a pull as one percentage and one sentence, and whether there is room to
//! continue.

use std::process;
use std::rc::Rc;

use ostree_ext::ostree::AsyncProgress;
use upgrade::Reason;
use upgrade::deploy::Line;

use super::room::Room;
use crate::report::{self, Report};

/// The limit of the progress, out of 99 percent, while trees are still being read. Until then the
/// total is unknown.
const WHILE_LOOKING: u8 = 10;

/// Reports the pull's progress, as long as there is room.
pub fn forward(progress: &AsyncProgress, report: &Rc<Report>, room: Room) {
    let report = Rc::clone(report);
    progress.connect_changed(move |progress| {
        if let Some(shortage) = room.shortage() {
            leave(shortage);
        }
        let counters = Counters {
            deltas: (
                progress.uint("fetched-delta-parts"),
                progress.uint("total-delta-parts"),
            ),
            objects: (progress.uint("fetched"), progress.uint("requested")),
            bytes: progress.uint64("bytes-transferred"),
            looking: progress.uint("outstanding-metadata-fetches") + progress.uint("scanning") > 0,
            writing: progress.uint("outstanding-writes") > 0,
        };
        report.progress(counters.percent(), counters.sentence());
    });
}

/// Ends the run. A pull in the middle of a file does not check for cancellation
/// (ostree-fetcher-curl.c, `write_cb`). A repository can be left at any moment: the end of the
/// process removes incomplete files.
fn leave(reason: Reason) -> ! {
    eprintln!("careen-deploy: {reason}");
    report::verdict(&Line::Failed(reason));
    process::exit(1);
}

/// libostree's counters: done and requested.
struct Counters {
    deltas: (u32, u32),
    objects: (u32, u32),
    bytes: u64,
    /// Whether more objects may be found.
    looking: bool,
    /// Whether something has arrived and is not written yet. A tree is not read before it is
    /// written.
    writing: bool,
}

impl Counters {
    /// The units of the pull: the parts of a static delta, or objects.
    const fn pieces(&self) -> (&'static str, u32, u32) {
        match self.deltas {
            (_, 0) => ("objects", self.objects.0, self.objects.1),
            (done, all) => ("delta parts", done, all),
        }
    }

    /// Never 100, because the verdict reports the end. It may fall when more objects are found; the
    /// report does not go back.
    fn percent(&self) -> u8 {
        let (_, done, all) = self.pieces();
        let percent = u64::from(done) * 99 / u64::from(all.max(1));
        let percent = percent.try_into().unwrap_or(99);
        let looking = self.looking || (self.writing && done == all);
        if looking && self.deltas.1 == 0 {
            WHILE_LOOKING.min(percent)
        } else {
            percent
        }
    }

    fn sentence(&self) -> String {
        let (pieces, done, all) = self.pieces();
        let mega = self.bytes as f64 / 1e6;
        format!("fetching {pieces} {done} of {all}, {mega:.1} MB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Counters = Counters {
        deltas: (0, 0),
        objects: (0, 0),
        bytes: 0,
        looking: false,
        writing: false,
    };

    #[test]
    fn a_pull_by_objects_counts_objects() {
        let counters = Counters {
            objects: (50, 200),
            bytes: 1_500_000,
            ..NOTHING
        };
        assert_eq!(counters.percent(), 24);
        assert_eq!(counters.sentence(), "fetching objects 50 of 200, 1.5 MB");
    }

    #[test]
    fn a_pull_by_delta_counts_its_parts() {
        let counters = Counters {
            deltas: (1, 2),
            objects: (3, 3),
            ..NOTHING
        };
        assert_eq!(counters.sentence(), "fetching delta parts 1 of 2, 0.0 MB");
    }

    #[test]
    fn nothing_asked_for_yet_is_nothing_done() {
        assert_eq!(NOTHING.percent(), 0);
    }

    #[test]
    fn percentage_stays_low_until_fetched_trees_are_read() {
        let counters = Counters {
            objects: (3, 3),
            writing: true,
            ..NOTHING
        };
        assert_eq!(counters.percent(), WHILE_LOOKING);
        let counters = Counters {
            objects: (50, 200),
            ..counters
        };
        assert_eq!(counters.percent(), 24, "where more is to come it counts");
    }

    #[test]
    fn the_commit_alone_is_not_nearly_everything() {
        let counters = Counters {
            objects: (1, 1),
            looking: true,
            ..NOTHING
        };
        assert_eq!(counters.percent(), WHILE_LOOKING);
    }
}
