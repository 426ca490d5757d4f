//! A policy's text: what it says, or where it is wrong.

use std::ops::Range;
use std::path::Path;

use host::trust::Fault;
use toml::de::DeTable;
use upgrade::reason::complaint;
use upgrade::{Policy, Reason};

/// Parses a policy's text; `file` is for the message. The result does not include the rules of its
/// time zone.
///
/// # Errors
/// [`Reason::BadPolicy`], with the place in the file.
pub fn parse(file: &str, text: &str) -> Result<Policy, Reason> {
    let policy: Policy = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let key = set_at(text, at).map_or_else(String::new, |key| format!("{key}: "));
        bad(file, place(text, at), format!("{key}{}", error.message()))
    })?;
    policy
        .validate()
        .map_err(|(field, accepted)| refused(file, text, field, accepted))?;
    Ok(policy)
}

/// Why the value in this field is rejected.
#[must_use]
pub fn refused(file: &str, text: &str, field: &str, accepted: &str) -> Reason {
    let (at, value) = find(text, field);
    let detail = format!("{field} is {value}; accepted is {accepted}");
    bad(file, place(text, at), detail)
}

/// Why a file that cannot be read at all is rejected.
#[must_use]
pub fn unreadable(file: &str, error: &std::io::Error) -> Reason {
    bad(file, WHOLE, error.to_string())
}

/// Why a file that users other than root may write is rejected, with the command that corrects it.
#[must_use]
pub fn untrusted(file: &Path, fault: &Fault) -> Reason {
    bad(&file.display().to_string(), WHOLE, fault.with_its_fix())
}

/// The place of an error that concerns the whole file.
const WHOLE: (usize, usize) = (0, 0);

fn bad(file: &str, (line, column): (usize, usize), detail: String) -> Reason {
    Reason::BadPolicy {
        file: file.to_owned(),
        line,
        column,
        detail: complaint(&detail),
    }
}

/// Line and column of a byte, both from 1.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    (line, column)
}

