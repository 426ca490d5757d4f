//! The tests that docs/reliability.md names are there, and run by the verb of make that it names.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use scene::layers::{is_there, named, place, quoted};
use scene::page::source;

fn page() -> String {
    scene::page::read("reliability.md")
}

/// The section below this heading.
fn section(heading: &str) -> String {
    scene::page::section("reliability.md", heading)
}

/// The rows that name tests: their cells.
fn rows() -> Vec<Vec<String>> {
    let section = section("Fault classes");
    let (_, tables) = section.split_once("\n| class |").unwrap();
    let lines = tables.lines().filter(|line| line.starts_with("| "));
    lines
        .map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// Every source file, by its path in the source tree.
fn sources() -> BTreeMap<String, String> {
    let mut folders = [
        "src",
        "tests",
        "vm-tests/rig/src",
        "vm-tests/scenarios/src",
        "vm-tests/soak/src",
        "vm-tests/src",
        "vm-tests/tests",
    ]
    .map(PathBuf::from)
    .to_vec();
    let mut files = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(source().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(source().join(&path)).unwrap();
                files.insert(path.to_str().unwrap().to_owned(), text);
            }
        }
    }
    files
}

/// Whether a word reads as a sentence, as names of tests do and hardly any other.
fn is_sentence(word: &str) -> bool {
    let is_name = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
    word.bytes().all(is_name) && word.matches('_').count() > 2
}

/// What a line names that is nowhere: files, and tests in the file that is named before them or,
/// without one, in any.
fn missing<'a>(line: &'a str, sources: &BTreeMap<String, String>) -> Vec<&'a str> {
    let mut file = "";
    let mut missing = Vec::new();
    for word in quoted(line) {
        let function = word.rsplit("::").next().unwrap_or_default();
        let wanted = if word.ends_with(".rs") {
            file = word;
            ""
        } else if word.contains("::") || is_sentence(word) {
            function
        } else {
            continue;
        };
        let anywhere = file.is_empty() || word.contains("::");
        let in_file = |path: &str| anywhere || format!("/{path}").ends_with(&format!("/{file}"));
        let has = |text: &str| wanted.is_empty() || text.contains(&format!("fn {wanted}("));
        if !sources
            .iter()
            .any(|(path, text)| in_file(path) && has(text))
        {
            missing.push(word);
        }
    }
    missing
}

/// The commands of a verb of make.
fn recipe(verb: &str) -> Vec<String> {
    let makefile = fs::read_to_string(source().join("Makefile")).unwrap();
    let (_, rest) = makefile.split_once(&format!("\n{verb}:")).unwrap();
    let lines = rest.lines().skip(1);
    lines
        .map_while(|line| Some(line.strip_prefix('\t')?.to_owned()))
        .collect()
}

/// The name of the package that a file belongs to, and its path in that.
fn package(file: &str) -> (String, &Path) {
    let is_whole = |folder: &&Path| source().join(folder).join("Cargo.toml").exists();
    let folder = Path::new(file).ancestors().skip(1).find(is_whole).unwrap();
    let manifest = source().join(folder).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let name = manifest.split('"').nth(1).unwrap().to_owned();
    (name, Path::new(file).strip_prefix(folder).unwrap())
}

/// Whether a call of `cargo test` runs the test of this name in this file.
fn runs(call: &str, file: &str, name: &str) -> bool {
    let (package, inside) = package(file);
    let inside = inside.with_extension("");
    let mut parts = inside.iter().map(|part| part.to_str().unwrap());
    let target = match parts.next() {
        Some("tests") => parts.next(),
        _ => None,
    };
    let path = [parts.collect::<Vec<_>>(), vec![name]].concat().join("::");
    let (call, filters) = call.split_once(" -- ").unwrap_or((call, ""));
    let has = |flags: &str| format!("{call} ").contains(&format!(" {flags} "));
    let chosen = match target {
        Some(target) => has(&format!("--test {target}")),
        None => has("--lib") || has("--bins"),
    };
    let all = !["--test", "--lib", "--bins"].into_iter().any(has);
    let mut filters = filters.split_whitespace().peekable();
    has(&format!("-p {package}"))
        && (all || chosen)
        && (filters.peek().is_none() || filters.any(|filter| path.contains(filter)))
}

#[test]
fn every_fault_class_has_one_row_with_tests_or_an_exemption() {
    let rows = rows();
    for class in (1..=25).map(|number| format!("T{number}")) {
        let its_own: Vec<_> = rows.iter().filter(|row| row[1] == class).collect();
        let [row] = its_own[..] else {
            panic!("{class} has {} rows", its_own.len());
        };
        let tests = &row[row.len() - 2];
        let excused = tests.starts_with("not covered yet") || tests == "none needed";
        assert!(excused || !named(tests).is_empty(), "{class}: {tests}");
    }
}

