//! What a person types into a request: a refusal names the part that is wrong, and the rule that it
//! breaks.
#![allow(clippy::unwrap_used)]

use upgrade::window::Hours;
use upgrade::zone::ZoneName;
use upgrade::*;

const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn refusal(raw: &RawRequest) -> String {
    Reason::from(raw.parse().unwrap_err()).to_string()
}

fn image(text: &str) -> String {
    refusal(&RawRequest::scheduled(text))
}

#[test]
fn refused_commit_names_the_digit_or_the_number_of_digits() {
    let upper = format!("{}A{}", &DIGEST[..11], &DIGEST[12..]);
    let cyrillic = format!("{}\u{430}{}", &DIGEST[..11], &DIGEST[12..]);
    let blank_within = format!("{} {}", &DIGEST[..11], &DIGEST[12..]);
    for (commit, told) in [
        (DIGEST[..63].to_owned(), "its commit has 63 of 64 digits"),
        (
            format!("{DIGEST}0"),
            "its commit has 65 digits, 1 more than 64",
        ),
        (format!("{DIGEST} "), "it ends with a blank"),
        (format!("{DIGEST}\n"), "it ends with a line break"),
        (format!("{DIGEST}\u{a0}"), "it ends with the blank U+00A0"),
        (
            upper,
            "its commit has the upper-case letter \"A\" at position 12, where only 0-9 and a-f",
        ),
        (cyrillic, "U+0430, which only looks like \"a\""),
        (blank_within, "its commit has a blank at position 12"),
        (String::new(), "its commit is empty"),
        (
            format!("sha256:{DIGEST}"),
            "its commit has \"s\" at position 1",
        ),
    ] {
        let text = image(&format!("ostree:careen:debian/v1.36@{commit}"));
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn refusals_of_short_digits_and_trailing_blank_differ() {
    let short = image(&format!("ostree:careen:debian/v1.36@{}", &DIGEST[..63]));
    let blank = image(&format!("ostree:careen:debian/v1.36@{DIGEST} "));
    assert_ne!(short, blank);
    assert!(short.contains(&DIGEST[..63]) && blank.contains(&format!("{DIGEST} \"")));
}

#[test]
fn refused_image_names_the_part_that_is_wrong() {
    let at = format!("@sha256:{DIGEST}");
    let docker = "docker://registry.example.com/os";
    for (text, told) in [
        (String::new(), "it is empty"),
        ("os".into(), "it begins with none of ostree:"),
        (
            "Ostree:careen:os".into(),
            "it does not begin with ostree: letter by letter",
        ),
        (
            "ostre:careen:os".into(),
            "it does not begin with ostree: letter by letter",
        ),
        (" ostree:careen:os".into(), "it begins with a blank"),
        ("ostree:careen".into(), "it has no :<ref> after the remote"),
        ("ostree::os".into(), "its remote is empty"),
        ("ostree:-x:os".into(), "its remote begins with \"-\""),
        (
            "ostree:c areen:os".into(),
            "its remote has a blank at position 2",
        ),
        ("ostree:careen:".into(), "its ref is empty"),
        (
            "ostree:careen:a//b".into(),
            "its ref has an empty part beside a slash",
        ),
        (
            "ostree:careen:a/.b".into(),
            "its ref has a part that begins with \".\"",
        ),
        (
            "ostree:careen:a:b".into(),
            "its ref has \":\" at position 2",
        ),
        (
            "ostree:c\u{430}reen:os".into(),
            "U+0430, which only looks like \"a\"",
        ),
        (docker.into(), "it has no @sha256:<digest>"),
        (format!("{docker}:1.36"), "its tag \"1.36\" is not accepted"),
        (
            format!("{docker}:1.36{at}"),
            "its tag \"1.36\" is not accepted",
        ),
        (
            format!("{docker}@sha256:{}", &DIGEST[1..]),
            "its digest has 63 of 64 digits",
        ),
        (
            format!("{docker}@{DIGEST}"),
            "its digest does not begin with sha256:",
        ),
        (
            format!("{docker}@sha512:{DIGEST}"),
            "its digest does not begin with sha256:",
        ),
        (
            format!("{docker}{at}@{}", &DIGEST[4..]),
            "its commit has 60 of 64 digits",
        ),
        (
            format!("docker://os{at}"),
            "it has no /<name> after the host",
        ),
        (
            format!("docker://team/os{at}"),
            "its host \"team\" has neither a dot nor a port",
        ),
        (
            format!("docker://R.example.com/os{at}"),
            "its host has the upper-case letter \"R\"",
        ),
        (
            format!("docker://r.example.com:x/os{at}"),
            "its port \"x\" is no number",
        ),
        (
            format!("docker://r.example.com/Os{at}"),
            "its name part \"Os\" has the upper-case",
        ),
        (
            format!("docker://r.example.com/os_-b{at}"),
            "two different ones in a row",
        ),
        (
            format!("docker://docker.io/os{at}"),
            "its name means library/",
        ),
        (
            format!("Docker://r.example.com/os{at}"),
            "it does not begin with docker://",
        ),
        (
            format!("docker:r.example.com/os{at}"),
            "it begins with docker:; write docker://r.example.com/os@sha256:",
        ),
        (
            format!("https://r.example.com/os{at}"),
            "it begins with https://; write docker://r.example.com/os@sha256:",
        ),
        (
            format!("OCI://r.example.com/os{at}"),
            "it begins with oci://; write docker://r.example.com/os@sha256:",
        ),
        (
            format!("oci:///srv/os{at}"),
            "it begins with oci://; write oci:/srv/os@sha256:",
        ),
        (
            format!("oci-archive://srv/os.tar{at}"),
            "it begins with oci-archive://; write oci-archive:/srv/os.tar@sha256:",
        ),
        (
            format!("ostree-unverified-registry:r.example.com/os{at}"),
            "write docker://r.example.com/os@sha256:",
        ),
        (
            format!("ostree-image-signed:docker://r.example.com/os{at}"),
            "write docker://r.example.com/os@sha256:",
        ),
        (
            "ostree://site/site/stable".into(),
            "it begins with ostree://; write ostree:site:site/stable",
        ),
        (
            format!("r.example.com/os{at}"),
            "it begins with no transport; write docker://r.example.com/os@sha256:",
        ),
        (
            format!("oci:srv/os{at}"),
            "its path does not begin with a slash",
        ),
        (
            format!("oci:/srv/../os{at}"),
            "its path has the part \"..\"",
        ),
        (
            format!("oci-archive:/srv/os.tar:t{at}"),
            "its path has \":\" at position 12",
        ),
        ("kept".into(), "kept: has small letters and one colon"),
        ("Kept:".into(), "kept: has small letters and one colon"),
        ("kept: ".into(), "it ends with a blank"),
    ] {
        let refused = image(&text);
        assert!(refused.contains(told), "{text:?}: {refused}");
        assert!(refused.contains("ostree:<remote>:<ref>"), "{refused}");
    }
}

#[test]
fn request_that_lacks_its_image_says_so() {
    let raw = RawRequest {
        image: None,
        ..RawRequest::scheduled("")
    };
    assert!(refusal(&raw).contains("the Node does not have this annotation"));
}

#[test]
fn other_annotations_of_a_request_name_their_wrong_part() {
    let base = || RawRequest::scheduled("ostree:careen:os");
    let set = |change: fn(&mut RawRequest, String), value: &str| {
        let mut raw = base();
        change(&mut raw, value.to_owned());
        refusal(&raw)
    };
    let request = |raw: &mut RawRequest, value| raw.request = value;
    let id = |raw: &mut RawRequest, value| raw.id = Some(value);
    let soak = |raw: &mut RawRequest, value| raw.soak = Some(value);
    let version = |raw: &mut RawRequest, value| raw.kubernetes = Some(value);
    let long = "x".repeat(64);
    for (text, told) in [
        (
            set(request, "scheduled"),
            "it differs from \"Scheduled\" in capitals",
        ),
        (set(request, "Schedueld"), "it is nearly \"Scheduled\""),
        (set(request, "Scheduled "), "it ends with a blank"),
        (set(request, "true"), "it is another word"),
        (set(request, ""), "it is empty"),
        (set(id, "a/b"), "it has \"/\" at position 2"),
        (set(id, &long), "it has 64 letters of at most 63"),
        (set(id, ".."), "it has only dots"),
        (set(id, "a\u{2013}b"), "U+2013, which only looks like \"-\""),
        (set(soak, "30s"), "it has the unit \"s\""),
        (set(soak, "86401"), "it is more than 86400"),
        (set(soak, "-1"), "it has \"-\" at position 1"),
        (set(soak, " 5"), "it begins with a blank"),
        (
            set(version, "1.36.3"),
            "careen.dev/kubernetes-version is \"1.36.3\"",
        ),
        (set(version, "1.36.3"), "it does not begin with v"),
    ] {
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn cut_value_is_marked_and_shows_the_wrong_part() {
    let long = format!(
        "ostree:careen:{}\u{430}{}",
        "a".repeat(150),
        "b".repeat(400)
    );
    let text = image(&long);
    assert!(text.contains("… (565 letters)"), "{text}");
    assert!(text.contains("a\u{430}b"), "{text}");
    assert!(text.len() < 1000, "{text}");
}

#[test]
fn refused_hours_name_the_wrong_part() {
    for (text, told) in [
        ("daily", "it has no blank between days and hours"),
        (
            "Son 02:00-04:00",
            "\"Son\" is no day (\"Mon\" is perhaps meant)",
        ),
        (
            "mon-fri 02:00-04:00",
            "\"mon\" is no day (\"Mon\" is perhaps meant)",
        ),
        ("Mon, Tue 02:00-04:00", "\"\" is no day"),
        ("Weekdays 02:00-04:00", "\"Weekdays\" is no day"),
        (
            "daily 2:00-04:00",
            "its time \"2:00\" is not HH:MM, each of two digits",
        ),
        ("daily 02:00-25:00", "its time \"25:00\" is after 24:00"),
        (
            "daily 02:60-04:00",
            "its time \"02:60\" is after 24:00, or its minute is after 59",
        ),
        ("daily 10pm-04:00", "its time \"10pm\" is not HH:MM"),
        ("daily 02:00", "it has no dash between two times"),
        (
            "daily 02:00\u{2013}04:00",
            "U+2013, which only looks like \"-\"",
        ),
        ("daily 02:00-02:00", "it ends where it begins"),
        ("daily 24:00-02:00", "24:00 is no begin"),
        ("daily 02:00-04:00 ", "it ends with a blank"),
    ] {
        let error = text.parse::<Hours>().unwrap_err().to_string();
        assert!(error.contains(told), "{text:?}: {error}");
    }
}

#[test]
fn refused_zone_or_address_names_the_wrong_part() {
    let zone = |text: &str| text.parse::<ZoneName>().unwrap_err().to_string();
    assert!(zone("Europe/Berlin ").contains("it ends with a blank"));
    assert!(zone("../etc").contains("it has \".\" at position 1"));
    assert!(zone("Europe//Berlin").contains("it has an empty part beside a slash"));
    let listen = |text: &str| text.parse::<listen::Listen>().unwrap_err().to_string();
    assert!(listen("0.0.0.0:9840").contains("other machines may reach 0.0.0.0"));
    assert!(listen("9840").contains("it has no :<port>"));
    assert!(listen("localhost:9840").contains("\"localhost\" is no address in numbers"));
    assert!(listen("127.0.0.1:98400").contains("its port \"98400\" is no number up to 65535"));
    assert!(listen("unix:metrics").contains("its path does not begin with a slash"));
}

#[test]
fn refusal_of_an_older_agent_reads_without_the_wrong_part() {
    let old = r#"{"code":"BadRequest","field":"f","value":"v","accepted":"x"}"#;
    let reason: Reason = serde_json::from_str(old).unwrap();
    assert_eq!(reason.to_string(), "f is \"v\", which is not valid. Use x.");
    assert_eq!(serde_json::to_string(&reason).unwrap(), old);
}
