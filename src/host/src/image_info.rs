//! What an image states about itself.

use std::fs;
use std::path::Path;

use upgrade::reason::complaint;
use upgrade::{ImageInfo, names};

use crate::error::{At, Error, Result};

/// The newest supported format of `image.json`.
const FORMAT: u32 = 1;

/// Reads `image.json` below the root of a deployment.
///
/// # Errors
/// It is missing or does not have the accepted form.
pub fn read(root: &Path) -> Result<ImageInfo> {
    let path = root.join(names::IMAGE_INFO);
    let bytes = fs::read(&path).at("reading", &path)?;
    parse(&bytes).map_err(|detail| Error::damaged(&path, detail))
}

/// Parses the content of an `image.json`.
///
/// # Errors
/// What is wrong with it.
pub fn parse(bytes: &[u8]) -> std::result::Result<ImageInfo, String> {
    let info: ImageInfo = serde_json::from_slice(bytes).map_err(|error| complaint(&error))?;
    if info.format == FORMAT {
        Ok(info)
    } else {
        Err(format!(
            "format is {}; this version reads {FORMAT}",
            info.format
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_image_has_for_a_control_plane_is_read() {
        let read = |more: &str| {
            let text =
                format!(r#"{{"format":1,"kubernetes":"v1.36.3","architecture":"x86_64"{more}}}"#);
            parse(text.as_bytes()).map(|info| info.carries_control())
        };
        assert_eq!(read(""), Ok(false));
        assert_eq!(read(r#","control":1"#), Ok(true));
        for bad in [r#","control":"1""#, r#","control":-1"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn however_long_a_bad_value_is_the_complaint_is_not() {
        let text = format!(r#"{{"format":"{}"}}"#, "x".repeat(100_000));
        assert!(parse(text.as_bytes()).unwrap_err().len() < 1000);
    }
}
