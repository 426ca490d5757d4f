//! The path to an error, in a form for a person.

use stateright::Path;

use crate::brain::phase;
use crate::chain::{Action, Chain, RESTLESS};
use crate::machine::calm;
use crate::promises;
use crate::world::{Pc, State};

/// The number of printed lines of a path. Of the earlier lines only the faults are printed.
const SHOWN: usize = 60;

/// An error.
pub struct Wrong {
    /// The broken promise.
    pub promise: &'static str,
    /// The end of the path to it, one step a line.
    pub way: String,
}

/// The faults and the machine's next actions, then the calm run up to the error.
#[must_use]
pub fn tell(chain: &Chain, path: Path<State, Action>) -> Wrong {
    let mut now = path.last_state().clone();
    let promise = chain.wrong(&now).unwrap_or("unknown");
    let steps = path.into_vec();
    let mut lines: Vec<String> = steps
        .iter()
        .map(|(state, action)| line(state, action.as_ref()))
        .collect();
    for _ in 0..RESTLESS {
        let Some(next) = calm(chain.mutant, &now).filter(|_| promises::broken(&now).is_none())
        else {
            break;
        };
        now = next;
        lines.push(line(&now, None));
    }
    let way = shorten(&lines);
    Wrong { promise, way }
}

fn shorten(lines: &[String]) -> String {
    let (before, shown) = lines.split_at(lines.len().saturating_sub(SHOWN));
    let misfortunes = before.iter().filter(|line| line.contains("<=="));
    let left_out = format!("… {} of {} lines", SHOWN.min(lines.len()), lines.len());
    let all: Vec<&str> = misfortunes
        .chain(std::iter::once(&left_out))
        .chain(shown)
        .map(String::as_str)
        .collect();
    all.join("\n")
}

fn line(state: &State, action: Option<&Action>) -> String {
    let strikes = match action {
        Some(Action::Strikes(fault)) => format!("   <== {fault:?}"),
        Some(Action::Goes) | None => String::new(),
    };
    let phase = phase(state).map_or("none", upgrade::Phase::name);
    let (run, pc) = (&state.running, short(&state.pc));
    let system = format!("{}{}", run.system.letter, run.system.serial);
    format!(
        "boot {} {}s of {system} | {phase} | {pc}{strikes}",
        run.boot, run.now
    )
}

fn short(pc: &Pc) -> String {
    if let Pc::Writes(_, act) = pc {
        format!("Writes, then {act:?}")
    } else if let Pc::GuardWrites(_, act) = pc {
        format!("GuardWrites, then {act:?}")
    } else {
        format!("{pc:?}")
    }
}
