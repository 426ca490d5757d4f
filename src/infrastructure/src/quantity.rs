//! Quantities of Kubernetes, such as `500m` or `32Gi`, in thousandths.

use thiserror::Error;

/// A quantity that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a quantity. Use a number such as 8, 500m or 32Gi.")]
pub struct Unreadable(pub String);

/// The suffixes and what they multiply with, in thousandths. Source: the package resource of
/// k8s.io/apimachinery. Exponents (`1e3`) do not occur in capacities and are not read.
const SUFFIXES: [(&str, i128); 13] = [
    ("Ki", 1000 << 10),
    ("Mi", 1000 << 20),
    ("Gi", 1000 << 30),
    ("Ti", 1000 << 40),
    ("Pi", 1000 << 50),
    ("Ei", 1000 << 60),
    ("m", 1),
    ("k", 1_000_000),
    ("M", 1_000_000_000),
    ("G", 1_000_000_000_000),
    ("T", 1_000_000_000_000_000),
    ("P", 1_000_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000_000),
];

/// The amount in thousandths.
///
/// # Errors
/// [`Unreadable`].
pub fn amount(text: &str) -> Result<i128, Unreadable> {
    let unreadable = || Unreadable(text.chars().take(64).collect());
    let suffix = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix));
    let (digits, factor) = suffix.map_or((text, 1000), |(suffix, factor)| {
        (text.strip_suffix(suffix).unwrap_or(text), *factor)
    });
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() + part.len() > 18 || !is_number(whole) || !is_number(part) {
        return Err(unreadable());
    }
    let places = u32::try_from(part.len()).map_err(|_| unreadable())?;
    let number: i128 = format!("{whole}{part}").parse().map_err(|_| unreadable())?;
    Ok(number * factor / 10_i128.pow(places))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        let table = [
            ("8", 8000),
            ("500m", 500),
            ("1.5", 1500),
            ("1Ki", 1_024_000),
            ("32Gi", 32 * 1000 * (1 << 30)),
            ("1.5Gi", 1000 * 3 * (1 << 29)),
            ("2k", 2_000_000),
            ("0", 0),
        ];
        for (text, expected) in table {
            assert_eq!(amount(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn bad_quantity_is_refused_by_name() {
        for text in ["", "Gi", "-1", "1e3", "8 ", "1.2.3", "9999999999999999999"] {
            assert_eq!(amount(text), Err(Unreadable(text.to_owned())), "{text}");
        }
    }
}