/// One key that is set, by its full name (`drain.deadline-seconds`), and where key and value are in
/// the text.
struct Setting {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

fn settings(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    if let Ok(table) = DeTable::parse(text) {
        collect(table.get_ref(), "", &mut found);
    }
    found
}

/// The tables inside a table precede the table itself.
fn collect(table: &DeTable<'_>, above: &str, found: &mut Vec<Setting>) {
    for (key, value) in table.iter() {
        let name = format!("{above}{}", key.get_ref());
        if let Some(inner) = value.get_ref().as_table() {
            collect(inner, &format!("{name}."), found);
        }
        let (key, value) = (key.span(), value.span());
        found.push(Setting { name, key, value });
    }
}

/// The key whose value is at this byte.
fn set_at(text: &str, byte: usize) -> Option<String> {
    let mut settings = settings(text).into_iter();
    settings
        .find(|set| set.value.contains(&byte))
        .map(|set| set.name)
}

/// Where a field is set, and to what. Values that parse but are out of range no longer carry a
/// position.
fn find<'a>(text: &'a str, field: &str) -> (usize, &'a str) {
    let set = settings(text).into_iter().find(|set| set.name == field);
    set.map_or((0, ""), |set| {
        (set.key.start, text.get(set.value).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use upgrade::Reason;
    use upgrade::window::LastBegin;

    fn refused(text: &str) -> (usize, usize, String) {
        match parse("policy.toml", text) {
            Err(Reason::BadPolicy {
                line,
                column,
                detail,
                ..
            }) => (line, column, detail),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_are_taken() {
        let text = "trials = 3\n[drain]\nat-deadline = \"force\"\n";
        let policy = parse("policy.toml", text).unwrap();
        assert_eq!(
            (policy.trials, policy.drain.at_deadline),
            (3, upgrade::policy::AtDeadline::Force)
        );
    }

    #[test]
    fn an_unknown_key_is_refused_where_it_stands() {
        let (line, column, detail) = refused("trials = 2\n[drain]\ndeadline = 5\n");
        assert_eq!((line, column), (3, 1), "{detail}");
        assert!(
            detail.contains("deadline-seconds"),
            "names what is accepted: {detail}"
        );
    }

    #[test]
    fn a_wrong_type_is_refused_where_it_stands() {
        let (line, column, detail) = refused("unsigned = false\ntrials = \"two\"\n");
        assert_eq!((line, column), (2, 10), "{detail}");
        for part in ["trials: ", "\"two\"", "u32"] {
            assert!(detail.contains(part), "key, value and form: {detail}");
        }
    }

    #[test]
    fn unaccepted_value_is_refused_with_its_key_and_alternatives() {
        let (line, _, detail) = refused("[drain]\nat-deadline = \"stop\"\n");
        assert_eq!(line, 2);
        for part in ["drain.at-deadline: ", "stop", "abort"] {
            assert!(detail.contains(part), "{detail}");
        }
    }

    #[test]
    fn a_value_out_of_range_is_refused_where_it_stands() {
        let (line, column, detail) = refused("[health]\n  deadline-seconds = 5\n");
        assert_eq!((line, column), (2, 3));
        assert_eq!(
            detail,
            "health.deadline-seconds is 5; accepted is 30 to 86400"
        );
    }

    #[test]
    fn a_fetch_of_seconds_is_refused_and_one_without_a_limit_is_not() {
        let (.., detail) = refused("[limits]\nfetch-seconds = 59\n");
        assert_eq!(
            detail,
            "limits.fetch-seconds is 59; accepted is 0, or 60 to 604800"
        );
        assert!(parse("policy.toml", "[limits]\nfetch-seconds = 0\n").is_ok());
    }

    #[test]
    fn malformed_hours_are_refused_with_position_and_an_example() {
        let text = "[window]\nopen = [\"Sat 02:00-04:00\",\n  \"Sun 4-6\"]\n";
        let (line, column, detail) = refused(text);
        assert_eq!((line, column), (3, 3), "{detail}");
        for part in ["window.open: ", "Sun 4-6", "Mon-Fri 22:00-06:00"] {
            assert!(detail.contains(part), "{detail}");
        }
    }

    #[test]
    fn last_begin_minutes_accepts_0_to_1440_or_usual() {
        let of = |value: &str| format!("[window]\nlast-begin-minutes = {value}\n");
        for (value, taken) in [
            ("0", LastBegin::Minutes(0)),
            ("1440", LastBegin::Minutes(1440)),
            ("\"usual\"", LastBegin::Usual),
        ] {
            let policy = parse("policy.toml", &of(value)).unwrap();
            assert_eq!(policy.window.last_begin, taken);
        }
        // The error points at the key of a value out of range, and at an invalid value itself.
        for (value, column) in [("1441", 1), ("-1", 22), ("\"long\"", 22), ("1.5", 22)] {
            let (line, at, detail) = refused(&of(value));
            assert_eq!((line, at), (2, column), "{detail}");
            for part in ["window.last-begin-minutes", "\"usual\", or 0 to 1440"] {
                assert!(detail.contains(part), "{value}: {detail}");
            }
        }
    }

    #[test]
    fn impossible_branch_pattern_is_refused_with_its_position() {
        for bad in ["site/**", "site/", "site/st?ble", "", "site stable"] {
            let (line, column, detail) = refused(&format!("trials = 2\nbranches = [\"{bad}\"]\n"));
            assert_eq!((line, column), (2, 1), "{detail}");
            for part in ["branches is", &format!("\"{bad}\""), "site/*"] {
                assert!(detail.contains(part), "{detail}");
            }
        }
        let good = "branches = [\"site/stable\", \"lab/*\"]\nrollback = false\n";
        assert!(parse("policy.toml", good).is_ok());
    }

    #[test]
    fn zone_escaping_the_zoneinfo_folder_is_refused_with_position() {
        let (line, column, detail) = refused("[window]\nzone = \"../../etc/shadow\"\n");
        assert_eq!((line, column), (2, 8), "{detail}");
        assert!(detail.contains("Europe/Berlin"), "{detail}");
    }

    #[test]
    fn a_group_that_names_no_pods_is_refused_where_the_order_stands() {
        let (line, _, detail) = refused("[drain]\norder = [{ seconds = 60 }]\n");
        assert_eq!(line, 2, "{detail}");
        assert!(detail.starts_with("drain.order is "), "{detail}");
    }

    #[test]
    fn a_value_in_a_table_on_one_line_is_found_too() {
        let (line, column, detail) = refused("trials = 2\ndrain = { deadline-seconds = 0 }\n");
        assert_eq!((line, column), (2, 11));
        assert_eq!(
            detail,
            "drain.deadline-seconds is 0; accepted is 1 to 86400"
        );
    }

    #[test]
    fn however_long_a_bad_key_is_the_complaint_is_not() {
        let (.., detail) = refused(&format!("{} = 1\n", "x".repeat(100_000)));
        assert!(detail.len() < 1000);
    }

    #[test]
    fn what_is_no_toml_is_refused_where_it_breaks() {
        assert_eq!(refused("trials = 2\n]").0, 2);
    }
}
