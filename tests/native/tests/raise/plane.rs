//! A control plane that is raised to the next patch, and its faults.

use std::path::PathBuf;
use std::process::{Child, Stdio};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use native::{Cluster, Images, Member, until};
use serde_json::{Value, json};
use testkit::cargo;

/// kubeadm waits half a minute in it for a container runtime that is not there.
pub const FAST: &[&str] = &["--skip-phases", "preflight"];

/// There is no container runtime, and the host's control groups may be old ones. A Job may not end
/// in time on a busy machine.
const MISSING: &str = "ContainerRuntimeVersion,CreateJob,ImagePull,SystemVerification";

pub const MANIFESTS: &str = "/etc/kubernetes/manifests";

/// Inside of a member, which has no physical root of its own.
const SYSROOT: &str = "/var/sysroot";

/// A cluster, and the version to raise it to.
pub struct Plane {
    pub cluster: Cluster,
    pub next: Images,
}

impl Plane {
    pub fn start(members: u8) -> anyhow::Result<Self> {
        let cluster = Cluster::start(members)?;
        let next = cluster.images().next_patch()?;
        for member in cluster.members() {
            member.run("mkdir", &["-p", SYSROOT])?;
        }
        Ok(Self { cluster, next })
    }

    /// Changes the configuration that kubeadm keeps in the cluster.
    pub async fn configure(&self, client: &Client, from: &str, to: &str) -> anyhow::Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
        let text = self.configuration(client).await?;
        assert!(text.contains(from), "{text}");
        let patch = json!({ "data": { "ClusterConfiguration": text.replace(from, to) } });
        let by = PatchParams::default();
        maps.patch("kubeadm-config", &by, &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    /// The configuration that kubeadm keeps in the cluster.
    pub async fn configuration(&self, client: &Client) -> anyhow::Result<String> {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
        let data = maps.get("kubeadm-config").await?.data.unwrap();
        Ok(data["ClusterConfiguration"].clone())
    }

    /// Begins to raise a member.
    pub fn begin(&self, member: &Member, id: &str, more: &[&str]) -> Raise {
        let kubeadm = self.next.commands().join("kubeadm");
        let old = self.cluster.images().commands();
        let program = ours("careen-control");
        let arguments = [
            "raise",
            "--upgrade",
            id,
            "--target-version",
            self.next.version(),
            "--kubeadm",
            kubeadm.to_str().unwrap(),
            "--old-kubelet-path",
            old.to_str().unwrap(),
            "--sysroot",
            SYSROOT,
            "--ignore-preflight-errors",
            MISSING,
        ];
        let arguments = [&arguments[..], more].concat();
        let mut command = member
            .command(program.to_str().unwrap(), &arguments)
            .unwrap();
        // It has to set its own PATH for kubeadm.
        command
            .env_remove("KUBECONFIG")
            .env("PATH", "/nowhere:/usr/bin");
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        Raise(child)
    }

    /// Raises a member to the end. Returns what it says.
    pub fn raise(&self, member: &Member, id: &str, more: &[&str]) -> Value {
        self.begin(member, id, more).ended()
    }

    /// A file of a member whose power is off.
    pub fn file(&self, member: &Member, path: &str) -> PathBuf {
        let state = self.cluster.folder().join(member.name());
        state.join(path.trim_start_matches('/'))
    }

    /// Runs the repair of the boot on a member whose power is off, as before its kubelet.
    pub fn repair(&self, member: &Member) -> String {
        let root = self.file(member, "/");
        let mut stage = std::process::Command::new(ours("careen-stage"));
        stage.arg("repair").arg("--root").arg(&root);
        stage.arg("--sysroot").arg(self.file(member, SYSROOT));
        let output = stage.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    }

    /// The tags of the images in a member's manifests.
    pub fn tags(&self, member: &Member) -> Vec<String> {
        let pods = [
            "etcd",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
        ];
        let tag = |pod: &str| {
            let text = member.read(&format!("{MANIFESTS}/{pod}.yaml")).unwrap();
            let line = text.lines().find(|line| line.contains(" image: "));
            line.unwrap().rsplit(':').next().unwrap().to_owned()
        };
        pods.map(tag).to_vec()
    }

    /// Where kubeadm writes what it says, in a ledger.
    pub fn log(&self, id: &str) -> String {
        format!("{SYSROOT}/ostree/careen/control-{id}/kubeadm.log")
    }
}

/// A running raise.
pub struct Raise(Child);

impl Raise {
    pub fn ended(self) -> Value {
        let output = self.0.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        eprintln!("{text}");
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let is_raised = value.get("raised").is_some();
        assert_eq!(output.status.success(), is_raised, "{text}");
        value
    }

    /// It ended with the power of its member.
    pub fn gone(mut self) {
        self.0.wait().unwrap();
    }
}

/// Waits until kubeadm has moved the new manifest in.
pub async fn swapped(member: &Member, pod: &str, mark: &str) {
    let path = format!("{MANIFESTS}/{pod}.yaml");
    until(&format!("{mark} in {pod}.yaml"), async || {
        member.read(&path).is_ok_and(|text| text.contains(mark))
    })
    .await;
}

/// Ends the pods of kubeadm's check of Jobs, as a kubelet with containers would.
pub async fn end_jobs(client: Client) {
    let pods: Api<Pod> = Api::namespaced(client, "kube-system");
    let patch = Patch::Merge(json!({ "status": { "phase": "Succeeded" } }));
    let job = ListParams::default().labels("batch.kubernetes.io/job-name");
    loop {
        if let Ok(all) = pods.list(&job).await {
            for pod in all {
                let name = pod.metadata.name.unwrap_or_default();
                let _ = pods
                    .patch_status(&name, &PatchParams::default(), &patch)
                    .await;
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
}

/// A program of this source tree, beside the running test. A build of the whole workspace has put
/// it there.
fn ours(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let mut all = own.ancestors();
    let profile = all.find(|one| one.ends_with("debug") || one.ends_with("release"));
    let program = profile.unwrap().join(name);
    if !program.exists() {
        let target = profile.unwrap().parent().unwrap();
        cargo::build(target, "dev", &["-p", name], "").unwrap();
    }
    program
}
