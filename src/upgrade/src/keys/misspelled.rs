//! What a key that resembles ours is likely to mean.

use super::domain::{self, Domain};
use super::words::{
    self, DEEDS, NO, OPT_OUT, PAUSE, WEAK_OPT_OUT, WEAK_PAUSE, is_deed, is_no_and_deed,
};
use crate::names::{self, Kind};

/// The likely meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A pause.
    Paused,
    /// An opt-out of all upgrades.
    OptedOut,
    /// Neither; possibly this annotation.
    Unknown { meant: Option<&'static str> },
}

/// The pauses that count although a letter is wrong.
const NEAR_PAUSE: [&str; 2] = ["pause", "paused"];

/// The opt-out that counts although a letter is wrong.
const NEAR_OPT_OUT: [&str; 1] = ["optout"];

/// Keys that switch something on or off by their value.
const SWITCHES: [&str; 18] = [
    "enable",
    "enabled",
    "allow",
    "allowed",
    "active",
    "managed",
    "manage",
    "auto",
    "automatic",
    "mode",
    "state",
    "permit",
    "permitted",
    "eligible",
    "include",
    "included",
    "optin",
    "optedin",
];

/// A negation as a value.
const NO_VALUES: [&str; 5] = ["false", "no", "never", "none", "0"];

/// The same in one letter, alone: `n-1` is none.
const NO_LETTERS: [&str; 2] = ["n", "f"];

/// How many characters of a value are read. A Node has values of any length.
const READ: usize = 64;

/// The likely meaning of an unknown key; `None` if it does not matter to Careen.
pub(super) fn likely_meaning(
    domain: Domain,
    name: &str,
    value: &str,
    key: &str,
) -> Option<Meaning> {
    let (tokens, whole) = (tokens(name), plain(name));
    let asks = asks(domain, &tokens, &whole, value).then_some(names::REQUEST);
    let meant = match domain {
        Domain::Ours | Domain::Nearly => asks.or_else(|| in_our_domain(&tokens, &whole, key)),
        Domain::ClusterApi => asks.or_else(|| spelt(&whole, key)),
        Domain::Foreign => asks,
    };
    let unknown = Meaning::Unknown { meant };
    let meaning = like_a_pause(domain, &tokens, &whole, value)
        .or_else(|| by_domain(domain, key))
        .unwrap_or(unknown);
    let concerns_us = match domain {
        Domain::Ours => true,
        Domain::Nearly | Domain::ClusterApi | Domain::Foreign => {
            meaning != Meaning::Unknown { meant: None }
        }
    };
    concerns_us.then_some(meaning)
}

/// Whether it is a request in all but its key: the value of one, with a name like that of one.
fn asks(domain: Domain, tokens: &[String], whole: &str, value: &str) -> bool {
    let is_like_it = whole.contains(&plain(names::REQUEST_NAME))
        || strsim::osa_distance(&as_upgrade(whole), &plain(names::REQUEST_NAME)) <= 2;
    let is_about_it = match domain {
        Domain::Ours | Domain::Nearly | Domain::ClusterApi => {
            tokens.iter().any(|token| DEEDS.contains(&token.as_str()))
        }
        Domain::Foreign => false,
    };
    is_scheduled(value) && (is_like_it || is_about_it)
}

/// Whether the value is nearly that of a request.
pub(super) fn is_scheduled(value: &str) -> bool {
    let wanted = plain(names::REQUEST_SCHEDULED);
    // A Node has values of any length.
    value.len() <= 2 * wanted.len() && strsim::osa_distance(&plain(value), &wanted) <= 2
}

/// Cluster API has "in-place updates", and Careen's key "upgrade".
fn as_upgrade(whole: &str) -> String {
    whole.replace("update", "upgrade")
}

fn like_a_pause(domain: Domain, tokens: &[String], whole: &str, value: &str) -> Option<Meaning> {
    let is_spelt_so = is_near(whole, &NEAR_PAUSE).then_some(Meaning::Paused);
    let is_spelt_so = is_spelt_so.or(is_near(whole, &NEAR_OPT_OUT).then_some(Meaning::OptedOut));
    match domain {
        Domain::Foreign => None,
        // Other projects have keys with their own words in this domain.
        Domain::ClusterApi => is_spelt_so,
        Domain::Ours | Domain::Nearly => is_spelt_so
            .or_else(|| by_words(tokens, whole))
            .or_else(|| by_value(tokens, value)),
    }
}

/// `paused.careen.dev/backup`: by a word of the domain.
fn by_domain(domain: Domain, key: &str) -> Option<Meaning> {
    let text = domain::text(key);
    match domain {
        Domain::Ours | Domain::Nearly => by_words(&tokens(text), &plain(text)),
        Domain::ClusterApi | Domain::Foreign => None,
    }
}

/// By one word in it, by two words joined, or by a negation.
fn by_words(tokens: &[String], whole: &str) -> Option<Meaning> {
    let means = |list: &[&str]| words::is_form(whole, list) || has_form(tokens, list);
    let nearly = |list: &[&str]| tokens.iter().any(|token| is_one_off(token, list));
    if means(&PAUSE) || means(&WEAK_PAUSE) || nearly(&NEAR_PAUSE) {
        return Some(Meaning::Paused);
    }
    let opts_out = means(&OPT_OUT) || means(&WEAK_OPT_OUT) || nearly(&NEAR_OPT_OUT);
    (opts_out || denies(tokens, whole)).then_some(Meaning::OptedOut)
}

