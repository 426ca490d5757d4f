//! The run of the bootstrap data, once for a claim.

use std::fs;
use std::path::Path;

use cloud_config::{Command, Facts, Plan, plan, script};
use life::{ClaimId, Stage};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use upgrade::Digest;

use crate::apply;
use crate::disk::{Disk, Owner, write_json};
use crate::error::{At, Error, Result, if_there};
use crate::ledger::Ledger;
use crate::machine::{Ended, Machine};
use crate::paths::Paths;
use crate::store::Store;

/// What the run gets: the data, and what they may ask.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Handed {
    /// The bootstrap data.
    pub data: String,
    /// The host name.
    pub hostname: String,
    /// The providerID.
    pub provider_id: String,
    /// The failure domain.
    pub failure_domain: Option<String>,
    /// Top-level keys to pass over.
    pub ignore: Vec<String>,
}

impl Handed {
    /// The SHA-256 of the data.
    ///
    /// # Errors
    /// Never: 32 bytes are 64 digits.
    pub fn hash(&self) -> Result<Digest> {
        let digits = hex::encode(Sha256::digest(&self.data));
        let bad = |bad: upgrade::Malformed| Error::unusable(Path::new("sha256"), bad.to_string());
        digits.parse().map_err(bad)
    }

    fn plan(&self, claim: &ClaimId) -> Result<Plan> {
        let facts = Facts {
            instance_id: claim.to_string(),
            hostname: self.hostname.clone(),
            provider_id: self.provider_id.clone(),
            failure_domain: self.failure_domain.clone(),
        };
        Ok(plan(self.data.as_bytes(), &facts, &self.ignore)?)
    }
}

/// Looks at data without any effect.
///
/// # Errors
/// What is refused, and what is accepted.
pub fn look(paths: &Paths, claim: &ClaimId, handed: &Handed) -> Result<()> {
    let plan = handed.plan(claim)?;
    apply::prepare(paths, plan.files).map(drop)
}

/// Puts the data where the run reads them.
///
/// # Errors
/// They are not there.
pub fn hand(paths: &Paths, disk: &dyn Disk, handed: &Handed) -> Result<()> {
    write_json(disk, &paths.data(), handed)
}

/// Runs the data of this claim. The record must already say so, and a mark on the disk that is made
/// once makes sure that no second run gets further.
///
/// # Errors
/// The data were not run, or not to their end.
pub fn run(
    paths: &Paths,
    disk: &dyn Disk,
    machine: &mut dyn Machine,
    claim: &ClaimId,
) -> Result<Ended> {
    let wanted = recorded(paths, claim)?;
    begin_once(paths, disk, claim)?;
    let handed = handed(paths)?;
    if handed.hash()? != wanted {
        return Err(Error::unusable(
            &paths.data(),
            "it has another hash than the record names",
        ));
    }
    let plan = handed.plan(claim)?;
    let files = apply::prepare(paths, plan.files)?;
    disk.remove(&paths.sentinel())?;
    let ledger = Ledger::of(paths, disk, claim);
    ledger.begin()?;
    // cloud-init goes on after a bootcmd that fails, too.
    let _ = commands(paths, disk, machine, claim, ("bootcmd", &plan.bootcmd))?;
    apply::write(paths, disk, &ledger, &files)?;
    commands(paths, disk, machine, claim, ("runcmd", &plan.runcmd))
}

/// Runs the data and notes how that ended in this boot. The data are removed in any case.
///
/// # Errors
/// The note is not there.
pub fn run_and_note(
    paths: &Paths,
    disk: &dyn Disk,
    machine: &mut dyn Machine,
    claim: &ClaimId,
) -> Result<()> {
    let ended = run(paths, disk, machine, claim).unwrap_or_else(|error| Ended::failed(&error));
    for path in [
        paths.data(),
        paths.script(claim, "bootcmd"),
        paths.script(claim, "runcmd"),
    ] {
        disk.remove(&path)?;
    }
    disk.write(
        &paths.joined(claim),
        ended.tail.as_bytes(),
        Owner::root(0o600),
    )
}

fn recorded(paths: &Paths, claim: &ClaimId) -> Result<Digest> {
    let refused = |detail: &str| Error::unusable(&paths.state(), detail);
    let record = Store::new(paths).read();
    let record = record.map_err(|why| refused(&why.to_string()))?;
    let stay = record.stay.filter(|stay| stay.claim.id == *claim);
    let Some(Stage::Bootstrapping { hash, .. }) = stay.map(|stay| stay.stage) else {
        return Err(refused("the record does not say that this claim joins now"));
    };
    Ok(hash)
}

/// A folder can be made once only.
fn begin_once(paths: &Paths, disk: &dyn Disk, claim: &ClaimId) -> Result<()> {
    let mark = paths.mark(claim);
    if mark.symlink_metadata().is_ok() {
        return Err(Error::Twice {
            claim: claim.clone(),
        });
    }
    disk.make_folder(&mark, Owner::root(0o700))
}

fn handed(paths: &Paths) -> Result<Handed> {
    let path = paths.data();
    let text = fs::read(&path).at("reading", &path)?;
    serde_json::from_slice(&text).map_err(|error| Error::unusable(&path, error.to_string()))
}

fn commands(
    paths: &Paths,
    disk: &dyn Disk,
    machine: &mut dyn Machine,
    claim: &ClaimId,
    (name, commands): (&str, &[Command]),
) -> Result<Ended> {
    if commands.is_empty() {
        return Ok(Ended {
            well: true,
            tail: String::new(),
        });
    }
    let path = paths.script(claim, name);
    disk.write(&path, script(commands).as_bytes(), Owner::root(0o700))?;
    Ok(machine.run(&path))
}

/// How the run ended in this boot.
///
/// # Errors
/// The note cannot be read.
pub fn ended(paths: &Paths, claim: &ClaimId) -> Result<Option<String>> {
    let path = paths.joined(claim);
    let text = if_there(fs::read(&path), "reading", &path)?;
    Ok(text.map(|text| String::from_utf8_lossy(&text).into_owned()))
}
