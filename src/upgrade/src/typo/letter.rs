//! One letter in words, so that a reader can tell it from its neighbours.

/// Letters of other scripts, each before the Latin letter that it looks like: Cyrillic, Greek, and
/// some others (unicode.org/Public/security, confusables.txt).
const LOOK_ALIKES: [&str; 3] = [
    "аa сc ԁd еe һh іi јj ӏl оo рp кk ԛq ѕs уy ԝw хx АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT ХX УY ҮY",
    "αa ιi νv οo ρp υu κk ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX",
    "ɑa ɡg ıi ℓl",
];

/// Blanks, dashes, quotes and other signs that are not those of ASCII.
const SIGNS: [(&str, char); 6] = [
    ("‐‑‒–—−", '-'),
    ("“”„″", '"'),
    ("‘’‚′", '\''),
    ("∕⁄", '/'),
    ("∶ː꞉", ':'),
    ("․", '.'),
];

/// The full-width forms of ASCII, in its order (U+FF01 to U+FF5E).
const FULL_WIDTH: std::ops::RangeInclusive<u32> = 0xFF01..=0xFF5E;

/// How far they are from ASCII.
const WIDER_BY: u32 = 0xFF01 - 0x21;

/// The letter for a sentence.
pub(crate) fn told(letter: char) -> String {
    let code = u32::from(letter);
    let quoted = || format!("{:?}", letter.to_string());
    match letter {
        ' ' => "a blank".to_owned(),
        '\t' => "a tab".to_owned(),
        '\n' | '\r' => "a line break".to_owned(),
        'A'..='Z' => format!("the upper-case letter {}", quoted()),
        '!'..='~' => quoted(),
        _ if letter.is_whitespace() => {
            format!("the blank U+{code:04X}, which is not that of ASCII")
        }
        _ if is_unseen(letter) => format!("U+{code:04X}, which nobody sees"),
        _ => match looks_like(letter) {
            Some(latin) => {
                format!(
                    "U+{code:04X}, which only looks like {:?}",
                    latin.to_string()
                )
            }
            None => format!("U+{code:04X} ({})", quoted()),
        },
    }
}

/// Control letters, and those without a width (Unicode's Default_Ignorable_Code_Point, the ones
/// that texts bring).
fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

fn looks_like(letter: char) -> Option<char> {
    let in_list = |all: &&str| {
        let mut pairs = all.split(' ');
        let pair = pairs.find(|pair| pair.starts_with(letter))?;
        pair.chars().nth(1)
    };
    let sign = || {
        let sign = SIGNS.iter().find(|(all, _)| all.contains(letter));
        sign.map(|(_, plain)| *plain)
    };
    let wide = || {
        let code = u32::from(letter);
        let narrow = FULL_WIDTH.contains(&code).then(|| code - WIDER_BY)?;
        char::from_u32(narrow)
    };
    LOOK_ALIKES
        .iter()
        .find_map(in_list)
        .or_else(sign)
        .or_else(wide)
}
