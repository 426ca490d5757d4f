//! Serves a pod: starts its program, or carries a connection to its program's port.

use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use far_pod::{Message, receive, send};
use testkit::process::Process;

use super::program::Wanted;
use super::session::Session;
use super::shared::Shared;

/// A pod says every two seconds that it is there. A guest may be slow, and one that was reset says
/// no more.
const SILENCE: Duration = Duration::from_secs(20);

/// Serves a connection of a pod.
pub fn serve(shared: &Shared, line: TcpStream) -> Result<()> {
    line.set_nodelay(true)?;
    match receive(&line)? {
        Message::Image(image) => run(shared, &Wanted::of(image, &line)?, line),
        Message::Connect(_, address) => {
            let far = shared.network.connect(address.parse()?)?;
            Ok(shared.carried.carry(&line, &far)?)
        }
        other => bail!("a pod begins with {other:?}"),
    }
}

fn run(shared: &Shared, wanted: &Wanted, line: TcpStream) -> Result<()> {
    line.set_read_timeout(Some(SILENCE))?;
    let label = format!("{:03}-{}", shared.begin(&wanted.boot), wanted.name());
    let log = shared.folder.join(format!("{label}.log"));
    match start(shared, wanted, &label, &log) {
        Ok(process) => {
            let session = Arc::new(Session::new(&wanted.image, line, process));
            shared.add(&session);
            session.live(&log);
            shared.remove(&session);
            Ok(())
        }
        Err(error) => {
            let said = format!("{error:#}\n").into_bytes();
            send(&line, &Message::Output(said))?;
            Ok(send(&line, &Message::Ended(1))?)
        }
    }
}

fn start(shared: &Shared, wanted: &Wanted, label: &str, log: &Path) -> Result<Process> {
    let program = shared.programs.get(&wanted.image);
    let program =
        program.with_context(|| format!("the rig has no program for {}", wanted.image))?;
    wanted.start(program, &shared.network, &shared.folder.join(label), log)
}
