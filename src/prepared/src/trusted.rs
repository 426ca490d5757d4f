//! Root acts on the operator's files, so only root may be able to change them.

use std::path::Path;

use host::trust;

use crate::error::{Error, Result};

/// # Errors
/// Users other than root can decide what is at the path. The message names the command that
/// corrects it.
pub fn must_be_roots(path: &Path) -> Result<()> {
    let fault = trust::fault(path);
    fault.map_or(Ok(()), |fault| {
        Err(Error::unusable(path, fault.with_its_fix()))
    })
}
