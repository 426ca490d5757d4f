//! The arguments of the command line.

use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail, ensure};
use testkit::cluster_api::Version;

/// The default sizes.
const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// The default number of Machines for the real managers: as many as they handle on two cores.
const MACHINES: usize = 200;

/// The default number of prepared hosts.
const HOSTS: usize = 10_000;

/// The maximum is what two cores and one etcd can hold. The minimum is enough for a measurement.
const NODES_HELD: RangeInclusive<usize> = 10..=20_000;

/// The same limits with the real managers.
const MACHINES_HELD: RangeInclusive<usize> = 4..=400;

/// The limits of prepared hosts. 300 of them get a machine.
const HOSTS_HELD: RangeInclusive<usize> = 400..=20_000;

const USAGE: &str = "usage: provider-bench [--nodes 100,1000,10000 | --machines 200 [--minor v1.13] | --hosts 10000]";

/// What to measure.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The sizes for the measurement with played core.
    pub nodes: Vec<usize>,
    /// The number of Machines for the measurement with the real managers, if any.
    pub machines: Option<usize>,
    /// The minor of these managers.
    pub minor: Version,
    /// The number of prepared hosts, if any.
    pub hosts: Option<usize>,
}

impl Wanted {
    /// Parses the arguments. By default the benchmark measures everything, unless one of the three
    /// options is present.
    pub fn of(arguments: &[String]) -> Result<Self> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match arguments[..] {
            [] => Ok(Self {
                nodes: SIZES.to_vec(),
                hosts: Some(HOSTS),
                ..Self::with_managers(MACHINES, Version::NEWEST)
            }),
            ["--nodes", list] => Ok(Self {
                nodes: list
                    .split(',')
                    .map(|text| number("--nodes", text, &NODES_HELD))
                    .collect::<Result<_>>()?,
                ..Self::nothing()
            }),
            ["--hosts", count] => Ok(Self {
                hosts: Some(number("--hosts", count, &HOSTS_HELD)?),
                ..Self::nothing()
            }),
            ["--machines", count] => Ok(Self::with_managers(machines(count)?, Version::NEWEST)),
            ["--machines", count, "--minor", minor] => {
                Ok(Self::with_managers(machines(count)?, version(minor)?))
            }
            _ => bail!(USAGE),
        }
    }

    const fn nothing() -> Self {
        Self {
            nodes: Vec::new(),
            machines: None,
            minor: Version::NEWEST,
            hosts: None,
        }
    }

    fn with_managers(machines: usize, minor: Version) -> Self {
        Self {
            machines: Some(machines),
            minor,
            ..Self::nothing()
        }
    }
}

fn machines(count: &str) -> Result<usize> {
    number("--machines", count, &MACHINES_HELD)
}

fn version(text: &str) -> Result<Version> {
    let all = [Version::V1_13, Version::V1_14];
    let found = all.into_iter().find(|version| version.as_str() == text);
    found.with_context(|| {
        let accepted = all.map(Version::as_str).join(", ");
        format!("--minor {text:?}: accepted are {accepted}")
    })
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
        let hosts = wanted("--hosts 500").unwrap();
        assert_eq!(
            (hosts.nodes.len(), hosts.machines, hosts.hosts),
            (0, None, Some(500))
        );
    }

    #[test]
    fn the_managers_are_of_the_newest_minor_unless_another_is_named() {
        assert_eq!(wanted("").unwrap().minor, Version::NEWEST);
        assert_eq!(wanted("--machines 10").unwrap().minor, Version::NEWEST);
        let older = wanted("--machines 10 --minor v1.13").unwrap();
        assert_eq!(older.machines, Some(10));
        assert_eq!(older.minor, Version::V1_13);
        let why = wanted("--machines 10 --minor 1.12").unwrap_err();
        assert_eq!(why, "--minor \"1.12\": accepted are v1.13, v1.14");
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
