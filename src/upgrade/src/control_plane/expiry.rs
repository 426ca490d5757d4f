//! The certificates of a control plane, and which of them ends first.

use serde::{Deserialize, Serialize};

use super::text::Name;

/// A certificate that ends within this many seconds counts as due: a week, since an upgrade may
/// wait for its hours.
pub const SOON: u64 = 7 * 24 * 3600;

/// A certificate of this node, in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Its file, below /etc/kubernetes.
    pub name: Name,
    /// The begin of its validity.
    pub from: u64,
    /// The end of its validity.
    pub until: u64,
}

/// How long the certificates of a node are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expiry<'a> {
    /// No certificate was found.
    Unknown,
    /// This one is not valid yet: most likely the clock is wrong.
    Early(&'a Certificate),
    /// These have ended.
    Over(Vec<&'a Certificate>),
    /// This one ends first, within [`SOON`].
    Soon(&'a Certificate),
    /// This one ends first.
    Later(&'a Certificate),
}

/// Judges the certificates at this moment.
#[must_use]
pub fn expiry(certificates: &[Certificate], now: u64) -> Expiry<'_> {
    let Some(first) = certificates.iter().min_by_key(|one| one.until) else {
        return Expiry::Unknown;
    };
    if let Some(early) = certificates.iter().find(|one| now < one.from) {
        return Expiry::Early(early);
    }
    let over: Vec<_> = certificates.iter().filter(|one| one.until <= now).collect();
    if !over.is_empty() {
        return Expiry::Over(over);
    }
    match first.until - now {
        left if left <= SOON => Expiry::Soon(first),
        _ => Expiry::Later(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn certificate(name: &str, until: u64) -> Certificate {
        let from = NOW - 100;
        Certificate {
            name: name.into(),
            from,
            until,
        }
    }

    #[test]
    fn the_first_to_end_decides() {
        let year = certificate("pki/apiserver.crt", NOW + 365 * 24 * 3600);
        for (until, is_soon) in [(NOW + SOON + 1, false), (NOW + SOON, true), (NOW + 1, true)] {
            let all = [year.clone(), certificate("admin.conf", until)];
            let found = expiry(&all, NOW);
            let expected = match is_soon {
                true => Expiry::Soon(&all[1]),
                false => Expiry::Later(&all[1]),
            };
            assert_eq!(found, expected, "{until}");
        }
    }

    #[test]
    fn all_that_have_ended_are_named() {
        let all = [
            certificate("admin.conf", NOW),
            certificate("pki/apiserver.crt", NOW + 1),
            certificate("pki/etcd/server.crt", NOW - 9),
        ];
        assert_eq!(expiry(&all, NOW), Expiry::Over(vec![&all[0], &all[2]]));
    }

    #[test]
    fn a_certificate_of_the_future_shows_a_wrong_clock() {
        let all = [certificate("admin.conf", NOW + 9)];
        assert_eq!(expiry(&all, NOW - 101), Expiry::Early(&all[0]));
        assert_eq!(expiry(&[], NOW), Expiry::Unknown);
    }
}
