//! `kubectl careen status`.

use super::choose::{choose, learn};
use super::follow::{self, Course};
use super::session::Session;
use super::show::Shown;
use crate::api::Cluster;
use crate::cli::{Choice, Status};
use crate::duration;
use crate::exit::Exit;
use crate::expected::Expected;
use crate::failure::Failure;
use crate::lock::LockView;
use crate::render::formatted;
use crate::render::lock::line;
use crate::render::report::{self, NodeReport};
use crate::render::status::{Around, status};
use crate::view::NodeView;

/// Shows the progress of nodes.
///
/// # Errors
/// See [`Failure`].
pub async fn run(asked: &Status, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let choice = Choice::from(&asked.nodes);
    let nodes = choose(&session.cluster, &choice).await?;
    let expected = learn(&session.cluster, &nodes, &choice).await;
    if asked.watch {
        watch(&choice, expected, session).await?;
    } else {
        let lock = lock(&session.cluster).await;
        print(&nodes, lock.as_ref(), &expected, session)?;
    }
    Ok(Exit::Done)
}

/// The lock of the control plane. A user who may not read it still gets the nodes.
async fn lock(cluster: &Cluster) -> Option<LockView> {
    LockView::of(cluster.lock().await.ok()??)
}

async fn watch(
    choice: &Choice,
    expected: Expected,
    session: &mut Session<'_>,
) -> Result<(), Failure> {
    let mut shown = Shown::new(expected, session.format);
    let course = Course {
        choice,
        timeout: None,
    };
    follow::follow(session, course, &mut shown, |_| false).await?;
    Ok(())
}

fn print(
    nodes: &[NodeView],
    lock: Option<&LockView>,
    expected: &Expected,
    session: &mut Session<'_>,
) -> Result<(), Failure> {
    let now = duration::seconds(session.console.now());
    let reports: Vec<NodeReport> = nodes
        .iter()
        .map(|node| report::of(node, now, expected).with_lock(lock))
        .collect();
    let look = session.console.look;
    let text = formatted(session.format, &reports, |wide| {
        let nodes: Vec<&NodeView> = nodes.iter().collect();
        let around = Around {
            now,
            expected,
            wide,
            look,
        };
        let locked = lock.map(|lock| line(lock, now, look));
        status(&nodes, around) + &locked.unwrap_or_default()
    })?;
    session.console.print(&text)
}
