//! PEM and base64 (RFC 7468, RFC 4648).

/// The text of a file. Where a block never reached the disk, a file has zeros.
pub(super) fn text(content: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(content).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// The content of the first block whose label ends with this.
pub(super) fn block(text: &str, kind: &str) -> Option<Vec<u8>> {
    let mut lines = text.lines().map(str::trim_end);
    let label = lines.find_map(|line| {
        let label = line.strip_prefix("-----BEGIN ")?.strip_suffix("-----")?;
        label.ends_with(kind).then_some(label)
    })?;
    let end = format!("-----END {label}-----");
    let mut body = String::new();
    for line in lines {
        if line == end {
            return decode(&body);
        }
        body.push_str(line);
    }
    None
}

/// The bytes of base64 with its padding.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut left, mut count) = (0_u32, 0_u32);
    for digit in text.trim_end_matches('=').bytes() {
        left = left << 6 | value(digit)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(left >> count).ok()?);
            left &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_as_the_rfc_writes_it() {
        // RFC 4648, section 10.
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYmE=", "fooba"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        for text in ["Zg", "Zg=", "Z g=", "Zm9\n", "_m9v"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode("/+8="), Some(vec![0xff, 0xef]));
    }

    #[test]
    fn a_block_without_its_end_is_none() {
        let whole =
            "a\n-----BEGIN RSA PRIVATE KEY-----\nZm9v\nZg==\n-----END RSA PRIVATE KEY-----\n";
        assert_eq!(block(whole, "PRIVATE KEY").as_deref(), Some(&b"foof"[..]));
        assert_eq!(block(whole, "CERTIFICATE"), None);
        for end in [0, 20, 40, whole.len() - 2] {
            assert_eq!(block(&whole[..end], "PRIVATE KEY"), None, "{end}");
        }
        assert_eq!(text(b"a\0b"), None);
    }
}
