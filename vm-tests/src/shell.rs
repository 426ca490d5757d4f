//! A shell in a joined node, over the test channel: one line, one answer.

use std::time::Duration;

use anyhow::Result;
use rig::Rig;
use rig::images::DiskKind;
use rig::kubectl_careen::KubectlCareen;
use rig::progress::Progress;
use testkit::programs::out;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

/// Starts a node and takes commands until the end of input.
///
/// # Errors
///
/// Fails when the node does not start.
pub async fn run() -> Result<()> {
    let mut rig = Rig::start(DiskKind::Bios, &out().join("shell"), Progress::new("shell")).await?;
    eprintln!(
        "kubectl for this cluster: {} --kubeconfig {}",
        rig.plane.program("kubectl").display(),
        rig.plane.admin_kubeconfig().display()
    );
    eprintln!("each line runs in the node as root; end with Ctrl-D");
    eprintln!("`careen VERB…` runs kubectl careen; `:off` cuts the power and `:on` brings it back");
    let careen = KubectlCareen::of(&rig)?;
    let mut lines = BufReader::new(stdin()).lines();
    loop {
        eprint!("node1# ");
        let Some(line) = lines.next_line().await? else {
            return Ok(());
        };
        match one(&mut rig, &careen, &line).await {
            Ok(text) => print!("{text}"),
            Err(error) => eprintln!("{error:#}"),
        }
    }
}

/// Runs one line: of kubectl careen, of the power, or in the node.
async fn one(rig: &mut Rig, careen: &KubectlCareen, line: &str) -> Result<String> {
    match line.trim() {
        ":off" => rig.cut_power().map(|()| String::new()),
        ":on" => {
            rig.power_on().await?;
            rig.wait_boot(None).await
        }
        line => match line.strip_prefix("careen ") {
            Some(line) => Ok(careen.run(line).await?.text),
            None => {
                let output = rig.guest.try_run(line, Duration::from_secs(600)).await?;
                Ok(output.text)
            }
        },
    }
}
