//! The docs that are rendered from the code. `CAREEN_BLESS=1 cargo test -p upgrade` writes them
//! again.
#![allow(clippy::unwrap_used)]

mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use scene::page::check_drift;
use scene::*;
use upgrade::*;

#[test]
fn the_table_of_names_in_the_docs_is_the_one_in_the_code() {
    let head =
        "# Names\n\nRendered from `src/upgrade/src/names`. Each name has exactly one writer.\n\n";
    check_drift("names.md", &format!("{head}{}", names::table()));
}

#[test]
fn the_table_of_exit_codes_in_the_docs_is_the_one_in_the_code() {
    let head = "# Exit codes\n\nRendered from `src/upgrade/src/exit.rs`. A check in `required.d` or `wanted.d`, and a hook in\n`pre.d` or `post.d`, passes with 0 and fails with any other code. With 70, 75 and\n78 a required check says where the cause is. Any other code of a check that the image brings is\nevidence against the image, and one of a check of the node is not.\n\n";
    check_drift("exit-codes.md", &format!("{head}{}", exit::table()));
}

#[test]
fn every_reason_stands_in_the_docs_in_its_own_words() {
    let mut text = String::from(
        "# Reasons\n\nRendered from `src/upgrade/src/reason`: the code in `careen.dev/status`, what follows, and the\nsentence on the Node, with sample values. `retry`: the step is tried again, as often as the policy\nsays; then the upgrade ends as with `roll back`: the old system stays or boots again. `halt`: a\nperson must act. A remembered image is tried again only on a new request. Each code links to its\nsection of the [runbook](runbook.md).\n\n\
         | code | what follows | sentence |\n|---|---|---|\n",
    );
    for reason in scene::reasons::all() {
        let follows = match reason.disposition() {
            Disposition::Retry => "retry",
            Disposition::RollBack => "roll back",
            Disposition::Halt => "halt",
        };
        let remembered = match (reason.blames_image(), &reason) {
            (true, Reason::NoApiFromNewSystem { .. }) => "; the image is remembered",
            (true, _) => "; the image is remembered if it is the cause",
            (false, _) => "",
        };
        text += &format!(
            "| [`{}`]({}) | {follows}{remembered} | {} |\n",
            reason.code(),
            reason.runbook(),
            shown(&reason.to_string())
        );
    }
    // The rest of the page is careen-provider's (src/provider/tests/release).
    let page = scene::page::read("reasons.md");
    let rest = page
        .split_once("\n## ")
        .map_or_else(String::new, |(_, rest)| format!("\n## {rest}"));
    check_drift("reasons.md", &(text + &rest));
}

/// The sentence with a gap where the sample says nothing.
fn shown(sentence: &str) -> String {
    let gap = |word: &str| word.trim_matches(|c: char| c.is_ascii_punctuation()) == "x";
    let words = sentence.split(' ').map(|word| match gap(word) {
        true => word.replace('x', "…"),
        false => word.to_owned(),
    });
    cell(&words.collect::<Vec<_>>().join(" "))
}

/// A sentence as a cell of a table. Outside of code a browser takes `<version>` for a tag, and
/// shows nothing; within it the sign stands for itself.
fn cell(sentence: &str) -> String {
    let pieces = sentence.replace('|', "\\|");
    let pieces = pieces.split('`').enumerate();
    let shown = pieces.map(|(at, piece)| match at % 2 {
        0 => piece.replace('<', "&lt;"),
        _ => piece.to_owned(),
    });
    shown.collect::<Vec<_>>().join("`")
}

#[test]
fn a_sentence_keeps_its_angle_brackets_in_a_table() {
    assert_eq!(
        cell("/modules/<version>, as `list <remote>` says | or not"),
        "/modules/&lt;version>, as `list <remote>` says \\| or not"
    );
}

#[test]
fn no_page_holds_what_a_browser_takes_for_a_tag() {
    for (name, text) in scene::page::all() {
        let mut fenced = false;
        for (at, line) in text.lines().enumerate() {
            fenced ^= line.trim_start().starts_with("```");
            if !fenced && !line.starts_with("    ") {
                assert_eq!(tag(line), None, "{name}, line {}: {line}", at + 1);
            }
        }
    }
}

/// What begins like a tag outside of code. Comments are meant as such.
fn tag(line: &str) -> Option<&str> {
    let prose = line.split('`').step_by(2);
    let begins = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    prose
        .flat_map(|piece| piece.split('<').skip(1))
        .find(begins)
}

#[test]
fn nothing_of_ours_lies_in_the_domain_that_cluster_api_owns() {
    assert!(
        names::TABLE
            .iter()
            .all(|row| !row.name.contains("node.cluster.x-k8s.io"))
    );
}

