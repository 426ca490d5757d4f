//! An image's description of itself.

use host::image_info::parse;

/// The longest error message, in characters: it goes into the record and onto the Node.
const LONGEST: usize = 600;

/// An accepted description prints to the same text. A rejected one gets a short message, for any
/// length.
pub fn check(input: &[u8]) {
    match parse(input) {
        Ok(info) => {
            let printed = serde_json::to_vec(&info).unwrap_or_default();
            assert_eq!(parse(&printed), Ok(info));
        }
        Err(detail) => {
            assert!((1..=LONGEST).contains(&detail.chars().count()), "{detail}");
        }
    }
}
