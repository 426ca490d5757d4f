//! The measurements at each size, and the table for a person: it shows the growth from left to
//! right.

use careen_tests::measured::shown;
use serde::Serialize;

/// One quantity at one size.
#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    /// Its name, with its unit.
    name: &'static str,
    value: f64,
    /// The highest permitted value.
    target: Option<f64>,
    /// Whether it is the lowest possible value of the quantity above.
    is_floor: bool,
}

impl Measure {
    /// A quantity with a target.
    pub fn at_most(name: &'static str, value: f64, target: f64) -> Self {
        Self {
            target: Some(target),
            ..Self::shown(name, value)
        }
    }

    /// A quantity without a target.
    pub fn shown(name: &'static str, value: f64) -> Self {
        Self {
            name,
            value,
            target: None,
            is_floor: false,
        }
    }

    /// The lowest possible value of the quantity above.
    pub fn floor(name: &'static str, value: f64) -> Self {
        Self {
            is_floor: true,
            ..Self::shown(name, value)
        }
    }
}

/// All quantities at one size. Each size has the same quantities in the same order.
#[derive(Debug, Serialize)]
pub struct Size {
    /// The number of nodes in flight.
    pub nodes: usize,
    /// The quantities.
    pub measures: Vec<Measure>,
}

/// Prints the table under this title.
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