#[test]
fn every_unit_file_has_its_row_in_the_table_of_names() {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let mut units = 0;
    for folder in ["systemd/system", "dracut/55careen"] {
        for file in std::fs::read_dir(root.join(folder)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".service") || name.ends_with(".timer") {
                let known = |row: &names::Name| row.name == name && row.kind == names::Kind::Unit;
                assert!(names::TABLE.iter().any(known), "{folder}/{name}");
                units += 1;
            }
        }
    }
    assert!(units > 10, "only {units} units");
}

/// What happens to a phase, as far as the picture tells it apart.
fn events() -> Vec<(&'static str, Observation)> {
    let seen = [old_runs(), guard_looks(), new_runs()].concat();
    steps_end().into_iter().chain(seen).collect()
}

/// The old system, asked for the new one, which is deployed.
fn old() -> Observation {
    asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments)
}

fn steps_end() -> Vec<(&'static str, Observation)> {
    let ended = |step, outcome| old().with(|seen| seen.turn.finished = finished(step, outcome));
    let told = |(step, effect): (Step, Effect)| {
        let event = match step {
            Step::Fetch { .. } => "fetched",
            Step::Verify { .. } => "verified",
            Step::Deploy { .. } => "deployed",
            Step::Drain { .. } => "drained",
            _ => return None,
        };
        Some((event, ended(step, Outcome::Done(effect))))
    };
    let bad = Reason::DeployFailed {
        verb: "deploy".into(),
        detail: "x".into(),
    };
    let broken = ended(drain(), Outcome::Failed(bad));
    let told = steps().into_iter().filter_map(told);
    told.chain([("a step fails for good", broken)]).collect()
}

fn old_runs() -> Vec<(&'static str, Observation)> {
    let withdrawn = old().with(|seen| seen.node.request = Asked::Nothing);
    let back = old().with(|seen| seen.turn.boot = boot(3));
    let other = asked().with(|seen| seen.machine.booted = deployment('c'));
    vec![
        ("attempt counted, one-shot intended", old()),
        ("withdrawn", withdrawn),
        ("back in the old system without a verdict", back),
        ("another system runs", other),
    ]
}

fn guard_looks() -> Vec<(&'static str, Observation)> {
    let found = |integrity| {
        on_trial().with(|seen| {
            seen.turn.home = Home::Stage;
            seen.machine.integrity = Some(integrity);
        })
    };
    vec![
        ("guard lets it through", found(Ok(()))),
        (
            "guard refuses",
            found(Err(Unsound::of_the_disk("x".into()))),
        ),
    ]
}

fn new_runs() -> Vec<(&'static str, Observation)> {
    let well = on_trial().with(|seen| seen.turn.health = healthy());
    let ill = on_trial().with(|seen| seen.turn.now = SinceBoot(0).plus_seconds(9000));
    let fails = on_trial().with(|seen| {
        seen.turn.health = Health {
            kubelet: Check::Fail("x".into()),
            ..healthy()
        };
    });
    let blessed =
        on_trial().with(|seen| seen.machine.deployments = vec![deployment('b'), deployment('a')]);
    vec![
        ("a check fails again", fails),
        ("every check passes", well),
        ("a check fails at the deadline", ill),
        ("the new one is the default", blessed),
    ]
}

/// Variants of a record that the picture needs: nothing left to clean up, tries left or used up.
fn variants(phase: &Phase) -> Vec<Record> {
    let mut plain = upgrade_in(phase.clone());
    // What is healthy is about to be blessed.
    let blessing = matches!(phase, Phase::Healthy { .. }).then(|| Step::Bless {
        commit: digest('b'),
        over: None,
    });
    plain.upgrade.as_mut().unwrap().intent = blessing;
    let mut spent = plain.clone();
    let up = spent.upgrade.as_mut().unwrap();
    (up.custody, up.cleaned) = (given_back(), true);
    (up.attempt.saved, up.attempt.tries) = (true, 2);
    vec![plain, spent]
}

fn edges() -> BTreeMap<(&'static str, &'static str), BTreeSet<&'static str>> {
    let mut edges: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for phase in phases().into_iter().filter(|phase| !phase.is_end()) {
        for record in variants(&phase) {
            for (event, seen) in events() {
                let after = phase_of(&next(&seen, &record).0);
                if after.name() != phase.name() && caused_by(event, &seen, &record, &after) {
                    edges
                        .entry((phase.name(), after.name()))
                        .or_default()
                        .insert(label(phase.name(), after.name(), event));
                }
            }
        }
    }
    edges
}

