//! The policy file: an absent one means the defaults, a broken one means that nothing new is begun.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use upgrade::{Policy, PolicyRead, Reason};

/// Reads the policy.
///
/// # Errors
/// [`Reason::BadPolicy`], with the place in the file.
pub fn read(path: &Path) -> PolicyRead {
    match fs::read_to_string(path) {
        Ok(text) => parse(&path.display().to_string(), &text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Policy::default()),
        Err(error) => Err(bad(path, (1, 1), error.to_string())),
    }
}

/// Parses a policy's text; `file` is for the message.
///
/// # Errors
/// As [`read`].
pub fn parse(file: &str, text: &str) -> PolicyRead {
    let file = Path::new(file);
    let policy: Policy = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or((1, 1), |span| place(text, span.start));
        bad(file, at, error.message().to_owned())
    })?;
    policy.validate().map_err(|(field, accepted)| {
        bad(
            file,
            find(text, field),
            format!("{field} is out of range; accepted is {accepted}"),
        )
    })?;
    Ok(policy)
}

fn bad(file: &Path, (line, column): (usize, usize), detail: String) -> Reason {
    Reason::BadPolicy {
        file: file.display().to_string(),
        line,
        column,
        detail,
    }
}

/// Line and column, both from 1, of a byte.
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

/// Where a field (`drain.deadline-seconds`) is set: values that parse but are out of range have no span any more.
fn find(text: &str, field: &str) -> (usize, usize) {
    let (table, key) = field.rsplit_once('.').unwrap_or(("", field));
    let mut inside = String::new();
    for (at, line) in text.lines().enumerate() {
        let line_text = line.trim();
        if let Some(name) = line_text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            name.trim().clone_into(&mut inside);
        }
        let sets = line_text
            .split_once('=')
            .is_some_and(|(name, _)| name.trim() == key);
        if inside == table && sets {
            return (at + 1, line.len() - line.trim_start().len() + 1);
        }
    }
    (1, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn no_file_means_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            read(&folder.path().join("policy.toml")),
            Ok(Policy::default())
        );
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
    }

    #[test]
    fn a_value_out_of_range_is_refused_where_it_stands() {
        let (line, column, detail) = refused("[health]\n  deadline-seconds = 5\n");
        assert_eq!((line, column), (2, 3));
        assert_eq!(
            detail,
            "health.deadline-seconds is out of range; accepted is 30 to 86400"
        );
    }

    #[test]
    fn what_is_no_toml_is_refused_where_it_breaks() {
        assert_eq!(refused("trials = 2\n]").0, 2);
    }
}
