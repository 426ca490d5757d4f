//! C1 to C3: three members are upgraded one after the other, by the agents and by hand.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use careen_tests::measured::median;
use careen_tests::row::Row;
use native::{Cluster, Images};

use crate::scene::{Scene, Turn};
use crate::ways::Way;

const MEMBERS: u8 = 3;

/// All turns of all runs, of either way.
#[derive(Default)]
struct Both {
    careen: Vec<Turn>,
    hand: Vec<Turn>,
}

/// Each run has two new clusters.
pub async fn measure(control: &Path, runs: usize) -> Result<Vec<Row>> {
    let mut both = Both::default();
    for run in 1..=runs {
        eprintln!("C1 to C3: run {run} of {runs}");
        let (cluster, image) = begin()?;
        let way = Way::careen(&cluster, &image, control);
        both.careen.extend(upgrade(cluster, way).await?);
        let (cluster, image) = begin()?;
        both.hand.extend(upgrade(cluster, Way::Hand(image)).await?);
    }
    Ok(both.rows())
}

fn begin() -> Result<(Arc<Cluster>, Arc<Images>)> {
    let cluster = Arc::new(Cluster::start(MEMBERS)?);
    let image = Arc::new(cluster.images().next_patch()?);
    Ok((cluster, image))
}

async fn upgrade(cluster: Arc<Cluster>, mut way: Way) -> Result<Vec<Turn>> {
    let scene = Scene::of(Arc::clone(&cluster)).await?;
    let mut turns = Vec::new();
    for number in 0..cluster.members().len() {
        let mark = scene.mark(number).await?;
        way.upgrade(&cluster, number).await?;
        let turn = scene.turn(number, mark).await?;
        eprintln!("{}: {turn:?}", cluster.members()[number].name());
        turns.push(turn);
    }
    scene.end().await?;
    Ok(turns)
}

type Value = fn(&Turn) -> f64;

impl Both {
    fn rows(&self) -> Vec<Row> {
        let row = |name, value: Value, target| self.row(name, value, target, |_| true);
        vec![
            row("C1 own API server away, a turn, s", |turn| turn.own, None),
            row(
                "   API away at the balancer, a turn, s",
                |turn| turn.balancer,
                None,
            ),
            row("C2 longest gap of writes, a turn, s", |turn| turn.gap, None),
            self.row(
                "   of a member that led, s",
                |turn| turn.gap,
                None,
                |turn| turn.led,
            ),
            row("C3 elections, a turn", |turn| turn.elections, None),
            self.row(
                "   of a member that led",
                |turn| turn.elections,
                Some(0.0),
                |turn| turn.led,
            ),
            row("   the whole turn, s", |turn| turn.seconds, None),
        ]
    }

    fn row(
        &self,
        name: &'static str,
        value: Value,
        target: Option<f64>,
        is_of: fn(&Turn) -> bool,
    ) -> Row {
        let values = |turns: &[Turn]| -> Vec<f64> {
            let turns = turns.iter().filter(|turn| is_of(turn));
            turns.map(value).collect()
        };
        let hand = values(&self.hand);
        let most = hand.iter().copied().fold(0.0, f64::max);
        Row {
            name,
            runs: values(&self.careen),
            floor: format!("by hand: {:.2}, most {most:.2}", median(&hand)),
            target,
        }
    }
}
