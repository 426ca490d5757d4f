//! What the command line asks for.

use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail, ensure};

/// The sizes where nobody names others.
const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// How many Machines the real managers have where nobody says so: what they carry on two cores.
const MACHINES: usize = 200;

/// What two cores and one etcd can hold; and what is too few to measure anything with.
const NODES_HELD: RangeInclusive<usize> = 10..=20_000;

/// The same where the managers take part.
const MACHINES_HELD: RangeInclusive<usize> = 4..=400;

/// What is to be measured.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    /// With core played: at these sizes.
    pub nodes: Vec<usize>,
    /// With the real managers: with so many Machines, if at all.
    pub machines: Option<usize>,
}

impl Wanted {
    /// Everything, unless one of the two is named.
    pub fn of(arguments: &[String]) -> Result<Self> {
        match arguments {
            [] => Ok(Self {
                nodes: SIZES.to_vec(),
                machines: Some(MACHINES),
            }),
            [flag, list] if flag == "--nodes" => Ok(Self {
                nodes: list
                    .split(',')
                    .map(|text| number(flag, text, &NODES_HELD))
                    .collect::<Result<_>>()?,
                machines: None,
            }),
            [flag, count] if flag == "--machines" => Ok(Self {
                nodes: Vec::new(),
                machines: Some(number(flag, count, &MACHINES_HELD)?),
            }),
            _ => bail!("usage: provider-bench [--nodes 100,1000,10000 | --machines 200]"),
        }
    }
}

fn number(flag: &str, text: &str, held: &RangeInclusive<usize>) -> Result<usize> {
    let number: usize = text
        .parse()
        .with_context(|| format!("{flag} {text:?} is no number"))?;
    ensure!(
        held.contains(&number),
        "{flag} {number}: accepted are {held:?}"
    );
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> Result<Wanted, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Wanted::of(&words).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn all_is_measured_unless_one_part_is_named() {
        let both = wanted("").unwrap();
        assert_eq!((both.nodes.len(), both.machines), (3, Some(200)));
        let played = wanted("--nodes 100,300").unwrap();
        assert_eq!((played.nodes, played.machines), (vec![100, 300], None));
        let real = wanted("--machines 10").unwrap();
        assert_eq!((real.nodes, real.machines), (vec![], Some(10)));
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_what_can() {
        let why = wanted("--machines 1000").unwrap_err();
        assert_eq!(why, "--machines 1000: accepted are 4..=400");
        let why = wanted("--nodes 100,few").unwrap_err();
        assert!(why.starts_with("--nodes \"few\" is no number"), "{why}");
        assert!(wanted("--machines").unwrap_err().starts_with("usage: "));
    }
}
