//! Which nodes a command is about.

use clap::Args;

/// Nodes that must be named, one way or the other.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct Chosen {
    /// Names of nodes.
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,
    /// All nodes with these labels.
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
}

/// Nodes; all where none is named.
#[derive(Args, Clone, Debug)]
#[group(multiple = false)]
pub struct ChosenOrAll {
    /// Names of nodes; all without any.
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,
    /// All nodes with these labels.
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
}

/// Which nodes are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// These.
    Named(Vec<String>),
    /// Those with these labels.
    Selected(String),
    /// All.
    All,
}

impl From<&Chosen> for Choice {
    fn from(nodes: &Chosen) -> Self {
        choice(&nodes.nodes, nodes.selector.as_ref())
    }
}

impl From<&ChosenOrAll> for Choice {
    fn from(nodes: &ChosenOrAll) -> Self {
        choice(&nodes.nodes, nodes.selector.as_ref())
    }
}

fn choice(names: &[String], selector: Option<&String>) -> Choice {
    match (names, selector) {
        (_, Some(selector)) => Choice::Selected(selector.clone()),
        ([], None) => Choice::All,
        (names, None) => {
            let mut once: Vec<String> = Vec::new();
            for name in names {
                if !once.contains(name) {
                    once.push(name.clone());
                }
            }
            Choice::Named(once)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_named_twice_is_meant_once() {
        let names = ["a", "b", "a"].map(str::to_owned);
        let once = Choice::Named(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(choice(&names, None), once);
    }
}
