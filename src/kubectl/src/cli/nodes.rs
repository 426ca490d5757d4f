//! Which nodes a command applies to.

use clap::Args;

/// Nodes that must be named, one way or the other.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct Chosen {
    /// Names of nodes.
    #[arg(value_name = "NODE", value_parser = node_name)]
    nodes: Vec<String>,
    /// All nodes with these labels.
    #[arg(short = 'l', long, value_name = "LABELS", value_parser = labels)]
    selector: Option<String>,
}

/// Nodes; all where none is named.
#[derive(Args, Clone, Debug)]
#[group(multiple = false)]
pub struct ChosenOrAll {
    /// Names of nodes (default: all).
    #[arg(value_name = "NODE", value_parser = node_name)]
    nodes: Vec<String>,
    /// All nodes with these labels.
    #[arg(short = 'l', long, value_name = "LABELS", value_parser = labels)]
    selector: Option<String>,
}

/// Parses the name of a Node, as `kubectl get nodes` or `-o name` prints it. Anything else in a URL
/// would address another object.
pub(super) fn node_name(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("node/").unwrap_or(text);
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_name = name.starts_with(fits)
        && name.ends_with(fits)
        && name.chars().all(|c| fits(c) || matches!(c, '-' | '.'));
    if is_name {
        return Ok(name.to_owned());
    }
    let wrong = upgrade::typo::first(name, |c| fits(c) || matches!(c, '-' | '.'));
    let wrong = wrong.unwrap_or_else(|| "it begins or ends with a dash or a dot".to_owned());
    Err(format!(
        "{wrong}; use the name of a Node, as `kubectl get nodes` lists it"
    ))
}

/// An empty selector means all nodes to the API server. On the command line it means an unset
/// variable, so it is rejected.
fn labels(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("it would select every node; use labels, for example role=edge".to_owned());
    }
    Ok(text.to_owned())
}

/// The chosen nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The nodes with these names.
    Named(Vec<String>),
    /// The nodes with these labels.
    Selected(String),
    /// All nodes.
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

    #[test]
    fn a_node_is_named_as_kubectl_names_it() {
        for text in ["worker-1", "node/worker-1", "ip-10-0-0-1.ec2.internal", "7"] {
            let name = text.trim_start_matches("node/").to_owned();
            assert_eq!(node_name(text), Ok(name));
        }
        for text in [
            "", "node/", "a/status", "pod/a", "Worker", "a b", "-a", "a?x=y", "..", "é",
        ] {
            assert!(node_name(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn labels_that_are_none_do_not_mean_all_nodes() {
        assert_eq!(labels("role=edge,!gpu").as_deref(), Ok("role=edge,!gpu"));
        assert!(labels("").is_err() && labels(" ").is_err());
    }
}