/// `do-not-upgrade`, `noupgrade`, `not-upgradeable`.
fn denies(tokens: &[String], whole: &str) -> bool {
    let has_no = any(tokens, words::is_no);
    let has_deed = tokens.iter().any(|token| is_deed(token));
    let in_one = tokens.iter().any(|token| is_no_and_deed(token));
    has_no && has_deed || in_one || is_no_and_deed(whole)
}

/// Whether this is true of a word, or of two words joined.
fn any(tokens: &[String], is: impl Fn(&str) -> bool) -> bool {
    let mut pairs = tokens.windows(2).map(<[String]>::concat);
    tokens.iter().any(|token| is(token)) || pairs.any(|pair| is(&pair))
}

fn has_form(tokens: &[String], list: &[&str]) -> bool {
    any(tokens, |word| words::is_form(word, list))
}

/// `upgrades=off`, `enabled=false`, `mode=do-not-upgrade`, and any key with the value `paused`.
fn by_value(words: &[String], value: &str) -> Option<Meaning> {
    let value: String = value.chars().take(READ).collect();
    let (said, whole) = (tokens(&value), plain(&value));
    let begin = &said[..said.len().min(2)];
    let stops = |words: &[String]| has_form(words, &PAUSE) || has_form(words, &OPT_OUT);
    let is_weak = has_form(&said, &WEAK_PAUSE) || has_form(&said, &WEAK_OPT_OUT);
    let begins_so = stops(begin) || denies(&said, &whole);
    let no = is_no(&said, &whole) || stops(&said) || is_weak;
    let switches = any(words, |word| is_deed(word) || SWITCHES.contains(&word));
    (begins_so || no && switches).then_some(Meaning::OptedOut)
}

/// Whether a value begins with a negation, or is one.
fn is_no(said: &[String], whole: &str) -> bool {
    let first = said.first().map_or("", String::as_str);
    let is = |word: &str| NO_VALUES.contains(&word) || NO.contains(&word);
    is(first) || is(whole) || NO_LETTERS.contains(&whole)
}

/// The requester's annotation that is possibly misspelt.
fn spelt(whole: &str, key: &str) -> Option<&'static str> {
    let by_requester =
        |row: &&names::Name| row.kind == Kind::Annotation && row.writer == "requester";
    let rows = names::TABLE.iter().filter(by_requester);
    let whole = as_upgrade(whole);
    let distance = |row: &names::Name| {
        if row.name == key {
            return 0;
        }
        let name = plain(row.name.rsplit('/').next().unwrap_or_default());
        strsim::osa_distance(&whole, &name)
    };
    let nearest = rows.map(|row| (distance(row), row.name)).min();
    let (distance, name) = nearest?;
    (distance <= 2).then_some(name)
}

/// The requester's annotation that a key of Careen's domain means. A whole word counts before
/// letters that are near.
fn in_our_domain(tokens: &[String], whole: &str, key: &str) -> Option<&'static str> {
    let is_one_word = tokens.len() == 1;
    let named = by_one_word(tokens);
    named
        .filter(|_| is_one_word)
        .or_else(|| spelt(whole, key))
        .or(named)
}

/// The requester's annotation that one word of the key names. The order of the list decides.
fn by_one_word(tokens: &[String]) -> Option<&'static str> {
    let has = |word: &str| tokens.iter().any(|token| token == word);
    let row = WORDS.iter().find(|(word, _)| has(word));
    row.map(|(_, name)| *name)
}

/// Other words for what a requester's annotations say.
const WORDS: [(&str, &str); 28] = [
    ("image", names::IMAGE),
    ("images", names::IMAGE),
    ("img", names::IMAGE),
    ("target", names::IMAGE),
    ("commit", names::IMAGE),
    ("ref", names::IMAGE),
    ("ostree", names::IMAGE),
    ("rollback", names::IMAGE),
    ("kubernetes", names::KUBERNETES_VERSION),
    ("kubelet", names::KUBERNETES_VERSION),
    ("k8s", names::KUBERNETES_VERSION),
    ("version", names::KUBERNETES_VERSION),
    ("id", names::UPGRADE_ID),
    ("uid", names::UPGRADE_ID),
    ("soak", names::SOAK),
    ("bake", names::SOAK),
    ("plan", names::PLAN),
    ("preview", names::PLAN),
    ("dryrun", names::PLAN),
    ("upgrade", names::REQUEST),
    ("upgrades", names::REQUEST),
    ("update", names::REQUEST),
    ("updates", names::REQUEST),
    ("inplace", names::REQUEST),
    ("request", names::REQUEST),
    ("requested", names::REQUEST),
    ("schedule", names::REQUEST),
    ("scheduled", names::REQUEST),
];

/// Up to two letters differ for a whole key, if enough letters remain.
fn is_near(word: &str, list: &[&str]) -> bool {
    let within = |listed: &&str| strsim::osa_distance(word, listed) <= 2;
    let long = list
        .iter()
        .filter(|listed| listed.len() >= 6 && word.len() >= 5);
    list.contains(&word) || long.clone().any(within) || is_one_off(word, list)
}

fn is_one_off(word: &str, list: &[&str]) -> bool {
    let mut long = list.iter().filter(|listed| listed.len() >= 5);
    long.any(|listed| strsim::osa_distance(word, listed) <= 1)
}

/// Only letters and digits, in lower case.
fn plain(text: &str) -> String {
    let letters = text.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// The words of a key, split at punctuation and between a small letter and a capital.
fn tokens(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphabetic() || was_small && letter.is_ascii_uppercase() {
            words.push(String::new());
        }
        was_small = letter.is_ascii_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_ascii_alphabetic()) {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
