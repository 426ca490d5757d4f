//! The value of the label that the members of a MachinePool have.

/// The longest value of a label.
const LONGEST: usize = 63;

/// The name of the MachinePool, or a hash of one that is too long. Core selects the members by
/// exactly this value (`MustFormatValue` in util/labels/format of Cluster API): 32 bits of FNV-1a
/// in base64 for URLs.
#[must_use]
pub fn pool_label(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    // 32 bits and four zeros are six digits of six bits.
    let bits = u64::from(hash) << 4;
    let digit =
        |place: u32| char::from(DIGITS[usize::try_from(bits >> (6 * place) & 63).unwrap_or(0)]);
    let digits: String = (0..6).rev().map(digit).collect();
    format!("hash_{digits}_z")
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_of_a_pool_is_what_core_selects() {
        assert_eq!(pool_label("workers"), "workers");
        assert_eq!(pool_label(&"a".repeat(63)), "a".repeat(63));
        // Printed by MustFormatValue of Cluster API v1.14.2.
        assert_eq!(pool_label(&"a".repeat(64)), "hash_2W8PhQ_z");
        let long = format!("pool-{}", "0123456789".repeat(7));
        assert_eq!(pool_label(&long), "hash_MyLp3Q_z");
    }
}
