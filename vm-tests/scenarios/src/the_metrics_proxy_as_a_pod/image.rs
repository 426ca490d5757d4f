//! kube-rbac-proxy in an image with nothing else, as upstream builds it. This is v0.19.1, the
//! newest version whose module was available (tests/tests/monitoring).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::programs;
use testkit::registry::Registry;

use super::super::prelude::*;

const NAME: &str = "kube-rbac-proxy:v0.19.1";
const PROGRAM: &str = "usr/local/bin/kube-rbac-proxy";
/// `make vm` builds it earlier, because a lane has no network.
const BUILD: &str = "../tests/tests/monitoring/build.sh";

/// Returns the image under the name that the node pulls.
pub async fn pushed(rig: &Rig, registry: &Registry) -> Result<String> {
    rig.progress.step("an image with kube-rbac-proxy");
    let archive = archive(&rig.dir().join("proxy"))?;
    let digest = registry.push_archive(&archive, NAME).await?;
    let repository = NAME.split(':').next().unwrap_or(NAME);
    Ok(format!(
        "{}/{repository}@{digest}",
        registry.seen_from_guest()
    ))
}

fn archive(work: &Path) -> Result<PathBuf> {
    let (layer, config, out) = (
        work.join("layer"),
        work.join("config.json"),
        work.join("image.tar"),
    );
    let program = layer.join(PROGRAM);
    fs::create_dir_all(program.parent().unwrap_or(&layer))?;
    fs::copy(built()?, &program)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let entry = json!({ "Entrypoint": [format!("/{PROGRAM}")], "User": "65532:65532" });
    fs::write(&config, entry.to_string())?;
    // The script copies from the root what a program needs; this one needs nothing.
    let packed = Command::new(programs::home().join("images/installer.sh"))
        .args([&layer, &layer, &config])
        .arg(format!("localhost/{NAME}"))
        .arg(&out)
        .status()?;
    ensure!(packed.success(), "packing the image: {packed}");
    Ok(out)
}

fn built() -> Result<PathBuf> {
    let output = Command::new(programs::home().join(BUILD))
        .arg("kube-rbac-proxy")
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "{BUILD}: {}", output.status);
    let folder = String::from_utf8(output.stdout)?;
    Ok(Path::new(folder.trim()).join("kube-rbac-proxy"))
}
