//! Kubernetes quantities, as far as a comparison needs them
//! (k8s.io/apimachinery/pkg/api/resource/quantity.go).

/// The value of a quantity; `None` if it is not one.
pub(super) fn value(text: &str) -> Option<f64> {
    let end = text
        .find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    Some(number * factor(suffix)?)
}

fn factor(suffix: &str) -> Option<f64> {
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const DECIMAL: [(&str, i32); 10] = [
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    let binary = BINARY.iter().zip(1..).find(|(name, _)| **name == suffix);
    let decimal = DECIMAL.iter().find(|(name, _)| *name == suffix);
    match (binary, decimal, suffix.strip_prefix(['e', 'E'])) {
        (Some((_, power)), ..) => Some(1024_f64.powi(power)),
        (_, Some((_, power)), _) => Some(10_f64.powi(*power)),
        (None, None, exponent) => Some(10_f64.powi(exponent?.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn quantities_have_the_value_that_kubernetes_gives_them() {
        for (text, expected) in [
            ("2", 2.0),
            ("0", 0.0),
            ("3920m", 3.92),
            ("16Gi", 17_179_869_184.0),
            ("2036132Ki", 2_084_999_168.0),
            ("1k", 1000.0),
            ("1E", 1e18),
            ("12e3", 12_000.0),
        ] {
            let found = value(text).unwrap();
            assert!((found - expected).abs() <= expected * 1e-9, "{text}");
        }
        for text in ["", "x", "1X", "Gi", "1e", "--1"] {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
