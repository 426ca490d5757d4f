//! Lists the deployments.

use upgrade::Reason;
use upgrade::deploy::Done;

use crate::site::Site;

/// The deployments, the default first. Takes no lock: it reads one consistent boot loader folder.
pub fn run(site: &Site) -> Result<Done, Reason> {
    let deployments = site.deployments();
    let deployments = deployments
        .iter()
        .map(|deployment| site.facts(deployment))
        .collect::<Result<_, _>>()?;
    Ok(Done::Status { deployments })
}
