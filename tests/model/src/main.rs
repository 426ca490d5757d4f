//! `careen-model`: explores the model. Without arguments it performs the larger run of `make soak`;
//! with arguments it performs one exploration: `careen-model <flaw or any> <misfortunes> <cuts>
//! <people> [mutant] [stuck] [careful] [alone] [host] [SHAPE]`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use careen_model::check::{Chain, explore_aloud};
use careen_model::mistakes::{MUTANTS, OF_CONTROL_PLANES, OF_HOSTS};
use careen_model::plane::SHAPES;
use careen_model::runs::{self, Run, SOAK_STATES};
use careen_model::world::{FLAWS, Flaw, Left};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let at_large = args.is_empty();
    let runs = if at_large {
        runs::soak()
    } else {
        match one(&args) {
            Some(run) => vec![run],
            None => {
                eprintln!(
                    "usage: careen-model [<flaw or any> <misfortunes> <cuts> <people> [mutant] [stuck] [careful] [alone] [host] [Single|First|Last|Raised|Unshared]]"
                );
                return ExitCode::FAILURE;
            }
        }
    };
    let mut states = 0;
    for Run { name, chain } in runs {
        let mut say = |line: String| println!("{name}: {line} so far");
        let explored = explore_aloud(chain, &mut say);
        states += explored.states;
        println!("{}", explored.line(&name));
        if let Some(wrong) = explored.wrong {
            eprintln!("{}\n{}", wrong.promise, wrong.way);
            return ExitCode::FAILURE;
        }
    }
    if at_large && states < SOAK_STATES {
        eprintln!("only {states} distinct states, and at least {SOAK_STATES} are expected");
        return ExitCode::FAILURE;
    }
    println!("{states} distinct states in all, every promise kept");
    ExitCode::SUCCESS
}

fn one(args: &[String]) -> Option<Run> {
    let [flaw, all, cuts, people, rest @ ..] = args else {
        return None;
    };
    let flaws: Vec<_> = FLAWS
        .into_iter()
        .chain([Flaw::MemberDown])
        .filter(|known| flaw == "any" || format!("{known:?}") == *flaw)
        .collect();
    let mutants = MUTANTS.into_iter().chain(OF_CONTROL_PLANES).chain(OF_HOSTS);
    let mutant = mutants
        .into_iter()
        .find(|known| rest.contains(&format!("{known:?}")));
    let left = Left {
        all: all.parse().ok()?,
        cuts: cuts.parse().ok()?,
        people: people.parse().ok()?,
    };
    let stuck = rest.iter().any(|word| word == "stuck");
    let chain = Chain::new(&flaws, stuck, left, mutant);
    let has = |wanted: &str| rest.iter().any(|word| word == wanted);
    let chain = if has("careful") {
        chain.with_care()
    } else {
        chain
    };
    let shape = SHAPES.into_iter().find(|known| has(&format!("{known:?}")));
    let chain = match shape {
        Some(shape) => chain.on_a_control_plane(shape),
        None => chain,
    };
    let chain = if has("host") {
        chain.on_a_host()
    } else {
        chain
    };
    (!flaws.is_empty()).then(|| Run {
        name: args.join(" "),
        chain: if has("alone") { chain.alone() } else { chain },
    })
}