#[test]
fn every_test_that_the_page_names_by_layer_is_there() {
    let page = page();
    let names = named(&page).into_iter().map(str::to_owned);
    let names = names.filter(|name| name.contains("::") || name.starts_with("vm/"));
    let on_the_vm = page.split("on the VM `").skip(1);
    let scenarios = on_the_vm.map(|rest| format!("vm/{}", rest.split('`').next().unwrap()));
    let tests: Vec<_> = names.chain(scenarios).collect();
    assert!(tests.len() > 80, "only {} tests are named", tests.len());
    let lost: Vec<_> = tests.iter().filter(|name| !is_there(name)).collect();
    assert!(lost.is_empty(), "not there: {lost:#?}");
}

/// Whether the last cell of a row of cases names this test, or a file of tests.
fn is_a_test(name: &str) -> bool {
    if name.starts_with("vm/") || name.contains("::") {
        return is_there(name);
    }
    let (file, _) = place(name);
    let path = source().join(&file);
    path.exists() || path.with_extension("").is_dir()
}

#[test]
fn every_case_from_the_field_has_a_kind_and_real_tests() {
    let section = section("Cases from the field");
    let (_, table) = section.split_once("\n|---|").unwrap();
    let lines: Vec<_> = table.lines().skip(1).collect();
    let cases = lines.iter().filter(|line| line.starts_with("| "));
    let mut number = 0;
    for line in cases {
        let cells: Vec<_> = line.split(" | ").collect();
        let [_, _, kind, _, tests] = cells[..] else {
            panic!("{} cells: {line}", cells.len());
        };
        assert!(kind.len() > 3, "a kind is told in words: {line}");
        let names: Vec<_> = quoted(tests).collect();
        assert!(!names.is_empty(), "no test: {line}");
        for name in names {
            let known = named(tests).contains(&name);
            assert!(known && is_a_test(name), "{name} is not there: {line}");
        }
        number += 1;
    }
    assert!(number > 70, "only {number} cases");
}

#[test]
fn page_tells_how_many_brains_are_broken_on_purpose() {
    let code = fs::read_to_string(source().join("tests/model/src/mistakes.rs")).unwrap();
    let lists = code.split(": [Mutant; ").skip(1);
    let number: u32 = lists
        .map(|list| list.split_once(']').unwrap().0.parse::<u32>().unwrap())
        .sum();
    let told = format!("Each of these {number} brains");
    assert!(page().contains(&told), "the page does not say: {told}");
}

#[test]
fn every_test_named_on_the_page_exists_in_the_named_file() {
    let (page, sources) = (page(), sources());
    let lines = page.lines();
    let lost: Vec<_> = lines.flat_map(|line| missing(line, &sources)).collect();
    assert!(lost.is_empty(), "not there: {lost:#?}");
}

#[test]
fn make_faults_runs_every_fault_class_test_except_vm_tests() {
    let (section, recipe) = (section("Fault classes"), recipe("faults"));
    let left: Vec<_> = named(&section)
        .into_iter()
        .filter(|name| name.contains("::"))
        .filter(|name| {
            let (file, function) = place(name);
            !recipe.iter().any(|call| runs(call, &file, function))
        })
        .collect();
    assert!(left.is_empty(), "not run: {left:#?}");
}

#[test]
fn make_attacker_runs_every_test_of_what_an_attacker_tries() {
    let (section, recipe, sources) = (section("The attacker"), recipe("attacker"), sources());
    let tests: Vec<_> = quoted(&section).filter(|word| is_sentence(word)).collect();
    assert!(tests.len() > 80, "only {} tests are named", tests.len());
    let is_run = |name: &str| {
        let wanted = format!("fn {name}(");
        let mut files = sources.iter().filter(|(_, text)| text.contains(&wanted));
        files.any(|(file, _)| recipe.iter().any(|call| runs(call, file, name)))
    };
    let left: Vec<_> = tests.into_iter().filter(|name| !is_run(name)).collect();
    assert!(left.is_empty(), "not run: {left:#?}");
}

#[test]
fn a_name_that_is_nowhere_is_found() {
    let sources = BTreeMap::from([
        (
            "src/a/tests/one.rs".to_owned(),
            "fn it_is_in_one() {}".to_owned(),
        ),
        (
            "src/a/tests/two.rs".to_owned(),
            "fn it_is_in_two() {}".to_owned(),
        ),
    ]);
    for sound in [
        "`one.rs`: `it_is_in_one`",
        "`it_is_in_two`",
        "`a_short_name`, `min-free`",
    ] {
        assert!(missing(sound, &sources).is_empty(), "{sound}");
    }
    for lost in [
        "`one.rs`: `it_is_in_two`",
        "`three.rs`",
        "`it_is_in_none`",
        "`agent::none`",
    ] {
        assert_eq!(missing(lost, &sources).len(), 1, "{lost}");
    }
}
