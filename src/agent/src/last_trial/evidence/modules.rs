//! In whose kernel module an oops happened. A pod or a program of the node may load a module that
//! the image does not bring. An oops in it does not end the old system, and it ends a trial
//! (`oops=panic`).

use std::fs;
use std::path::Path;

/// Before the place in the kernel (Linux, arch/x86/kernel/dumpstack.c, `show_iret_regs`, and
/// arch/arm64/kernel/process.c, `__show_regs`).
const AT: [&str; 2] = ["RIP: 0010:", "pc : "];

/// How deep the folders of modules are that are looked at.
const DEPTH: usize = 12;

/// The line with the first place, if each place in these words is in a module that the image at
/// this root does not bring. An earlier warning has a place too, and may be in another module.
pub(super) fn foreign<'a>(texts: &'a [String], image: Option<&Path>) -> Option<&'a str> {
    let image = image?;
    let lines: Vec<_> = texts.iter().flat_map(|text| text.lines()).collect();
    let places: Vec<_> = lines.iter().filter_map(|line| place(line)).collect();
    let is_foreign = |place: &&str| module(place).is_some_and(|name| !brings(image, name));
    let all = places.iter().all(is_foreign);
    places.first().copied().filter(|_| all)
}

/// `RIP: 0010:function+0x12/0x40 [module]`, without the time before it.
fn place(line: &str) -> Option<&str> {
    let begin = AT.iter().find_map(|word| line.find(word))?;
    line.get(begin..).map(str::trim)
}

/// The module that the kernel names, perhaps with its build id: `[module]` or `[module 12ab]`
/// (kernel/kallsyms.c, `__sprint_symbol`).
fn module(place: &str) -> Option<&str> {
    let named = place.rsplit_once('[')?.1.strip_suffix(']')?;
    named.split_whitespace().next()
}

/// Whether the image has a module of this name, or may have: its folder cannot be read.
fn brings(image: &Path, name: &str) -> bool {
    let folder = image.join("usr/lib/modules");
    fs::read_dir(&folder).is_err() || has(&folder, name, DEPTH)
}

fn has(folder: &Path, name: &str, depth: usize) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let file = entry.file_name();
        let (kind, path) = (entry.file_type(), entry.path());
        is_of(&file.to_string_lossy(), name)
            || (depth > 0 && kind.is_ok_and(|kind| kind.is_dir()) && has(&path, name, depth - 1))
    })
}

/// Whether this is the module's file: `name.ko`, perhaps compressed. `-` and `_` are the same in
/// the names of modules.
fn is_of(file: &str, name: &str) -> bool {
    let stem = file.split_once(".ko").map(|(stem, _)| stem);
    stem.is_some_and(|stem| stem.replace('-', "_") == name.replace('-', "_"))
}
