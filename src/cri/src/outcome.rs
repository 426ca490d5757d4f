//! What a probe finds out, also across the border of its process.

use super::grpc::Error;

/// What a runtime can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A sandbox starts, and has an address if one was asked for.
    Starts,
    /// A sandbox starts in the node's own network, but not in one of its own.
    WithoutNetwork(String),
    /// No sandbox starts.
    No(String),
    /// The runtime could not be asked.
    Unknown(String),
}

impl Outcome {
    /// The exit code of the process, and what it writes to standard error. 2 is left to a wrong
    /// command line.
    #[must_use]
    pub fn told(&self) -> (u8, &str) {
        match self {
            Self::Starts => (0, ""),
            Self::No(why) => (1, why),
            Self::WithoutNetwork(why) => (3, why),
            Self::Unknown(why) => (4, why),
        }
    }

    /// The outcome of a process that ended with this code, or `None` for another code.
    #[must_use]
    pub fn from_code(code: i32, why: String) -> Option<Self> {
        match code {
            0 => Some(Self::Starts),
            1 => Some(Self::No(why)),
            3 => Some(Self::WithoutNetwork(why)),
            4 => Some(Self::Unknown(why)),
            _ => None,
        }
    }
}

/// The outcome of a sandbox in the node's own network, after one with a network of its own.
pub(super) fn judge(plain: Result<(), Error>, network: Result<(), Error>) -> Outcome {
    match (plain, network) {
        (Ok(()), Ok(())) => Outcome::Starts,
        (Ok(()), Err(error)) if error.is_refusal() => Outcome::WithoutNetwork(error.to_string()),
        (Err(error), _) if error.is_refusal() => Outcome::No(error.to_string()),
        (Err(error), _) | (Ok(()), Err(error)) => Outcome::Unknown(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::unready_with;
    use super::*;

    #[test]
    fn outcome_survives_the_process_boundary() {
        let why = || "no".to_owned();
        let all = [
            Outcome::Starts,
            Outcome::WithoutNetwork(why()),
            Outcome::No(why()),
            Outcome::Unknown(why()),
        ];
        for outcome in all {
            let (code, why) = outcome.told();
            let read = Outcome::from_code(code.into(), why.to_owned());
            assert_eq!(read, Some(outcome));
        }
        assert_eq!(Outcome::from_code(2, why()), None, "a wrong command line");
    }

    #[test]
    fn only_a_refusal_of_the_runtime_counts_against_it() {
        let refused = || unready_with("no such image".to_owned());
        let broken = || Error::Unreadable("cut short".to_owned());
        let no = Outcome::No("no such image".to_owned());
        assert_eq!(judge(Err(refused()), Err(broken())), no);
        let without = Outcome::WithoutNetwork("no such image".to_owned());
        assert_eq!(judge(Ok(()), Err(refused())), without);
        for unknown in [
            judge(Err(broken()), Err(refused())),
            judge(Ok(()), Err(broken())),
        ] {
            assert!(matches!(unknown, Outcome::Unknown(_)), "{unknown:?}");
        }
    }
}
