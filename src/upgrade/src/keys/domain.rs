//! The domain of a key.

/// The domains that matter to Careen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// `careen.dev`, or below it.
    Ours,
    /// A domain that resembles ours, or a name without a domain that begins with ours.
    Nearly,
    /// Cluster API's domain, which has the keys of a request and its answer.
    ClusterApi,
    /// Any other domain, or none. There only a request in all but its domain matters.
    Foreign,
}

const OURS: &str = "careen.dev";
const WORD: &str = "careen";

/// An English word that differs from ours in one letter.
const ANOTHER_WORD: &str = "career";

/// The domain of a key, and the rest of the key.
pub(super) fn of(key: &str) -> (Domain, String) {
    match key.split_once('/') {
        Some((domain, name)) => (class(&domain.to_ascii_lowercase()), name.to_owned()),
        None => bare(key).unwrap_or_else(|| (Domain::Foreign, key.to_owned())),
    }
}

fn class(domain: &str) -> Domain {
    let is_below = |ours: &str| {
        let rest = domain.strip_suffix(ours);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if is_below(OURS) {
        return Domain::Ours;
    }
    if is_below("cluster.x-k8s.io") || domain.contains("cluster") && domain.ends_with("k8s.io") {
        return Domain::ClusterApi;
    }
    let near = |part: &str| part != ANOTHER_WORD && strsim::osa_distance(part, WORD) <= 1;
    let nearly = strsim::osa_distance(domain, OURS) <= 2 || domain.split('.').any(near);
    if nearly {
        Domain::Nearly
    } else {
        Domain::Foreign
    }
}

/// `careen-paused`, `careen.dev.paused`, `careenPaused`, `pause-careen`, `careen`: the name
/// contains ours.
fn bare(key: &str) -> Option<(Domain, String)> {
    let lower = key.to_ascii_lowercase();
    if lower == WORD || lower == OURS {
        return Some((Domain::Nearly, WORD.to_owned()));
    }
    let between = ['.', '-', '_'];
    if let Some(rest) = lower.strip_prefix(WORD) {
        let rest = rest.strip_prefix(".dev").unwrap_or(rest);
        let is_apart = rest.starts_with(between);
        let is_a_word = key.chars().nth(WORD.len()).is_some_and(char::is_uppercase);
        let name = rest.trim_start_matches(between).to_owned();
        return (is_apart || is_a_word).then_some((Domain::Nearly, name));
    }
    let name = lower.strip_suffix(WORD)?.strip_suffix(between)?;
    Some((Domain::Nearly, name.to_owned()))
}
