//! Tests as docs/reliability.md names them: by layer, file and function, or by the name of a
//! scenario.

use std::fs;

use super::page::source;

/// The page's short names of folders with tests.
pub const LAYERS: [(&str, &str); 20] = [
    ("power", "src/deploy/tests/power"),
    ("sysroot", "src/deploy/tests/sysroot"),
    ("host", "src/host/tests"),
    ("stage", "src/stage/tests"),
    ("brain", "src/upgrade/tests"),
    ("model", "tests/model/tests"),
    ("agent", "tests/tests/agent"),
    ("fuzz", "tests/fuzz/tests"),
    ("vm", "vm-tests/scenarios/src"),
    ("provider", "src/provider/tests"),
    ("kubectl", "src/kubectl/tests"),
    ("installer", "src/installer/tests"),
    ("cluster-api", "tests/tests/cluster_api"),
    ("tests", "tests/tests"),
    ("control", "src/control/tests"),
    ("native", "tests/native/tests"),
    ("infrastructure", "src/infrastructure/tests"),
    ("hosts", "tests/hosts/tests"),
    ("packages", "vm-tests/tests/packages"),
    // The page names a test beside the code by its whole path.
    ("src", "src"),
];

/// The scenarios that are rows of one file.
const BAD_IMAGES: &str = "vm-tests/scenarios/src/bad_images.rs";

/// The text between backticks.
pub fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The layer that a name begins with.
pub fn layer(name: &str) -> &str {
    name.split('/').next().unwrap_or_default()
}

/// The text between backticks that begins with the name of a layer.
pub fn named(cell: &str) -> Vec<&str> {
    let in_a_layer = |word: &&str| {
        let is_known = LAYERS.iter().any(|(known, _)| *known == layer(word));
        word.contains('/') && is_known
    };
    quoted(cell).filter(in_a_layer).collect()
}

/// The file that a name means, and the function in it.
pub fn place(name: &str) -> (String, &str) {
    let (path, function) = name.split_once("::").unwrap_or((name, ""));
    let (layer, below) = path.split_once('/').unwrap();
    let (_, folder) = LAYERS.iter().find(|(known, _)| *known == layer).unwrap();
    (format!("{folder}/{}.rs", below.replace('-', "_")), function)
}

/// Whether the file has the test, or the scenario.
pub fn is_there(name: &str) -> bool {
    let (file, function) = place(name);
    let read = |file: &str| fs::read_to_string(source().join(file)).unwrap_or_default();
    match name.strip_prefix("vm/") {
        Some(scenario) => {
            let named = format!("name: \"{scenario}\"");
            [file.as_str(), BAD_IMAGES]
                .iter()
                .any(|file| read(file).contains(&named))
        }
        None => read(&file).contains(&format!("fn {function}(")),
    }
}
