//! Words that mean a pause or an opt-out. A word counts in each of its forms, so `suspends`,
//! `suspended` and `suspending` count like `suspend`.

/// Words for a pause.
pub(super) const PAUSE: [&str; 34] = [
    "pause",
    "hold",
    "held",
    "onhold",
    "stop",
    "stopper",
    "suspend",
    "suspension",
    "freeze",
    "froze",
    "frozen",
    "halt",
    "block",
    "blocker",
    "lock",
    "lockdown",
    "lockout",
    "wait",
    "defer",
    "postpone",
    "snooze",
    "inhibit",
    "inhibitor",
    "maint",
    "maintenance",
    "off",
    "manual",
    "protect",
    "delay",
    "quiesce",
    "forbid",
    "forbade",
    "forbidden",
    "deny",
];

/// Words for an opt-out.
pub(super) const OPT_OUT: [&str; 14] = [
    "optout",
    "optedout",
    "optingout",
    "optsout",
    "disable",
    "skip",
    "ignore",
    "exclude",
    "exclusion",
    "exempt",
    "unmanaged",
    "disallow",
    "prohibit",
    "veto",
];

/// Words for a pause in a key, or in the value of a key about upgrades. As the value of any other
/// key they mean something else: `zone=quarantine`.
pub(super) const WEAK_PAUSE: [&str; 6] = [
    "blackout",
    "embargo",
    "moratorium",
    "quarantine",
    "cancel",
    "abort",
];

/// The same for an opt-out: `license=inactive`.
pub(super) const WEAK_OPT_OUT: [&str; 16] = [
    "leave",
    "leaveout",
    "leftout",
    "keep",
    "stay",
    "inactive",
    "deactivate",
    "detach",
    "omit",
    "except",
    "bypass",
    "refuse",
    "reject",
    "decline",
    "ban",
    "pin",
];

/// What a form of a word ends with. `-er` and `-ive` make other words: `locker`, `exclusive`.
const ENDINGS: [&str; 9] = ["", "s", "es", "ed", "ing", "ion", "al", "ment", "able"];

/// What an upgrade does to a node. A negation beside one of these means an opt-out, and so does a
/// value that says no.
pub(super) const DEEDS: [&str; 31] = [
    "upgrade",
    "upgrades",
    "upgrading",
    "update",
    "updates",
    "updating",
    "drain",
    "drains",
    "draining",
    "reboot",
    "reboots",
    "rebooting",
    "disrupt",
    "disrupts",
    "disruption",
    "disruptions",
    "disrupting",
    "disturb",
    "interrupt",
    "restart",
    "restarts",
    "restarting",
    "evict",
    "evicts",
    "eviction",
    "evictions",
    "evicting",
    "cordon",
    "touch",
    "inplace",
    "careen",
];

/// A negation within a key or a value.
pub(super) const NO: [&str; 12] = [
    "no",
    "not",
    "never",
    "dont",
    "donot",
    "cannot",
    "cant",
    "mustnot",
    "shouldnot",
    "without",
    "prevent",
    "avoid",
];

/// Whether a word is a form of one of these.
pub(super) fn is_form(word: &str, of: &[&str]) -> bool {
    let bases = ENDINGS
        .iter()
        .filter_map(|ending| word.strip_suffix(ending));
    let mut spelt = bases.flat_map(spellings);
    spelt.any(|base| of.contains(&base.as_str()))
}

/// How the word is written without an ending: `stop` of `stopped`, `deny` of `denied`, `pause` of
/// `pausing`.
fn spellings(base: &str) -> impl Iterator<Item = String> {
    let mut letters = base.chars();
    let last = letters.next_back();
    let is_double = last.is_some() && letters.clone().next_back() == last;
    let single = is_double.then(|| letters.as_str().to_owned());
    let with_y = base.strip_suffix('i').map(|rest| format!("{rest}y"));
    let all = [
        Some(base.to_owned()),
        Some(format!("{base}e")),
        single,
        with_y,
    ];
    all.into_iter().flatten()
}

/// `upgrade`, with a word in front `autoupgrade`, and `upgradeable`, `upgradable`.
pub(super) fn is_deed(word: &str) -> bool {
    let mut endings = DEEDS.iter().filter(|deed| deed.len() >= 5);
    DEEDS.contains(&word) || is_able(word) || endings.any(|deed| word.ends_with(deed))
}

/// Whether it is a deed with `-able` or `-ible`, in place of a final `e` or after it.
fn is_able(word: &str) -> bool {
    let rest = word.strip_suffix("able").or(word.strip_suffix("ible"));
    rest.is_some_and(|rest| DEEDS.contains(&rest) || DEEDS.contains(&format!("{rest}e").as_str()))
}

/// `noupgrade`, in one word, and `undrainable`.
pub(super) fn is_no_and_deed(word: &str) -> bool {
    let mut rests = NO.iter().filter_map(|no| word.strip_prefix(no));
    let mut undone = ["un", "non"].iter().filter_map(|no| word.strip_prefix(no));
    rests.any(|rest| DEEDS.contains(&rest)) || undone.any(is_able)
}

/// Whether a word denies the deed beside it.
pub(super) fn is_no(word: &str) -> bool {
    NO.contains(&word) || word == "non"
}
