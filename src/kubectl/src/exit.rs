//! The exit codes, for scripts. `docs/kubectl-careen.md` is generated from them.

/// The result of a command. If nodes end differently, the highest code wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Done, or nothing to do. For a plan: the agent would accept the request, now or when the node
    /// may start.
    Done,
    /// A watched upgrade `Failed` or its request was withdrawn. For a plan: the agent would refuse
    /// the request.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The API server is not reachable, or does not know the user.
    Unreachable,
    /// The API server forbids it.
    Forbidden,
    /// The node does not exist.
    Missing,
    /// The state of a node does not allow it.
    Refused,
    /// The timeout expired.
    Timeout,
    /// A confirmation was requested, and the answer was not yes.
    Declined,
    /// The output could not be written.
    Unwritten,
    /// A signal ended the command.
    Interrupted,
}

impl Exit {
    /// All codes, in ascending order.
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

    /// The code. The codes are an interface: a published number keeps its meaning.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            // The same code as clap and getopt's programs use.
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Forbidden => 4,
            Self::Missing => 5,
            Self::Refused => 6,
            Self::Timeout => 7,
            Self::Declined => 8,
            Self::Unwritten => 9,
            // The code that shells use for SIGINT.
            Self::Interrupted => 130,
        }
    }

    /// The meaning, for a person.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => {
                "done, or there was nothing to do; `plan`: the upgrade would not be refused, though it may wait"
            }
            Self::Failed => {
                "a watched upgrade ended `Failed`, or its request was withdrawn or replaced before the agent took it; `plan`: the upgrade would be refused"
            }
            Self::Usage => "the command line is wrong",
            Self::Unreachable => {
                "the API server cannot be reached, is too busy, or does not accept the credential"
            }
            Self::Forbidden => "the API server forbids it to this user (see Rights)",
            Self::Missing => {
                "no such node, a selector that selects none, or a watched node that is gone"
            }
            Self::Refused => {
                "the state of a node does not allow it: another upgrade is under way, it is too late to cancel, no failed request to retry, no successful upgrade to undo, the image has failed on the node and `--again` is not given, or the lock of the control plane has another holder than was shown or named"
            }
            Self::Timeout => "`--timeout` passed: the upgrade continues; a `plan` got no answer",
            Self::Declined => {
                "the confirmation prompt was not answered with yes, or there was no terminal to ask on and `--yes` was not given"
            }
            Self::Unwritten => "the output cannot be written, for example because the disk is full",
            Self::Interrupted => {
                "interrupted by SIGINT; while an upgrade is watched or a `plan` is awaited also by SIGTERM, a `plan` also by SIGHUP (otherwise a shell reports these signals as 143 or 129). A request that was watched stays and continues; the question of a `plan` is removed from the Node"
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
