//! A shell in a joined node, over the test channel: one line, one answer.

use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

use crate::images::DiskKind;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::runner::out;

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
    let mut lines = BufReader::new(stdin()).lines();
    loop {
        eprint!("node1# ");
        let Some(line) = lines.next_line().await? else {
            return Ok(());
        };
        match rig.guest.try_run(&line, Duration::from_secs(600)).await {
            Ok(output) => print!("{}", output.text),
            Err(error) => eprintln!("{error:#}"),
        }
    }
}
