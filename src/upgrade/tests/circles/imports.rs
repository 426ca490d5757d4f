//! Which files of a folder import which, read from their text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The files that each file imports, by the paths of their modules. The root is an empty path.
pub type Imports = BTreeMap<String, BTreeSet<String>>;

/// Reads the folder of a crate.
pub fn imports(folder: &Path) -> Imports {
    let mut files = BTreeMap::new();
    read(folder, "", &mut files);
    let found = files.iter().map(|(module, text)| {
        let paths = paths(text).into_iter();
        let imported = paths.filter_map(|path| resolve(module, &path, &files));
        let others = imported.filter(|other| other != module);
        (module.clone(), others.collect())
    });
    found.collect()
}

/// Tests may import what they like, and `main.rs` shares the root with `lib.rs`.
fn read(folder: &Path, module: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() && !["bin", "tests"].contains(&name) {
            read(&path, &join(module, name), files);
        } else if path.extension().is_some_and(|end| end == "rs") && name != "tests" {
            let module = match name {
                "lib" | "main" => String::new(),
                "mod" => module.to_owned(),
                _ => join(module, name),
            };
            let text = fs::read_to_string(&path).unwrap();
            files.entry(module).or_default().push_str(&code(&text));
        }
    }
}

fn join(module: &str, name: &str) -> String {
    match module {
        "" => name.to_owned(),
        _ => format!("{module}::{name}"),
    }
}

/// The text without comments, without the tests at its end, and without `pub(in …)`.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let tests = (0..lines.len()).find(|at| begins_tests(&lines[*at..]));
    let code = lines[..tests.unwrap_or(lines.len())].iter().copied();
    let code = code.filter(|line| !line.trim_start().starts_with("//"));
    let text = without_strings(&code.collect::<Vec<_>>().join("\n"));
    let lines = text.lines().map(|line| line.split("//").next().unwrap());
    let lines: Vec<&str> = lines.collect();
    let mut parts = lines.join("\n");
    while let Some(at) = parts.find("pub(in ") {
        let end = at + parts[at..].find(')').unwrap();
        parts.replace_range(at..=end, "pub");
    }
    parts
}

/// A module of tests within the file; other attributes may come between.
fn begins_tests(lines: &[&str]) -> bool {
    let mut after = lines.iter().skip(1).filter(|line| !line.starts_with("#["));
    let opens = |line: &&str| {
        let module = line.strip_prefix("pub(super) ").unwrap_or(line);
        module.starts_with("mod ") && module.ends_with('{')
    };
    lines[0] == "#[cfg(test)]" && after.next().is_some_and(opens)
}

/// Without string literals: a message may have a `;` or a brace.
fn without_strings(code: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    let code = code.replace("'\"'", "' '");
    let kept = code.chars().filter(|letter| {
        let was_inside = inside;
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = inside,
            '"' => inside = !inside,
            _ => {}
        }
        !was_inside && !inside
    });
    kept.collect()
}

/// All paths in the code: `use` with its braces resolved, and those within other lines.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in code.split(';') {
        let lines: Vec<&str> = statement.lines().map(str::trim_start).collect();
        let (before, tree) = match lines.iter().rposition(|line| is_use(line)) {
            Some(at) => (&lines[..at], lines[at..].concat()),
            None => (&lines[..], String::new()),
        };
        if let Some((_, tree)) = tree.split_once("use ") {
            expand(tree, "", &mut found);
        }
        let words = before
            .iter()
            .flat_map(|line| line.split(|letter| !is_of_a_path(letter)));
        found.extend(words.filter(|word| word.contains("::")).map(str::to_owned));
    }
    found
}

fn is_use(line: &str) -> bool {
    ["use ", "pub use ", "pub(super) use ", "pub(crate) use "]
        .iter()
        .any(|begin| line.starts_with(begin))
}

fn is_of_a_path(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == ':'
}

/// `a::{b, c::{d}}` is `a::b` and `a::c::d`.
fn expand(tree: &str, before: &str, found: &mut Vec<String>) {
    let (mut depth, mut begin) = (0_usize, 0);
    let ends = tree.char_indices().chain([(tree.len(), ',')]);
    for (at, letter) in ends {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let one = tree[begin..at].trim();
                begin = at + 1;
                match one.split_once('{') {
                    Some((path, inner)) => {
                        let inner = inner.trim_end().strip_suffix('}').unwrap();
                        expand(inner, &format!("{before}{}", path.trim()), found);
                    }
                    None => found.push(format!("{before}{one}")),
                }
            }
            _ => {}
        }
    }
}

/// The file that a path in a module leads to: the longest part of it that is a module.
fn resolve(module: &str, path: &str, files: &BTreeMap<String, String>) -> Option<String> {
    let words = path
        .split("::")
        .filter_map(|word| word.split_whitespace().next());
    let mut words: Vec<&str> = words.collect();
    let mut base: Vec<&str> = module.split("::").filter(|word| !word.is_empty()).collect();
    match *words.first()? {
        "crate" => base.clear(),
        "self" => {}
        "super" => drop(base.pop()?),
        first if files.contains_key(&join(module, first)) => words.insert(0, "self"),
        _ => return None,
    }
    words.remove(0);
    for word in words {
        if word == "super" {
            base.pop()?;
            continue;
        }
        let longer = [&base[..], &[word]].concat();
        if !files.contains_key(&longer.join("::")) {
            break;
        }
        base = longer;
    }
    let found = base.join("::");
    files.contains_key(&found).then_some(found)
}
