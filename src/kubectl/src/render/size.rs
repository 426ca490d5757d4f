//! Sizes in human-readable form.

/// A size in human-readable form.
#[must_use]
pub fn bytes(size: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if size < 1024 {
        return format!("{size} B");
    }
    let mut tenths = size.saturating_mul(10) / 1024;
    let mut unit = units[0];
    for larger in &units[1..] {
        if tenths < 10_240 {
            break;
        }
        tenths /= 1024;
        unit = larger;
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_at_a_glance() {
        let shown = [0, 1023, 1024, 1_572_864, 5 << 30].map(bytes);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "5.0 GiB"]);
    }
}
