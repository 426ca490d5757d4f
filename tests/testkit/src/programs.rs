//! The source of the rig's programs: `kube/build.sh` builds them once into the cache and prints the
//! path.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};

/// The Kubernetes minor that the control plane runs. Nodes may be older, never newer.
pub const CONTROL_PLANE: &str = "v1.36";

/// The next minor, whose etcd is of the next minor as well. Only kubeadm and the static pods of it
/// are built, and no node runs it.
pub const NEXT: &str = "v1.37";

/// The minor whose node programs are a module of their own, and the module with all its programs.
const APART: (&str, &str) = ("v1.35", "v1.35-whole");

/// The names of the multi-call Kubernetes program.
const NAMES: [&str; 6] = [
    "kubeadm",
    "kubectl",
    "kubelet",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// The folder for built things that outlive a run: `$CAREEN_CACHE`, else `~/.cache/careen`.
///
/// # Errors
///
/// Fails when neither `CAREEN_CACHE` nor `HOME` is set.
pub fn cache() -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("CAREEN_CACHE") {
        return Ok(dir.into());
    }
    let home = std::env::var_os("HOME")
        .context("set CAREEN_CACHE or HOME: the rig keeps what it builds there")?;
    Ok(Path::new(&home).join(".cache/careen"))
}

/// A folder with `kubeadm`, `kube-apiserver`, ... of one minor (`v1.35`, `v1.36`), built on first
/// use (about 8 minutes).
///
/// # Errors
///
/// Fails when the build fails; its own output went to standard error.
pub fn kubernetes(minor: &str) -> Result<PathBuf> {
    let module = if minor == APART.0 { APART.1 } else { minor };
    called(&built(module)?, &NAMES)
}

/// A folder with the programs of the next patch: copies of the one that this link leads to, in
/// which the version has another last digit. It is the same code, and takes seconds instead of
/// minutes.
///
/// # Errors
///
/// Fails when there is no such digit, or no room for the copy.
pub fn next_patch(link: &Path, version: &str) -> Result<PathBuf> {
    let (line, patch) = version.rsplit_once('.').context("a version without dots")?;
    let patch: u8 = patch.parse()?;
    ensure!(patch < 9, "{version} has no next patch of one digit");
    let next = format!("{line}.{}", patch + 1);
    let program = link.canonicalize()?;
    let folder = program.with_file_name(&next);
    fs::create_dir_all(&folder)?;
    let copy = folder.join("program");
    if !copy.exists() {
        stamp(&program, &copy, &[version, &next])?;
    }
    called(&copy, &NAMES)
}

/// The version is a constant of the program, and also part of the names of its sources.
fn stamp(program: &Path, copy: &Path, [from, to]: &[&str; 2]) -> Result<()> {
    let script = format!("s/{}/{to}/g", from.replace('.', "\\."));
    let new = copy.with_extension(std::process::id().to_string());
    let output = fs::File::create(&new)?;
    let status = Command::new("sed")
        .env("LC_ALL", "C")
        .arg(script)
        .arg(program)
        .stdout(output)
        .status()?;
    ensure!(status.success(), "sed {}: {status}", program.display());
    fs::set_permissions(&new, fs::metadata(program)?.permissions())?;
    Ok(fs::rename(new, copy)?)
}

/// The etcd server, built on first use.
///
/// # Errors
///
/// Fails when the build fails.
pub fn etcd() -> Result<PathBuf> {
    built("etcd")
}

/// The etcd server of the minor that kubeadm of this Kubernetes minor wants, built on first use.
///
/// # Errors
///
/// Fails when the build fails.
pub fn etcd_of(minor: &str) -> Result<PathBuf> {
    if minor == NEXT {
        built("etcd-v3.7")
    } else {
        etcd()
    }
}

/// Helm, built on first use. It takes a few minutes more where Kubernetes is built, because it
/// consists mostly of Kubernetes' libraries.
///
/// # Errors
///
/// Fails when the build fails.
pub fn helm() -> Result<PathBuf> {
    let bin = called(&built("helm")?, &["helm"])?;
    Ok(bin.join("helm"))
}

/// The node service of the rig's CSI driver, built on first use.
///
/// # Errors
///
/// Fails when the build fails.
pub fn csi() -> Result<PathBuf> {
    built("csi")
}

/// One of our own programs, built from this source tree. The package and its program have the same
/// name.
///
/// # Errors
///
/// Fails when it does not compile.
pub fn ours(name: &str) -> Result<PathBuf> {
    let target = cache()?.join("target");
    let status = Command::new("cargo")
        .current_dir(home().parent().unwrap_or(Path::new("/")))
        .args(["build", "--quiet", "-p", name])
        .env("CARGO_TARGET_DIR", &target)
        .stdout(Stdio::null())
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "cargo build -p {name}: {status}");
    Ok(target.join("debug").join(name))
}

/// The folder `vm-tests` in the source tree, for the scripts and manifests in it.
///
/// It reads the environment at run time, not at compile time. Clones share one target folder, where
/// cargo takes a program from another clone as fresh, and that clone's path may be gone.
#[must_use]
pub fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let started_in = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let places = started_in.into_iter().chain(std::env::current_dir().ok());
        places
            .filter_map(|place| in_the_tree_of(&place))
            .next()
            .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../vm-tests").into())
    })
}

/// The folder for the files of runs.
#[must_use]
pub fn out() -> PathBuf {
    home().join("out")
}

fn in_the_tree_of(place: &Path) -> Option<PathBuf> {
    place
        .ancestors()
        .map(|folder| folder.join("vm-tests"))
        .find(|folder| folder.join("kube/build.sh").exists())
}

fn built(module: &str) -> Result<PathBuf> {
    let script = home().join("kube/build.sh");
    let output = Command::new(&script)
        .arg(module)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(
        output.status.success(),
        "{} {module}: {}",
        script.display(),
        output.status
    );
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

/// A folder next to the program, with links of these names to it.
fn called(program: &Path, names: &[&str]) -> Result<PathBuf> {
    let bin = program.with_file_name("bin");
    fs::create_dir_all(&bin)?;
    for name in names {
        let link = bin.join(name);
        if !link.exists() {
            link_to(program, &link)?;
        }
    }
    Ok(bin)
}

/// Two tests that start at once both create the link; the second one's "exists" is fine.
fn link_to(program: &Path, link: &Path) -> Result<()> {
    match symlink(program, link) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot link {}", link.display()))
        }
        _ => Ok(()),
    }
}
