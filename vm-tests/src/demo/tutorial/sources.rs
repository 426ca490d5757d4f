//! Compares each line of docs/tutorial.md with the sources; `make demo WAY=tutorial` types it.

use std::fs;

use anyhow::Result;
use rig::node;
use rig::workload::BUDGET;
use testkit::programs;
use upgrade::{Phase, names};

use super::page::{Block, Place, blocks, text};

/// The commands that a newcomer's machine has, or gets from the page's first lines.
const ON_THE_HOST: [&str; 9] = [
    "k", "kubectl", "make", "cargo", "apt-get", "cd", "export", "alias", "echo",
];
const ON_THE_NODE: [&str; 5] = ["ostree", "journalctl", "cat", "printf", AGENT];
const AGENT: &str = "/usr/libexec/careen/careen-agent";

/// The prefixes of names on the Node.
const DOMAINS: [&str; 3] = [
    "careen.dev/",
    "controlplane.cluster.x-k8s.io/",
    "infrastructure.cluster.x-k8s.io/",
];

fn source(path: &str) -> String {
    fs::read_to_string(programs::home().join("..").join(path)).unwrap_or_default()
}

fn page() -> Result<Vec<Block>> {
    blocks(&text()?)
}

/// The lines that are typed at this place.
fn typed(blocks: &[Block], place: Place) -> Vec<&str> {
    let there = blocks.iter().filter(|block| block.mark.place == place);
    there
        .flat_map(|block| &block.typed)
        .map(String::as_str)
        .collect()
}

fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.bytes().all(|c| c.is_ascii_uppercase() || c == b'_')
}

#[test]
fn every_block_names_its_place_and_both_terminals_are_used() -> Result<()> {
    let blocks = page()?;
    let count = |place| {
        blocks
            .iter()
            .filter(|block| block.mark.place == place)
            .count()
    };
    assert!(
        count(Place::Host) > 10 && count(Place::Node) > 4,
        "{blocks:#?}"
    );
    Ok(())
}

#[test]
fn every_line_begins_with_a_program_that_is_there() -> Result<()> {
    let blocks = page()?;
    for place in [Place::Before, Place::Host, Place::Third] {
        for line in typed(&blocks, place) {
            let word = first_word(line);
            assert!(ON_THE_HOST.contains(&word) || is_assignment(word), "{line}");
        }
    }
    for line in typed(&blocks, Place::Node) {
        assert!(ON_THE_NODE.contains(&first_word(line)), "{line}");
    }
    Ok(())
}

#[test]
fn the_agent_knows_each_verb_and_the_node_has_each_unit() -> Result<()> {
    let (arguments, blocks) = (source("src/agent/src/args.rs"), page()?);
    for line in typed(&blocks, Place::Node) {
        if let Some(verb) = line.strip_prefix(AGENT).map(str::trim) {
            let (first, rest) = verb.split_at(1);
            let variant = format!("    {}{rest}", first.to_uppercase());
            assert!(arguments.contains(&variant), "{line}");
        }
        if let Some((_, unit)) = line.split_once(" -u ") {
            let unit = format!("{}.service", first_word(unit));
            let ours = names::TABLE.iter().any(|row| row.name == unit);
            assert!(ours || unit == "kubelet.service", "{line}");
        }
    }
    Ok(())
}

#[test]
fn every_name_on_the_node_is_one_of_the_code() -> Result<()> {
    let text = text()?.replace("\\.", ".");
    let mut seen = 0;
    for domain in DOMAINS {
        for rest in text.split(domain).skip(1) {
            let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '-'));
            let name = format!(
                "{domain}{}",
                rest[..end.unwrap_or(rest.len())].trim_end_matches('-')
            );
            assert!(names::TABLE.iter().any(|row| row.name == name), "{name}");
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen}");
    Ok(())
}

#[test]
fn node_and_budget_are_those_of_the_rig() -> Result<()> {
    let blocks = page()?;
    let host = typed(&blocks, Place::Host);
    let after = |word: &str| {
        let lines = host.iter().filter_map(|line| line.split_once(word));
        lines.map(|(_, rest)| first_word(rest)).collect::<Vec<_>>()
    };
    let (nodes, budgets) = (after(" node "), after(" pdb "));
    assert!(
        !nodes.is_empty() && nodes.iter().all(|name| *name == node::NAME),
        "{nodes:?}"
    );
    assert!(
        !budgets.is_empty() && budgets.iter().all(|name| *name == BUDGET),
        "{budgets:?}"
    );
    Ok(())
}

#[test]
fn what_is_looked_for_stands_in_the_page_and_each_phase_is_one() -> Result<()> {
    let text = text()?;
    let prose: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("<!--"))
        .collect();
    let prose = prose.join(" ");
    for block in page()? {
        let line = block.line;
        for promised in block.mark.says.iter().chain(&block.mark.until) {
            assert!(prose.contains(promised), "line {line}: {promised}");
        }
        if let Some(phase) = &block.mark.when {
            assert!(
                Phase::NAMES.contains(&phase.as_str()),
                "line {line}: {phase}"
            );
        }
    }
    Ok(())
}

#[test]
fn what_the_shell_of_the_node_prints_is_what_the_page_says() -> Result<()> {
    let (shell, blocks) = (source("vm-tests/src/shell.rs"), page()?);
    let printed = typed(&blocks, Place::Printed);
    assert_eq!(printed.len(), 3, "{printed:?}");
    for line in printed {
        let words = line.split('…').next().unwrap_or_default();
        assert!(shell.contains(words), "{line}");
    }
    Ok(())
}
