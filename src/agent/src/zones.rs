//! The rules of time zones, from the running system's own database.
//!
//! The database is part of the image, as all of /usr. The image's signature covers it, only an
//! upgrade changes it, and `date` and everything else on the node use it. A copy in Careen would be
//! a second source, as old as the program. An image without a database (Debian's tzdata) still has
//! UTC.

use std::fs;
use std::path::Path;

use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::tz::TimeZone;
use upgrade::zone::{Offset, Rules, ZoneName};

/// 2100-01-01. Until then, today's rules are good enough.
const END: i64 = 4_102_444_800;

/// The rules of a zone.
///
/// # Errors
/// The accepted values, and why this one is rejected.
pub fn rules(zones: &Path, zone: &ZoneName) -> Result<Rules, String> {
    if zone.is_utc() {
        return Ok(Rules::default());
    }
    let path = zones.join(zone.as_str());
    let refused = |why: String| {
        format!(
            "\"UTC\" or a zone of this system's time zone database ({}: {why})",
            path.display()
        )
    };
    let data = fs::read(&path).map_err(|error| refused(error.to_string()))?;
    let zone = TimeZone::tzif(zone.as_str(), &data).map_err(|error| refused(error.to_string()))?;
    Ok(offsets(&zone))
}

fn offsets(zone: &TimeZone) -> Rules {
    let begin = Timestamp::UNIX_EPOCH;
    let first = Offset {
        since: begin.as_second(),
        ahead: i64::from(zone.to_offset(begin).seconds()),
    };
    let later = zone.following(begin).map(|change| Offset {
        since: change.timestamp().as_second(),
        ahead: i64::from(change.offset().seconds()),
    });
    let later = later.take_while(|offset| offset.since < END);
    Rules::new(std::iter::once(first).chain(later).collect())
}

#[cfg(test)]
mod real;

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as `zic -b slim` writes it for a zone whose rules never changed: the last line says
    /// everything.
    fn tzif(rules: &str) -> Vec<u8> {
        let mut header = b"TZif2".to_vec();
        header.extend([0; 15]);
        // No leap seconds and no changes; one kind of time with a name of four bytes.
        for count in [0_u32, 0, 0, 0, 1, 4] {
            header.extend(count.to_be_bytes());
        }
        let mut block = header;
        block.extend(3600_i32.to_be_bytes());
        block.extend([0, 0]);
        block.extend(b"CET\0");
        [&block[..], &block[..], format!("\n{rules}\n").as_bytes()].concat()
    }

    fn zone(data: &[u8]) -> Result<Rules, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("Europe")).unwrap();
        fs::write(folder.path().join("Europe/Berlin"), data).unwrap();
        rules(folder.path(), &"Europe/Berlin".parse().unwrap())
    }

    #[test]
    fn summer_and_winter_of_a_zone_are_read_from_its_file() {
        let berlin = zone(&tzif("CET-1CEST,M3.5.0,M10.5.0/3")).unwrap();
        // 2026-03-29 and 2026-10-25 at 01:00 UTC, and one second before.
        for (moment, ahead) in [
            (1_774_745_999, 3600),
            (1_774_746_000, 7200),
            (1_792_889_999, 7200),
            (1_792_890_000, 3600),
        ] {
            assert_eq!(berlin.offset(moment), ahead, "{moment}");
        }
    }

    #[test]
    fn utc_needs_no_database() {
        let nowhere = Path::new("/nowhere");
        assert_eq!(rules(nowhere, &ZoneName::default()), Ok(Rules::default()));
    }

    #[test]
    fn a_file_that_is_no_zone_is_named() {
        let why = zone(b"not TZif").unwrap_err();
        assert!(
            why.contains("Europe/Berlin") && why.contains("\"UTC\""),
            "{why}"
        );
    }
}
