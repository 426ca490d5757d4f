//! The form of a message to a person: `what happened: detail. Action.`

/// The longest part of a message before its detail, in characters.
const HEAD: usize = 240;

/// Words of another century, and "is to be" for what somebody should do.
const BANNED: [&str; 9] = [
    "whoever",
    "anew",
    "mend",
    "behind",
    "stands",
    "lies",
    "beforehand",
    "likewise",
    "is to be",
];

/// How a sentence begins that says what to do.
const ACTIONS: [&str; 38] = [
    "Add ",
    "Ask ",
    "Boot ",
    "Build ",
    "Change ",
    "Check ",
    "Correct ",
    "Delete ",
    "Drain ",
    "End ",
    "Find ",
    "Fix ",
    "Free ",
    "Keep ",
    "Leave ",
    "Let ",
    "Load ",
    "Look ",
    "Make ",
    "Move ",
    "No action is needed",
    "Put ",
    "Read ",
    "Reboot ",
    "Remove ",
    "Report ",
    "Restart ",
    "Run ",
    "See ",
    "Send ",
    "Set ",
    "Sign ",
    "Stop ",
    "Undo ",
    "Update ",
    "Upgrade ",
    "Use ",
    "Wait ",
];

/// What is wrong with the message, if anything.
pub fn fault(text: &str) -> Option<String> {
    let bad = |what: &str| Some(format!("{what}: {text}"));
    if !text.ends_with('.') || text.contains("..") && !text.contains("...") || text.contains('\n') {
        return bad("not one line that ends with one full stop");
    }
    if text.contains("Some(") {
        return bad("a value of Rust");
    }
    let (happened, actions) = text.split_once(". ").unwrap_or((text, ""));
    let head = happened.split(": ").next().unwrap_or_default();
    if head.is_empty() || head.chars().count() > HEAD {
        return bad("a beginning that is empty or too long");
    }
    let acts = |one: &str| ACTIONS.iter().any(|begin| one.starts_with(begin));
    if !actions.split(". ").any(acts) {
        return bad("no action");
    }
    banned(text).and_then(bad)
}

/// A word of the message that a plain one replaces.
fn banned(text: &str) -> Option<&'static str> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    let words = format!(" {} ", words.join(" ").to_lowercase());
    let holds = |banned: &&str| words.contains(&format!(" {banned} "));
    BANNED.into_iter().find(holds)
}
