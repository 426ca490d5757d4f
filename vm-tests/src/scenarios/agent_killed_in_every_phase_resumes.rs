//! The agent is killed in every phase and goes on where it was.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "agent-killed-in-every-phase-resumes",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Every phase with an agent that lives long enough to be killed: `Armed` is the shutdown.
const PHASES: [&str; 8] = [
    "Accepted", "Fetched", "Verified", "Deployed", "Drained", "Trial", "Healthy", "Blessed",
];

/// Those that take seconds, so that they are never over before they are seen: fetch, verify, deploy, drain, a kubelet's start.
const LONG: [&str; 5] = ["Accepted", "Fetched", "Verified", "Deployed", "Trial"];

/// The last before the reboot: by the time that the Node tells of it there may be nobody to kill and nobody to answer.
const LAST: &str = "Drained";

const KILL: &str = "pid=$(systemctl show --value -p MainPID careen-agent) && [ \"$pid\" != 0 ] && kill -KILL \"$pid\"";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    let mut hit = Vec::new();
    for phase in PHASES {
        let view = rig.wait_phase(phase, UPGRADE).await?;
        // A phase that was over before the Node could tell of it is none to be killed in.
        if view.phase() == phase && kill(rig, phase).await? {
            hit.push(phase);
        }
    }
    rig.expect_upgraded(&before, &image).await?;
    rig.progress.step(&format!("it was killed in {hit:?}"));
    ensure!(
        LONG.iter().all(|phase| hit.contains(phase)),
        "it was killed in {hit:?} only, not in all of {LONG:?}"
    );
    Ok(())
}

/// Whether the agent lived until then.
async fn kill(rig: &mut Rig, phase: &str) -> Result<bool> {
    rig.progress.step(&format!("kill -9 in {phase}"));
    let killed = rig.guest.try_run(KILL, MINUTE).await;
    if phase == LAST {
        return Ok(killed.is_ok_and(|output| output.code == 0));
    }
    let output = killed?;
    ensure!(
        output.code == 0,
        "no agent was there to be killed in {phase}: {}",
        output.text
    );
    Ok(true)
}
