//! The little of DER (X.690) that keys and certificates need here.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BITS: u8 = 0x03;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const SEQUENCE: u8 = 0x30;
/// The public key in SEC 1.
pub(super) const PUBLIC: u8 = 0xa1;

/// One value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    pub tag: u8,
    pub content: &'a [u8],
}

/// The content of a sequence that is all of the input.
pub(super) fn sequence(input: &[u8]) -> Option<&[u8]> {
    let (one, rest) = next(input)?;
    (one.tag == SEQUENCE && rest.is_empty()).then_some(one.content)
}

/// All values, which together are all of the input.
pub(super) fn elements(mut input: &[u8]) -> Option<Vec<Element<'_>>> {
    let mut all = Vec::new();
    while !input.is_empty() {
        let (one, rest) = next(input)?;
        all.push(one);
        input = rest;
    }
    Some(all)
}

fn next(input: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&tag, rest) = input.split_first()?;
    let (length, rest) = length(rest)?;
    let (content, rest) = rest.split_at_checked(length)?;
    Some((Element { tag, content }, rest))
}

/// From 128 on, the first byte is the count of the bytes that follow.
fn length(input: &[u8]) -> Option<(usize, &[u8])> {
    let (&first, rest) = input.split_first()?;
    if first < 0x80 {
        return Some((usize::from(first), rest));
    }
    let count = usize::from(first & 0x7f);
    let (digits, rest) = rest.split_at_checked(count)?;
    let is_short = (1..=4).contains(&count);
    let length = digits
        .iter()
        .fold(0_usize, |sum, digit| sum << 8 | usize::from(*digit));
    is_short.then_some((length, rest))
}
