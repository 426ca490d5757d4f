//! What was measured at each size, and the table that a person reads: how it grows from left to right.

use careen_tests::measured::shown;
use serde::Serialize;

/// One quantity at one size.
#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    /// What it is, with its unit.
    name: &'static str,
    value: f64,
    /// What it must not go above.
    target: Option<f64>,
    /// It is what the quantity above cannot go below.
    is_floor: bool,
}

impl Measure {
    /// One that is held to a target.
    pub fn at_most(name: &'static str, value: f64, target: f64) -> Self {
        Self {
            target: Some(target),
            ..Self::shown(name, value)
        }
    }

    /// One that only shows.
    pub fn shown(name: &'static str, value: f64) -> Self {
        Self {
            name,
            value,
            target: None,
            is_floor: false,
        }
    }

    /// The least that the quantity above could be.
    pub fn floor(name: &'static str, value: f64) -> Self {
        Self {
            is_floor: true,
            ..Self::shown(name, value)
        }
    }
}

/// All quantities at one size, at each size the same in the same order.
#[derive(Debug, Serialize)]
pub struct Size {
    /// How many nodes were in flight.
    pub nodes: usize,
    /// The quantities.
    pub measures: Vec<Measure>,
}

/// Prints the table under this word.
pub fn print(head: &str, sizes: &[Size]) {
    let Some(first) = sizes.first() else { return };
    let heads = sizes.iter().map(|size| size.nodes.to_string());
    println!("{}", line(head, heads, "target"));
    for (place, measure) in first.measures.iter().enumerate() {
        let here = sizes.iter().filter_map(|size| size.measures.get(place));
        let values = here.map(|measure| shown(measure.value));
        let target = measure
            .target
            .map_or_else(String::new, |most| format!("≤ {most}"));
        println!("{}", line(measure.name, values, &target));
    }
}

fn line(name: &str, values: impl Iterator<Item = String>, target: &str) -> String {
    let values: String = values.map(|value| format!("{value:>10}")).collect();
    format!("{name:<62}{values}{target:>10}")
}
