//! The agent dies in every step, and the next one continues.

use std::time::Duration;

use anyhow::{Context, Result};
use careen_tests::cluster::PATIENCE;
use careen_tests::machine::{Fault, NEW_IMAGE};
use careen_tests::node::is_cordoned;
use careen_tests::scene::Scene;
use careen_tests::wire::State;
use futures::{FutureExt, StreamExt, stream};
use kube::ResourceExt;
use serde_json::json;
use upgrade::observe::Check;
use upgrade::{Reason, names};

/// What the agent does when the test kills it.
struct Inside {
    step: &'static str,
    when: When,
}

/// How the test holds the agent in the step.
enum When {
    /// The machine hangs in the step, in the old system.
    Before,
    /// The machine hangs in the step, during or after the trial.
    OnTrial,
    /// The agent sends a request to the API server over a wire that became silent while the machine
    /// was held in the step before.
    Asking { behind: &'static str },
}

use When::{Asking, Before, OnTrial};

const fn inside(step: &'static str, when: When) -> Inside {
    Inside { step, when }
}

/// Every step of [`upgrade::Step`] except `Pass`, which belongs to the guard in the initramfs and
/// not to an agent.
const STEPS: [Inside; 17] = [
    inside("Fetch", Before),
    inside("Verify", Before),
    inside("Rehearse", Asking { behind: "Verify" }),
    inside("Deploy", Before),
    inside("PreHooks", Before),
    inside("Exclude", Asking { behind: "PreHooks" }),
    inside("Drain", Asking { behind: "PreHooks" }),
    inside("Snapshot", Before),
    inside("Arm", Before),
    inside("Disarm", Before),
    inside("Reboot", Before),
    inside("Kubeadm", OnTrial),
    inside("Bless", OnTrial),
    inside("PostHooks", OnTrial),
    inside(
        "Release",
        Asking {
            behind: "PostHooks",
        },
    ),
    inside("Clean", OnTrial),
    inside("Undo", Before),
];

impl Inside {
    /// A node with hooks, in a state that makes this step necessary.
    async fn scene(&self) -> Result<Scene> {
        let policy = match self.step {
            "Exclude" => "retry-seconds = 1\n[load-balancer]\nexclude = true\nwait-seconds = 0\n",
            _ => "retry-seconds = 1\n",
        };
        let scene = Scene::with_policy(&self.step.to_lowercase(), policy).await?;
        // Every kubelet sets labels on its Node.
        let hostname = json!({ "kubernetes.io/hostname": scene.node.name });
        scene.node.label(hostname).await?;
        let machine = &scene.machine;
        machine.add_hook("pre.d/10-nothing", "exit 0")?;
        machine.add_hook("post.d/10-nothing", "exit 0")?;
        match self.step {
            "Disarm" => machine.fault("Reboot", Some(Fault::Fails(refused()))),
            "Kubeadm" => {
                machine.set_local(|local| local.kubeadm = Check::Fail("not yet".to_owned()))
            }
            "Undo" => machine.fault("Verify", Some(Fault::Fails(no_kernel()))),
            _ => {}
        }
        match self.when {
            Before | OnTrial => machine.fault(self.step, Some(Fault::Hangs)),
            Asking { behind } => machine.fault(behind, Some(Fault::Held)),
        }
        Ok(scene)
    }

    fn is_behind_the_reboot(&self) -> bool {
        matches!(self.when, OnTrial) || self.step == "Release"
    }

    /// Waits until the agent is in the step.
    async fn come_true(&self, scene: &Scene) -> Result<()> {
        let Asking { behind } = self.when else {
            scene.machine.until_begun(self.step, 0).await;
            return Ok(());
        };
        scene.machine.until_begun(behind, 0).await;
        scene.node.wire.set(State::Dead);
        scene.machine.fault(behind, None);
        until_recorded(scene, self.step).await
    }

    /// Removes all obstacles.
    fn is_over(&self, scene: &Scene) {
        scene.machine.fault(self.step, None);
        scene.machine.fault("Reboot", None);
        scene.node.wire.set(State::Open);
    }
}

fn refused() -> Reason {
    Reason::RebootRefused {
        detail: "somebody holds it up".to_owned(),
    }
}

fn no_kernel() -> Reason {
    Reason::NoKernel {
        commit: "bbbbbbbbbbbb".to_owned(),
    }
}

/// Waits until the record names this step as the one that began last.
async fn until_recorded(scene: &Scene, step: &str) -> Result<()> {
    let store = scene.machine.store();
    let begun = || {
        let record = store.read().ok()?;
        Some(record.upgrade?.intent?.name() == step)
    };
    let look = async {
        while begun() != Some(true) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let looked = tokio::time::timeout(PATIENCE, look).await;
    looked.with_context(|| format!("{step} was never begun"))
}

/// Kills the agent in one step, starts it again, and completes the upgrade.
async fn survives(inside: Inside) -> Result<()> {
    let step = inside.step;
    let mut scene = inside.scene().await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    if inside.is_behind_the_reboot() {
        scene.reboot().await?;
    }
    inside.come_true(&scene).await?;
    scene.kill_agent()?;
    inside.is_over(&scene);
    scene.start_agent()?;
    let fails = step == "Undo";
    if !fails && !inside.is_behind_the_reboot() {
        scene.reboot().await?;
    }
    let answer = if fails { "Failed" } else { "Upgraded" };
    let node = tokio::select! {
        node = scene.node.until_answered(answer) => node?,
        failed = reports(&scene), if step == "Kubeadm" => return failed,
    };
    assert!(!is_cordoned(&node), "{step}");
    assert!(!node.labels().contains_key(names::EXCLUDED), "{step}");
    let ended = (scene.machine.boots(), scene.machine.menu());
    let wanted = if fails { (0, "a") } else { (1, "ba") };
    assert_eq!((ended.0, ended.1.as_str()), wanted, "{step}");
    if !matches!(inside.when, Asking { .. }) {
        assert_eq!(scene.machine.times(step), 2, "{step} begins once more");
    }
    Ok(())
}

/// The restarted kubelet reports repeatedly, as kubelets do.
async fn reports(scene: &Scene) -> Result<()> {
    loop {
        scene.kubelet_registers().await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The number of concurrent tests: each has an agent and a Node.
const TOGETHER: usize = 6;

#[tokio::test]
async fn killed_in_any_step_it_resumes() -> Result<()> {
    let all = STEPS.map(|inside| async {
        let step = inside.step;
        let survived = survives(inside).await;
        survived.with_context(|| format!("killed in {step}"))
    });
    // Boxed, because all of them together exceed a test's stack.
    let all = all.map(FutureExt::boxed_local);
    let mut all = stream::iter(all).buffer_unordered(TOGETHER);
    while let Some(survived) = all.next().await {
        survived?;
    }
    Ok(())
}
