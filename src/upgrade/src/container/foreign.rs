//! Images as other programs write them, and how this one does.

use crate::typo::Wrong;

/// How other programs begin a name in a registry: Helm and Flux, browsers, rpm-ostree and bootc,
/// and containers-transports(5).
const REGISTRY: [&str; 10] = [
    "oci://",
    "https://",
    "http://",
    "registry://",
    "ostree-unverified-registry:",
    "ostree-image-signed:docker://",
    "ostree-image-signed:registry:",
    "ostree-unverified-image:docker://",
    "ostree-unverified-image:registry:",
    "docker:",
];

/// Paths with the slashes of a URL.
const PATH: [&str; 2] = ["oci://", "oci-archive://"];

/// How much of a suggestion is repeated, in characters.
const LONGEST: usize = 120;

/// What to write instead of a form of another program; `None` if it is none that is known.
pub(super) fn instead(text: &str) -> Option<Wrong> {
    path(text).or_else(|| registry(text)).or_else(|| bare(text))
}

/// `registry.example.com/os`, as `docker pull` takes it.
fn bare(text: &str) -> Option<Wrong> {
    let (host, _) = text.split_once('/')?;
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let is_host = name.contains('.') && !name.starts_with('.');
    let is_port = port.bytes().all(|digit| digit.is_ascii_digit());
    let right = format!("docker://{text}");
    (is_host && is_port).then(|| hint("no transport", &right))
}

/// `oci:///srv/os`: a path has one slash at its beginning.
fn path(text: &str) -> Option<Wrong> {
    let (form, rest) = begun(text, &PATH)?;
    let path = rest.trim_start_matches('/');
    if path.is_empty() || (!rest.starts_with('/') && form == PATH[0]) {
        return None;
    }
    Some(hint(
        form,
        &format!("{}/{path}", form.trim_end_matches('/')),
    ))
}

fn registry(text: &str) -> Option<Wrong> {
    if begun(text, &["docker://"]).is_some() {
        return None;
    }
    let (form, rest) = begun(text, &REGISTRY)?;
    Some(hint(
        form,
        &format!("docker://{}", rest.trim_start_matches('/')),
    ))
}

/// The form with which the text begins, in capitals or not, and what follows it.
fn begun<'a>(text: &'a str, forms: &[&'static str]) -> Option<(&'static str, &'a str)> {
    let begins = |form: &&&'static str| {
        let head = text.get(..form.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(form))
    };
    let form = forms.iter().find(begins)?;
    Some((form, &text[form.len()..]))
}

fn hint(form: &str, right: &str) -> Wrong {
    let mut shown: String = right.chars().take(LONGEST).collect();
    if shown.len() < right.len() {
        shown.push('…');
    }
    Wrong::at(0, format!("it begins with {form}; write {shown}"))
}
