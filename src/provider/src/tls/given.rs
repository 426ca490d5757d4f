//! A certificate that somebody else maintains in a folder: tls.crt and tls.key.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::current::Current;
use super::error::{TlsError, unusable};

/// How often the folder is checked.
const LOOK: Duration = Duration::from_secs(10);

/// Loads the folder's content, now and whenever it changes.
///
/// # Errors
/// If there is no usable pair at the start.
pub async fn follow(
    folder: PathBuf,
    current: Arc<Current>,
) -> Result<std::convert::Infallible, TlsError> {
    let mut known = take(&folder, &current).await?;
    loop {
        tokio::time::sleep(LOOK).await;
        match read(&folder).await {
            Ok(now) if now == known => {}
            Ok(_) => match take(&folder, &current).await {
                Ok(taken) => {
                    info!("a new certificate is in use");
                    known = taken;
                }
                // The change may be half done. The next check sees it complete.
                Err(error) => warn!("{error} The old certificate stays in use."),
            },
            Err(error) => warn!("{error} The old certificate stays in use."),
        }
    }
}

type Files = (Vec<u8>, Vec<u8>);

async fn take(folder: &Path, current: &Current) -> Result<Files, TlsError> {
    let files = read(folder).await?;
    current.set(&files.0, &files.1)?;
    Ok(files)
}

async fn read(folder: &Path) -> Result<Files, TlsError> {
    let file = async |name: &str| {
        let path = folder.join(name);
        let content = tokio::fs::read(&path).await;
        content.map_err(|error| unusable(&path.display().to_string(), error))
    };
    Ok((file("tls.crt").await?, file("tls.key").await?))
}