/// Ends that come with the last of the tidying up, whatever else was seen meanwhile.
fn label(from: &str, to: &str, event: &'static str) -> &'static str {
    match (from, to) {
        ("Reverting", "Failed") => "the cordon is off, the new one is cleaned away",
        ("Blessed", "Upgraded") => "the cordon is off, nothing is left to clean away",
        _ => event,
    }
}

/// Whether this event, and not merely the passing of time in the same system, made the transition.
fn caused_by(event: &str, seen: &Observation, record: &Record, after: &Phase) -> bool {
    let before = phase_of(record);
    if event == "withdrawn" && !before.can_be_withdrawn() {
        return false;
    }
    let quietly = seen.clone().with(|seen| seen.turn.finished = None);
    if seen.turn.finished.is_some() && phase_of(&next(&quietly, record).0) == *after {
        return false;
    }
    // The old system in the boot that armed is not "back" from a trial; only boot 3 is.
    let tried = matches!(
        before,
        Phase::Trial { .. } | Phase::Healthy { .. } | Phase::Blessed
    );
    let came_back = seen.turn.boot == boot(3) || !seen.machine.booted.same(&deployment('a'));
    !tried || came_back || seen.turn.finished.is_some()
}

/// What the page of concepts draws: chains of phases with an arrow between them.
fn drawn() -> Vec<(String, String)> {
    let page = scene::page::read("concepts.md");
    let picture = page.split("```machine\n").nth(1).unwrap();
    let lines = picture.split("```").next().unwrap().lines();
    let chains = lines.map(|line| line.split('→').map(last_word).collect::<Vec<_>>());
    chains
        .flat_map(|chain| {
            let ends = chain.iter().skip(1).cloned().collect::<Vec<_>>();
            chain.into_iter().zip(ends).collect::<Vec<_>>()
        })
        .collect()
}

/// The phase in a piece between two arrows; in front of a chain stands what it is about.
fn last_word(piece: &str) -> String {
    piece
        .split_whitespace()
        .next_back()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn concepts_page_draws_every_phase_and_only_real_transitions() {
    let edges = edges();
    let drawn = drawn();
    for (from, to) in &drawn {
        let made = edges.contains_key(&(from.as_str(), to.as_str()));
        assert!(made, "no event leads from {from} to {to}");
    }
    for phase in phases() {
        let there = drawn
            .iter()
            .any(|(from, to)| [from, to].contains(&&phase.name().to_owned()));
        assert!(there, "{} is not drawn", phase.name());
    }
}

/// The way of an upgrade that ends well, from top to bottom of the picture.
const WAY: [&str; 10] = [
    "Accepted", "Fetched", "Verified", "Deployed", "Drained", "Armed", "Trial", "Healthy",
    "Blessed", "Upgraded",
];

/// Whether a transition is the next step on that way.
fn goes_on(from: &str, to: &str) -> bool {
    WAY.windows(2).any(|pair| pair == [from, to])
}

/// The source of the picture, for Graphviz. Each phase has a box with all the ways out that are not
/// the next step: forty arrows across each other would show less.
fn picture() -> String {
    let mut text = String::from(
        "// Written by src/upgrade/tests/docs.rs from what `decide` does.\ndigraph {\n  \
         graph [newrank=true, nodesep=0.7, ranksep=0.35, pad=0.25];\n  \
         node [shape=box, style=\"rounded,filled\", fontname=\"DejaVu Sans\", fontsize=12, margin=\"0.2,0.09\", height=0.3];\n  \
         edge [fontname=\"DejaVu Sans\", fontsize=10, arrowsize=0.7];\n  \
         Upgraded [class=good];\n  Reverting [class=bad];\n  Upgraded -> Reverting [style=invis];\n",
    );
    let mut out: BTreeMap<_, String> = BTreeMap::new();
    for ((from, to), events) in edges() {
        let events: Vec<_> = events.into_iter().collect();
        if goes_on(from, to) {
            let label = events.join("\\l  or ");
            text += &format!("  {from} -> {to} [class=good, weight=9, label=\"  {label}\\l\"];\n");
        } else {
            let way = format!("to {to}: {}\\l", events.join(" / "));
            out.entry(from).or_default().push_str(&way);
        }
    }
    for (from, ways) in out {
        text += &format!("  {from}_out [label=\"{ways}\", fontsize=10, class=bad];\n  ");
        text += &format!("{{rank=same; {from} -> {from}_out [class=bad];}}\n");
    }
    text + "}\n"
}

#[test]
fn the_picture_of_the_state_machine_shows_what_decide_does() {
    check_drift("pictures/state-machine.dot", &picture());
}

#[test]
fn the_page_of_the_state_machine_lists_what_decide_does() {
    let mut text = String::from(
        "# The state machine\n\n\
         Drawn from `upgrade::decide` itself: each transition is one that the function makes, with what it\n\
         saw. The way of an upgrade that ends well goes down; beside each phase are its other ways out. A step\n\
         may pass through several phases at once; the transition then leads to the last one.\n\n\
         ![From Accepted down to Upgraded, with the ways out of each phase to Reverting, Failed and Halted]\
         (pictures/state-machine.svg)\n\n\
         | from | to | when |\n|---|---|---|\n| | Accepted | a request is taken |\n",
    );
    for ((from, to), events) in edges() {
        let when = events.into_iter().collect::<Vec<_>>().join(" / ");
        text += &format!("| {from} | {to} | {when} |\n");
    }
    text += "\nUpgraded, Failed and Halted are ends.\n";
    check_drift("state-machine.md", &text);
}
