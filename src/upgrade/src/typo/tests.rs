use super::*;

fn says(wrong: Result<(), Wrong>) -> String {
    wrong.map_or_else(|wrong| wrong.says, |()| String::new())
}

#[test]
fn letter_is_named_so_that_it_can_be_told_apart() {
    for (found, told) in [
        (' ', "a blank"),
        ('\t', "a tab"),
        ('\n', "a line break"),
        ('A', "the upper-case letter \"A\""),
        ('x', "\"x\""),
        ('\u{430}', "U+0430, which only looks like \"a\""),
        ('\u{435}', "U+0435, which only looks like \"e\""),
        ('\u{3bf}', "U+03BF, which only looks like \"o\""),
        ('\u{ff21}', "U+FF21, which only looks like \"A\""),
        ('\u{ff1a}', "U+FF1A, which only looks like \":\""),
        ('\u{2013}', "U+2013, which only looks like \"-\""),
        ('\u{201c}', "U+201C, which only looks like \"\\\"\""),
        ('\u{a0}', "the blank U+00A0, which is not that of ASCII"),
        ('\u{200b}', "U+200B, which nobody sees"),
        ('\u{feff}', "U+FEFF, which nobody sees"),
        ('\u{e9}', "U+00E9 (\"é\")"),
    ] {
        assert_eq!(letter(found), told);
    }
}

#[test]
fn wrong_letter_is_told_with_its_position() {
    let small = |c: char| c.is_ascii_lowercase();
    assert_eq!(
        says(letters("abcdefghijkL", small, "a-z")),
        "has the upper-case letter \"L\" at position 12, where only a-z are allowed"
    );
    assert_eq!(says(letters("abc", small, "a-z")), "");
}

#[test]
fn missing_and_surplus_letters_are_counted() {
    assert_eq!(
        says(count(&"a".repeat(63), 64, "digits")),
        "has 63 of 64 digits"
    );
    assert_eq!(
        says(count(&"a".repeat(66), 64, "digits")),
        "has 66 digits, 2 more than 64"
    );
    assert_eq!(says(count("", 64, "digits")), "is empty");
    assert_eq!(
        says(length(&"a".repeat(64), 63)),
        "has 64 letters of at most 63"
    );
}

#[test]
fn blanks_at_the_ends_are_told_before_all_else() {
    let of = |text: &str| of_any(text).map(|wrong| wrong.says);
    assert_eq!(of("a ").as_deref(), Some("it ends with a blank"));
    assert_eq!(of("\ta").as_deref(), Some("it begins with a tab"));
    assert_eq!(of("a\n").as_deref(), Some("it ends with a line break"));
    assert_eq!(of("").as_deref(), Some("it is empty"));
    assert_eq!(of("a b"), None);
}

#[test]
fn long_value_is_cut_with_a_mark_around_the_wrong_part() {
    let value = format!("{}X{}", "a".repeat(500), "b".repeat(500));
    let text = shown(&value, 500);
    assert!(
        text.contains('X') && text.ends_with("… (1001 letters)"),
        "{text}"
    );
    assert_eq!(text.matches(CUT).count(), 2, "{text}");
    assert!(text.chars().count() < WHOLE);
    let end = shown(&value, value.len());
    assert!(end.contains("bbb (1001 letters)"), "{end}");
    let whole = "a".repeat(WHOLE);
    assert_eq!(shown(&whole, 3), whole);
}

#[test]
fn number_refusal_names_unit_letter_or_limit() {
    let of = |text: &str| number(text, (1, 60)).map_err(|wrong| wrong.says);
    assert_eq!(of("60"), Ok(60));
    for (text, told) in [
        ("30s", "it has the unit \"s\", but it is a number alone"),
        ("0", "it is less than 1"),
        ("61", "it is more than 60"),
        ("99999999999999999999999", "it is more than 60"),
        (
            "-5",
            "it has \"-\" at position 1, where only digits are allowed",
        ),
        (
            "1.5",
            "it has \".\" at position 2, where only digits are allowed",
        ),
        ("", "it is empty"),
    ] {
        assert_eq!(of(text), Err(told.to_owned()), "{text}");
    }
}

#[test]
fn misspelt_word_names_the_one_that_it_resembles() {
    let of = |text: &str| word(text, &["Scheduled"]).says;
    assert_eq!(of("scheduled"), "it differs from \"Scheduled\" in capitals");
    assert_eq!(of("Schedule"), "it is nearly \"Scheduled\"");
    assert_eq!(of("true"), "it is another word");
    assert_eq!(nearest("sun", &["Mon", "Sun"]), Some("Sun"));
    assert_eq!(nearest("Sonntag", &["Mon", "Sun"]), None);
}
