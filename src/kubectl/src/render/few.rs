//! Names of nodes in a sentence.

/// Up to this many names are all listed.
const TOLD: usize = 10;

/// All names if there are few. Otherwise the first ones and the number of the others.
#[must_use]
pub fn few(names: &[&str]) -> String {
    match names.split_at_checked(TOLD) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        Some(_) | None => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_names_are_told_and_of_thousands_how_many_there_are() {
        let names = ["n"; 5000];
        assert_eq!(few(&names[..10]), ["n"; 10].join(", "));
        assert_eq!(few(&names), ["n"; 10].join(", ") + " and 4990 more");
    }
}
