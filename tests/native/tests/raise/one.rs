//! A cluster of one is raised to the next patch through faults. All of this is one test, because a
//! cluster takes some seconds.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kube::Client;
use native::{Member, until};
use serde_json::{Value, json};

use crate::plane::{FAST, MANIFESTS, Plane, end_jobs, swapped};

#[tokio::test]
async fn a_control_plane_is_raised_through_faults() -> anyhow::Result<()> {
    let plane = Plane::start(1)?;
    let member = &plane.cluster.members()[0];
    let client = plane.cluster.client().await?;
    let jobs = tokio::spawn(end_jobs(client.clone()));
    let begun = Instant::now();
    let told = |what: &str| eprintln!("{:?} {what}", begun.elapsed());
    // Another build of etcd, so that etcd is raised as well.
    let tag = format!("{}1", plane.tags(member)[0].trim_end_matches('0'));
    plane.next.tag_etcd(&tag)?;
    let local = format!("local:\n    imageTag: {tag}");
    plane.configure(&client, "local:", &local).await?;

    // Its pods run on.
    member.stop_kubelet()?;
    a_node_without_a_manifest_is_no_worker(&plane, member)?;
    told("a missing manifest");
    kubeadm_that_fails_leaves_all_as_it_was(&plane, member).await?;
    told("kubeadm failed");
    full_disk_at_the_copy_leaves_all_as_it_was(&plane, member)?;
    told("a full disk");
    let cut = Cut {
        plane: &plane,
        member,
        client: &client,
    };
    cut.at_the_copy().await?;
    told("cut at the copy of etcd");
    // Once with kubeadm's preflight. It refuses a cluster without CoreDNS, unless it is told not
    // to.
    let image = format!("/etcd:{tag}");
    cut.at(("etcd", &image), Loss::Empty, &[]).await?;
    told("cut at etcd.yaml");
    let version = plane.next.version().to_owned();
    cut.at(("kube-apiserver", &version), Loss::Missing, FAST)
        .await?;
    told("cut at kube-apiserver.yaml");
    raise_whose_program_was_killed_goes_on(&plane, member).await;
    assert!(
        plane.configuration(&client).await?.contains(&version),
        "kubeadm came to its end"
    );
    assert_eq!(
        plane.tags(member),
        [tag, version.clone(), version.clone(), version]
    );
    told("raised");
    a_second_raise_changes_nothing(&plane, member)?;
    told("a second raise");
    a_change_of_arguments_is_raised_by_node(&plane, member, &client).await?;
    told("other arguments");
    jobs.abort();
    Ok(())
}

/// kubeadm would end well and do nothing: `upgrade node` takes the node for a worker.
fn a_node_without_a_manifest_is_no_worker(plane: &Plane, member: &Member) -> anyhow::Result<()> {
    let path = format!("{MANIFESTS}/kube-apiserver.yaml");
    let text = member.read(&path)?;
    fs::remove_file(member.path(&path)?)?;
    let ended = plane.raise(member, "missing", FAST);
    assert_eq!(ended["notRaised"]["phase"], "look", "{ended}");
    let detail = ended["notRaised"]["detail"].as_str().unwrap();
    assert!(
        detail.contains("kube-apiserver.yaml does not exist"),
        "{detail}"
    );
    assert!(member.read(&plane.log("missing")).is_err(), "kubeadm ran");
    member.write(&path, &text)
}

/// Without a kubelet no pod restarts, so kubeadm waits for its whole limit and goes back.
async fn kubeadm_that_fails_leaves_all_as_it_was(
    plane: &Plane,
    member: &Member,
) -> anyhow::Result<()> {
    let before = manifests(member);
    let ended = plane
        .begin(
            member,
            "one",
            &["--pod-seconds", "10", "--skip-phases", "preflight"],
        )
        .ended();
    member.start_kubelet()?;
    let failed = &ended["notRaised"];
    assert_eq!(failed["phase"], "kubeadm", "{ended}");
    assert_eq!(failed.get("swapped"), None, "it took all back: {ended}");
    let version = plane.cluster.images().version();
    assert_eq!(failed["versions"]["kube-scheduler"], version, "{ended}");
    assert_eq!(manifests(member), before);
    until("it serves", async || member.api_server_is_ready().await).await;
    Ok(())
}

/// kubeadm copies etcd before it changes anything.
fn full_disk_at_the_copy_leaves_all_as_it_was(
    plane: &Plane,
    member: &Member,
) -> anyhow::Result<()> {
    let before = manifests(member);
    let etcd = member.pod_process("etcd")?;
    let copies = "/etc/kubernetes/tmp";
    member.run("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs", copies])?;
    let ended = plane.raise(member, "one", FAST);
    member.run("umount", &[copies])?;
    let failed = &ended["notRaised"];
    assert_eq!(failed["phase"], "kubeadm", "{ended}");
    let detail = failed["detail"].as_str().unwrap_or_default();
    assert!(
        detail.starts_with("kubeadm ended with exit status 1"),
        "{detail}"
    );
    assert_eq!(failed.get("swapped"), None, "{ended}");
    assert_eq!(manifests(member), before);
    assert_eq!(member.pod_process("etcd")?, etcd);
    Ok(())
}

