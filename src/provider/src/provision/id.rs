//! Ids of claims.

use std::fs::File;
use std::io::Read;

/// 16 random hexadecimal digits. A machine without a source of random numbers runs no API server,
/// and without digits the API server refuses the write.
pub fn random() -> String {
    let mut bytes = [0_u8; 8];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    match read {
        Ok(()) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Err(_) => String::new(),
    }
}
