//! The runbook's section for each reason. The program embeds it, because a user who installed the
//! package has no docs.

const PAGE: &str = include_str!("../../../docs/runbook.md");

/// The runbook's section for the reason with this code, as Markdown with only paragraphs. Links
/// would lead nowhere, so only their text stays.
#[must_use]
pub fn section(code: &str) -> Option<String> {
    let heading = format!("### {code}");
    let mut lines = PAGE.lines().skip_while(|line| *line != heading);
    lines.next()?;
    let own: Vec<&str> = lines.take_while(|line| !is_heading(line)).collect();
    Some(unlinked(own.join("\n").trim()))
}

fn is_heading(line: &str) -> bool {
    line.starts_with("## ") || line.starts_with("### ")
}

/// `[words](target)` becomes `words`.
fn unlinked(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some((lead, words)), Some((_, behind))) =
            (before.rsplit_once('['), after.split_once(')'))
        else {
            break;
        };
        plain += lead;
        plain += words;
        rest = behind;
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn codes() -> Vec<String> {
        let page =
            Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../docs/reasons.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows = page.lines().filter_map(|line| line.strip_prefix("| [`"));
        let codes = rows.filter_map(|row| row.split('`').next());
        codes.map(str::to_owned).collect()
    }

    #[test]
    fn every_reason_has_a_runbook_section_with_look_at_and_do() {
        let codes = codes();
        assert!(codes.len() > 50, "{codes:?}");
        for code in codes {
            let section = section(&code).unwrap();
            for part in ["**Look at:**", "**Do:**"] {
                assert!(section.contains(part), "{code}: {section}");
            }
        }
    }

    #[test]
    fn a_section_is_its_own_and_of_paragraphs_without_links() {
        for code in codes() {
            let section = section(&code).unwrap();
            for line in section.lines() {
                let other = ["#", "|", "    ", "- ", "```"];
                assert!(
                    !other.iter().any(|begin| line.starts_with(begin)),
                    "{code}: {line}"
                );
            }
            assert!(
                !section.contains("](") && !section.contains(".md"),
                "{code}: {section}"
            );
        }
    }

    #[test]
    fn of_a_link_the_words_stay() {
        let text = "see [the\npolicy](policy.md#x), key `[health]`, and [images](images.md).";
        assert_eq!(
            unlinked(text),
            "see the\npolicy, key `[health]`, and images."
        );
        assert_eq!(section("Mystery"), None);
        assert_eq!(section(""), None);
    }
}