/// kubeadm ends with its program, and the next raise ends what both began.
async fn raise_whose_program_was_killed_goes_on(plane: &Plane, member: &Member) {
    let killed = plane.begin(member, "one", FAST);
    let runs = || member.run("pidof", &["kubeadm"]).is_ok();
    until("kubeadm", async || runs()).await;
    let kill = "kill -s KILL $(pidof careen-control)";
    member.run("sh", &["-c", kill]).unwrap();
    killed.gone();
    until("the end of kubeadm", async || !runs()).await;
    let ended = plane.raise(member, "one", FAST);
    assert_eq!(ended, json!({ "raised": plane.next.version() }));
}

/// What a power cut leaves of a manifest whose rename or content was not flushed.
enum Loss {
    Missing,
    Empty,
}

struct Cut<'a> {
    plane: &'a Plane,
    member: &'a Member,
    client: &'a Client,
}

impl Cut<'_> {
    /// Cuts the power when this manifest is new, and boots again.
    async fn at(&self, (pod, mark): (&str, &str), loss: Loss, more: &[&str]) -> anyhow::Result<()> {
        let raise = self.plane.begin(self.member, "one", more);
        swapped(self.member, pod, mark).await;
        self.member.cut_power();
        raise.gone();
        let path = format!("{MANIFESTS}/{pod}.yaml");
        let live = self.plane.file(self.member, &path);
        match loss {
            Loss::Missing => fs::remove_file(&live)?,
            Loss::Empty => fs::write(&live, "")?,
        }
        let said = self.plane.repair(self.member);
        assert!(said.contains(&format!("{pod}.yaml")), "{said}");
        let text = fs::read_to_string(&live)?;
        assert!(text.ends_with("status: {}\n"), "{text}");
        assert_eq!(self.plane.repair(self.member), "", "once is enough");
        self.member.boot()?;
        until("it serves after the cut", async || {
            self.member.api_server_is_ready().await && self.serves().await
        })
        .await;
        Ok(())
    }

    /// Cuts the power while kubeadm copies etcd. No manifest has changed.
    async fn at_the_copy(&self) -> anyhow::Result<()> {
        let before = manifests(self.member);
        let slow = Slow::copy(&self.plane.cluster.images().commands())?;
        let raise = self.plane.begin(self.member, "one", FAST);
        until("the copy", async || {
            self.member.run("pidof", &["-x", "cp"]).is_ok()
        })
        .await;
        self.member.cut_power();
        raise.gone();
        drop(slow);
        assert_eq!(self.plane.repair(self.member), "", "nothing was lost");
        self.member.boot()?;
        until("it serves after the cut", async || {
            self.member.api_server_is_ready().await && self.serves().await
        })
        .await;
        assert_eq!(manifests(self.member), before);
        Ok(())
    }

    async fn serves(&self) -> bool {
        native::is_ready(self.client).await
    }
}

/// A `cp` that never ends, where kubeadm finds it before the real one.
struct Slow(PathBuf);

impl Slow {
    fn copy(commands: &Path) -> anyhow::Result<Self> {
        let this = Self(commands.join("cp"));
        fs::write(&this.0, "#!/bin/sh\nmkdir -p \"$3/half\"\nsleep 600\n")?;
        fs::set_permissions(&this.0, Permissions::from_mode(0o755))?;
        Ok(this)
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn a_second_raise_changes_nothing(plane: &Plane, member: &Member) -> anyhow::Result<()> {
    let before = stamps(member)?;
    let ended = plane.raise(member, "one", FAST);
    assert_eq!(ended, json!({ "raised": plane.next.version() }));
    assert_eq!(stamps(member)?, before);
    Ok(())
}

/// As KubeadmControlPlane does it: the same version, and another flag in kubeadm-config.
async fn a_change_of_arguments_is_raised_by_node(
    plane: &Plane,
    member: &Member,
    client: &Client,
) -> anyhow::Result<()> {
    let flag = "apiServer:\n  extraArgs: [{name: profiling, value: 'false'}]";
    plane.configure(client, "apiServer:", flag).await?;
    let etcd = member.pod_process("etcd")?;
    let server = format!("{MANIFESTS}/kube-apiserver.yaml");
    let raise = plane.begin(member, "two", FAST);
    swapped(member, "kube-apiserver", "--profiling=false").await;
    // A person edits it meanwhile.
    let edited = member.read(&server)?;
    let first = "- kube-apiserver\n";
    member.write(
        &server,
        &edited.replace(first, &format!("{first}    - --v=1\n")),
    )?;
    let failed = &raise.ended()["notRaised"];
    assert_eq!(failed["phase"], "manifests", "{failed}");
    assert!(
        failed["detail"].to_string().contains("kube-apiserver.yaml"),
        "{failed}"
    );
    let ended = plane.raise(member, "two", FAST);
    assert_eq!(ended, json!({ "raised": plane.next.version() }));
    let text = member.read(&server)?;
    assert!(
        text.contains("--profiling=false") && !text.contains("--v=1"),
        "{text}"
    );
    assert_eq!(member.pod_process("etcd")?, etcd, "etcd was not restarted");
    let left = member.run("ls", &["/var/sysroot/ostree/careen"])?;
    assert_eq!(left.trim(), "control-two", "the earlier ledger is gone");
    Ok(())
}

/// When each file was written last.
fn stamps(member: &Member) -> anyhow::Result<String> {
    let find = ["/etc/kubernetes", "-type", "f", "-printf", "%p %T@\n"];
    member.run("find", &find)
}

fn manifests(member: &Member) -> Value {
    let read = |pod: &str| member.read(&format!("{MANIFESTS}/{pod}.yaml")).unwrap();
    json!(
        [
            "etcd",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler"
        ]
        .map(read)
    )
}
