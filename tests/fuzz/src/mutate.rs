//! Seeded mutations, for use without a fuzzer.

use fastrand::Rng;

/// Words with a meaning to one of the parsers.
const WORDS: [&str; 16] = [
    "\n",
    "\n%%\n",
    " ",
    "=",
    "'",
    "\"",
    "\\",
    "#",
    "{",
    "}",
    "null",
    "18446744073709551615",
    "-1",
    "1e400",
    "../",
    "\u{1b}[2J",
];

/// The longest generated input, in bytes.
const LONGEST: usize = 8192;

/// One of the seeds, with changes in one to four places.
pub fn mutant(random: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = pick(random, seeds);
    for _ in 0..random.usize(1..=4) {
        change(random, seeds, &mut input);
    }
    input.truncate(LONGEST);
    input
}

fn pick(random: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    random.choice(seeds).cloned().unwrap_or_default()
}

fn change(random: &mut Rng, seeds: &[Vec<u8>], input: &mut Vec<u8>) {
    let at = random.usize(0..=input.len());
    let end = (at + random.usize(0..=16)).min(input.len());
    let put = match random.u8(0..6) {
        0 => vec![random.u8(..)],
        1 => random.choice(WORDS).unwrap_or_default().as_bytes().to_vec(),
        2 => Vec::new(),
        3 => input[at..end].repeat(random.usize(1..=64)),
        4 => {
            let other = pick(random, seeds);
            let from = random.usize(0..=other.len());
            other[from..].to_vec()
        }
        _ => input
            .get(at)
            .map(|byte| byte ^ (1 << random.u8(0..8)))
            .into_iter()
            .collect(),
    };
    let stays = random.bool();
    input.splice(at..if stays { at } else { end }, put);
}
