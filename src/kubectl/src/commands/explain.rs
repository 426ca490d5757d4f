//! `kubectl careen explain`.

use serde::Serialize;

use super::choose::learn;
use super::session::Session;
use crate::cli::Choice;
use crate::diagnose::{self, Explanation};
use crate::duration;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::report::{self, NodeReport};
use crate::render::{explain, formatted};
use crate::view::NodeView;

/// The output for programs.
#[derive(Serialize)]
struct Explained {
    #[serde(flatten)]
    node: NodeReport,
    #[serde(flatten)]
    explanation: Explanation,
}

/// Explains why a node is in its state.
///
/// # Errors
/// See [`Failure`].
pub async fn run(name: &str, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let node: NodeView = session.cluster.node(name).await?.into();
    let choice = Choice::Named(vec![name.to_owned()]);
    let expected = learn(&session.cluster, std::slice::from_ref(&node), &choice).await;
    let now = duration::seconds(session.console.now());
    let data = Explained {
        node: report::of(&node, now, &expected),
        explanation: diagnose::explain(&node, now, &expected),
    };
    let look = session.console.look;
    let text = formatted(session.format, &data, |_| {
        explain::explain(&data.explanation, look)
    })?;
    session.console.print(&text)?;
    Ok(Exit::Done)
}
