//! clusterctl itself, built from Cluster API's module, with careen-provider's release in a
//! repository on this machine.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::{cargo, programs};

/// The package in the module.
const PACKAGE: &str = "sigs.k8s.io/cluster-api/cmd/clusterctl";

/// The release in the repository.
const RELEASE: &str = "infrastructure-careen/v0.1.0";

/// How a command line names that release.
pub const PROVIDER: &str = "careen:v0.1.0";

/// clusterctl with its settings in a folder.
pub struct Clusterctl {
    program: PathBuf,
    folder: PathBuf,
}

impl Clusterctl {
    /// Builds it on first use (minutes), and puts the release into a repository in this folder.
    ///
    /// # Errors
    ///
    /// Fails when it does not compile, or the folder cannot be written.
    pub fn with_release(folder: &Path) -> Result<Self> {
        let release = folder.join(RELEASE);
        fs::create_dir_all(&release)?;
        let packaging = cargo::source().join("packaging");
        for entry in fs::read_dir(packaging.join("infrastructure"))? {
            let entry = entry?;
            fs::copy(entry.path(), release.join(entry.file_name()))?;
        }
        let metadata = packaging.join("provider/metadata.yaml");
        fs::copy(metadata, release.join("metadata.yaml"))?;
        let components = release.join("infrastructure-components.yaml");
        let settings = format!(
            "providers:\n- name: careen\n  type: InfrastructureProvider\n  url: {}\n",
            components.display()
        );
        fs::write(folder.join("clusterctl.yaml"), settings)?;
        Ok(Self {
            program: program()?,
            folder: folder.to_owned(),
        })
    }

    /// What it prints for a command line with these variables.
    ///
    /// # Errors
    ///
    /// Fails when it fails. The error is what it says.
    pub fn run(&self, line: &[&str], variables: &[(&str, &str)]) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(variables.iter().copied());
        // Else it asks for its newest version, and looks for a kubeconfig of this machine's user.
        command.env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true");
        command.env("HOME", &self.folder);
        command.env("XDG_CONFIG_HOME", &self.folder);
        command.arg("--config");
        command.arg(self.folder.join("clusterctl.yaml"));
        let output = command.args(line).output().context("cannot run it")?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "clusterctl {line:?}: {said}");
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// The program. The flags are those of the managers, so that Go has most of it in its cache.
fn program() -> Result<PathBuf> {
    let source = cargo::source().join("tests/testkit/clusterctl");
    let out = programs::cache()?.join(format!("clusterctl-{}", key(&source)?));
    let program = out.join("clusterctl");
    if !program.exists() {
        // Two tests that start at once both build it, and the last one renames.
        fs::create_dir_all(&out)?;
        let new = out.join(format!("new-{}", std::process::id()));
        build(&source, new.as_os_str())?;
        fs::rename(new, &program)?;
    }
    Ok(program)
}

fn build(source: &Path, to: &OsStr) -> Result<()> {
    let mut command = Command::new("go");
    command.args(["build", "-mod=readonly", "-p", "2", "-trimpath"]);
    command.args(["-tags", "fieldsv1string", "-ldflags", "-s -w", "-o"]);
    let command = command.arg(to).arg(PACKAGE).current_dir(source);
    let output = command.env("CGO_ENABLED", "0").output();
    let output = output.context("cannot run go")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "go build {PACKAGE}: {complaint}");
    Ok(())
}

fn key(source: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    for name in ["go.mod", "go.sum"] {
        hash.update(fs::read(source.join(name))?);
    }
    let digest = hash.finalize();
    let digits = digest[..8].iter().map(|byte| format!("{byte:02x}"));
    Ok(digits.collect())
}
