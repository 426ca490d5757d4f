//! Names in a sentence.

/// Up to this many names are all listed.
const TOLD: usize = 10;

/// All names if there are few. Otherwise the first ones and the number of the others.
#[must_use]
pub fn few(names: &[impl AsRef<str>]) -> String {
    let (told, others) = names.split_at(names.len().min(TOLD));
    let told = told.iter().map(AsRef::as_ref).collect::<Vec<_>>();
    let told = told.join(", ");
    if others.is_empty() {
        return told;
    }
    format!("{told} and {} more", others.len())
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
