//! What an image says of itself.

use host::image_info::parse;

/// The longest complaint, in characters: it goes into the record and onto the Node.
const LONGEST: usize = 600;

/// What is taken prints to the same; what is not is refused in a few words, however long it was.
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
