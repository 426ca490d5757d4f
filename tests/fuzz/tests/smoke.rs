//! Each target passes on its corpus, which includes the inputs that once broke it, and on some
//! thousands of seeded mutations. Another seed or more mutations: `CAREEN_SEED=7
//! CAREEN_MUTANTS=100000 cargo test -p careen-fuzz`.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use careen_fuzz::mutate::mutant;

/// The number of mutations for each target by default: all together take a few seconds.
const MUTANTS: u64 = 2500;

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(default, |text| text.parse().unwrap())
}

fn top() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("corpus")
}

fn names_in(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = top().join(target);
    let mut names = names_in(&folder);
    names.sort();
    names.iter().map(|name| folder.join(name)).collect()
}

/// Names the input that fails, so that it can become a file of the corpus.
fn hold(check: fn(&[u8]), input: &[u8], from: &Path) {
    if let Err(panic) = catch_unwind(|| check(input)) {
        eprintln!("{} broke it: {}", from.display(), input.escape_ascii());
        resume_unwind(panic);
    }
}

fn holds_for_its_corpus_and_for_mutants_of_it(target: &str, check: fn(&[u8])) {
    let (seed, mutants) = (number("CAREEN_SEED", 1), number("CAREEN_MUTANTS", MUTANTS));
    let paths = corpus(target);
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    for (path, input) in paths.iter().zip(&seeds) {
        hold(check, input, path);
    }
    let mut random = fastrand::Rng::with_seed(seed);
    for turn in 0..mutants {
        let input = mutant(&mut random, &seeds);
        hold(
            check,
            &input,
            &PathBuf::from(format!("mutant {turn} of seed {seed}")),
        );
    }
}

macro_rules! targets {
    ($($target:ident)*) => {
        $(#[test]
        fn $target() {
            holds_for_its_corpus_and_for_mutants_of_it(stringify!($target), careen_fuzz::$target::check);
        })*

        #[test]
        fn no_corpus_is_without_its_target() {
            let mut folders = names_in(&top());
            folders.sort();
            let mut targets = [$(stringify!($target)),*];
            targets.sort();
            assert_eq!(folders, targets);
        }
    };
}

/// A target that never reaches a trial proves nothing about trials.
#[test]
fn the_brains_corpus_leads_through_a_trial_to_each_of_its_ends() {
    let inputs = corpus("brain");
    let reached = inputs
        .iter()
        .flat_map(|path| careen_fuzz::brain::reached(&fs::read(path).unwrap()));
    let reached: BTreeSet<_> = reached.collect();
    let steps = [
        "Snapshot", "Arm", "Disarm", "Pass", "Kubeadm", "Bless", "Clean", "Release", "Reboot",
        "Undo",
    ];
    let phases = [
        "Armed",
        "Trial",
        "Healthy",
        "Blessed",
        "Upgraded",
        "Reverting",
        "Failed",
        "Halted",
    ];
    for name in steps.into_iter().chain(phases) {
        assert!(reached.contains(name), "{name}: {reached:?}");
    }
}

targets! { bootstrap brain cmdline entry grubenv image lines manifest menu plan policy record request said told }
