//! The domain of a key.

/// The domains that matter to Careen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// `careen.dev`, or below it.
    Ours,
    /// A domain that resembles ours, or a name that begins or ends with ours.
    Nearly,
    /// Cluster API's domain, which has the keys of a request and its answer.
    ClusterApi,
    /// Any other domain, or none, and a name without ours. There only a request in all but its
    /// domain matters.
    Foreign,
}

const OURS: &str = "careen.dev";
const WORD: &str = "careen";

/// Other words that differ from ours in one letter.
const OTHER_WORDS: [&str; 2] = ["career", "carmen"];

/// The domain of a key, and the rest of the key.
pub(super) fn of(key: &str) -> (Domain, String) {
    match key.split_once('/') {
        Some((domain, name)) => match class(&domain.to_ascii_lowercase()) {
            Domain::Foreign => bare(name),
            ours @ (Domain::Ours | Domain::Nearly | Domain::ClusterApi) => (ours, name.to_owned()),
        },
        None => bare(key),
    }
}

/// The domain itself, in which a word may also be: `paused.careen.dev/backup`.
pub(super) fn text(key: &str) -> &str {
    key.split_once('/').map_or("", |(domain, _)| domain)
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
    let nearly = strsim::osa_distance(domain, OURS) <= 2 || domain.split('.').any(is_near);
    if nearly {
        Domain::Nearly
    } else {
        Domain::Foreign
    }
}

fn is_near(word: &str) -> bool {
    !OTHER_WORDS.contains(&word) && strsim::osa_distance(word, WORD) <= 1
}

/// `careen-paused`, `careen.dev.paused`, `careenPaused`, `careenpaused`, `caren-paused`,
/// `pause-careen`, `no-careen`, `careen`: the name contains ours.
fn bare(name: &str) -> (Domain, String) {
    let lower = name.to_ascii_lowercase();
    match without_ours(&lower) {
        Some(rest) if rest.is_empty() => (Domain::Nearly, WORD.to_owned()),
        Some(rest) => (Domain::Nearly, rest),
        None => (Domain::Foreign, name.to_owned()),
    }
}

/// What is left of the name without our word at its start. At its end our word stays, as a word of
/// its own: `no-careen` is about Careen.
fn without_ours(lower: &str) -> Option<String> {
    let between = ['.', '-', '_'];
    if let Some(rest) = lower.strip_prefix(WORD) {
        let rest = rest.strip_prefix(".dev").unwrap_or(rest);
        return Some(rest.trim_start_matches(between).to_owned());
    }
    if let Some(rest) = lower.strip_suffix(WORD) {
        return Some(format!("{}-{WORD}", rest.trim_end_matches(between)));
    }
    let (first, rest) = lower.split_once(between)?;
    is_near(first).then(|| rest.to_owned())
}
