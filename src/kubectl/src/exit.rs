//! How the program ends, for scripts. `docs/kubectl-careen.md` is rendered from here.

/// How it ended. Where nodes end differently, the highest code is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Done, or there was nothing to do; a plan says that it would be taken, at once or when it may begin.
    Done,
    /// An upgrade that was watched has ended `Failed`, or its request was taken from it; or a plan says that it would be refused.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The API server is not reached, or does not know us.
    Unreachable,
    /// It knows us and forbids it.
    Forbidden,
    /// There is no such node.
    Missing,
    /// The state of a node does not allow it.
    Refused,
    /// It did not come about in time.
    Timeout,
    /// It was asked back and the answer was not yes.
    Declined,
    /// What there was to print could not be written.
    Unwritten,
    /// A signal ended it.
    Interrupted,
}

impl Exit {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 11] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Unreachable,
        Self::Forbidden,
        Self::Missing,
        Self::Refused,
        Self::Timeout,
        Self::Declined,
        Self::Unwritten,
        Self::Interrupted,
    ];

    /// The code. These are an interface: a number once given keeps its meaning.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            // As clap ends, and getopt's programs do.
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Forbidden => 4,
            Self::Missing => 5,
            Self::Refused => 6,
            Self::Timeout => 7,
            Self::Declined => 8,
            Self::Unwritten => 9,
            // As shells tell of SIGINT.
            Self::Interrupted => 130,
        }
    }

    /// What it means, for a person.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => {
                "done, or there was nothing to do; `plan` knows no reason to refuse it, also where it would wait"
            }
            Self::Failed => {
                "an upgrade that was watched has ended `Failed`, or its request was taken back or replaced before it was served; or `plan` says that it would be refused"
            }
            Self::Usage => "the command line is wrong",
            Self::Unreachable => {
                "the API server is not reached, is too busy, or does not accept the credential"
            }
            Self::Forbidden => "the API server forbids it to this user (see Rights)",
            Self::Missing => {
                "no such node, or a selector that selects none; or a node that was watched is gone"
            }
            Self::Refused => {
                "the state of a node does not allow it: another upgrade is under way, it is too late to cancel, nothing failed that could be retried, no upgrade went well that a rollback would undo, the image has failed on it and `--again` is not said"
            }
            Self::Timeout => {
                "`--timeout` passed before it came about: an upgrade goes on all the same, a `plan` was not answered"
            }
            Self::Declined => {
                "asked back, and the answer was not yes; or nobody could be asked and `--yes` was not given"
            }
            Self::Unwritten => "what there is to print cannot be written: a full disk, as a rule",
            Self::Interrupted => {
                "interrupted by SIGINT, and where an upgrade is watched or a `plan` waited for by SIGTERM too, a `plan` also by SIGHUP (what else these end, a shell tells as 143 or 129): what was asked for and watched stands and goes on; the question of a `plan` is taken off the Node"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_none_is_given_twice() {
        let codes = Exit::ALL.map(Exit::code);
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]), "{codes:?}");
    }
}
