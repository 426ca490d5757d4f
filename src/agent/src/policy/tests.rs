use super::parse;
use upgrade::Reason;
use upgrade::window::LastBegin;

fn refused(text: &str) -> (usize, usize, String) {
    match parse("policy.toml", text) {
        Err(Reason::BadPolicy {
            line,
            column,
            detail,
            ..
        }) => (line, column, detail),
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_are_taken() {
    let text = "trials = 3\n[drain]\nat-deadline = \"force\"\n";
    let policy = parse("policy.toml", text).unwrap();
    assert_eq!(
        (policy.trials, policy.drain.at_deadline),
        (3, upgrade::policy::AtDeadline::Force)
    );
}

#[test]
fn an_unknown_key_is_refused_where_it_stands() {
    let (line, column, detail) = refused("trials = 2\n[drain]\ndeadline = 5\n");
    assert_eq!((line, column), (3, 1), "{detail}");
    assert!(
        detail.contains("deadline-seconds"),
        "names what is accepted: {detail}"
    );
}

#[test]
fn a_wrong_type_is_refused_where_it_stands() {
    let (line, column, detail) = refused("unsigned = false\ntrials = \"two\"\n");
    assert_eq!((line, column), (2, 10), "{detail}");
    for part in ["trials: ", "\"two\"", "u32"] {
        assert!(detail.contains(part), "key, value and form: {detail}");
    }
}

#[test]
fn unaccepted_value_is_refused_with_its_key_and_alternatives() {
    let (line, _, detail) = refused("[drain]\nat-deadline = \"stop\"\n");
    assert_eq!(line, 2);
    for part in ["drain.at-deadline: ", "stop", "abort"] {
        assert!(detail.contains(part), "{detail}");
    }
}

#[test]
fn a_value_out_of_range_is_refused_where_it_stands() {
    let (line, column, detail) = refused("[health]\n  deadline-seconds = 5\n");
    assert_eq!((line, column), (2, 3));
    assert_eq!(
        detail,
        "health.deadline-seconds is 5; accepted is 0 or 30 to 86400"
    );
}

#[test]
fn a_fetch_of_seconds_is_refused_and_one_without_a_limit_is_not() {
    let (.., detail) = refused("[limits]\nfetch-seconds = 59\n");
    assert_eq!(
        detail,
        "limits.fetch-seconds is 59; accepted is 0, or 60 to 604800"
    );
    assert!(parse("policy.toml", "[limits]\nfetch-seconds = 0\n").is_ok());
}

#[test]
fn malformed_hours_are_refused_with_position_and_an_example() {
    let text = "[window]\nopen = [\"Sat 02:00-04:00\",\n  \"Sun 4-6\"]\n";
    let (line, column, detail) = refused(text);
    assert_eq!((line, column), (3, 3), "{detail}");
    for part in ["window.open: ", "Sun 4-6", "Mon-Fri 22:00-06:00"] {
        assert!(detail.contains(part), "{detail}");
    }
}

#[test]
fn last_begin_minutes_accepts_0_to_1440_or_usual() {
    let of = |value: &str| format!("[window]\nlast-begin-minutes = {value}\n");
    for (value, taken) in [
        ("0", LastBegin::Minutes(0)),
        ("1440", LastBegin::Minutes(1440)),
        ("\"usual\"", LastBegin::Usual),
    ] {
        let policy = parse("policy.toml", &of(value)).unwrap();
        assert_eq!(policy.window.last_begin, taken);
    }
    // The error points at the key of a value out of range, and at an invalid value itself.
    for (value, column) in [("1441", 1), ("-1", 22), ("\"long\"", 22), ("1.5", 22)] {
        let (line, at, detail) = refused(&of(value));
        assert_eq!((line, at), (2, column), "{detail}");
        for part in ["window.last-begin-minutes", "\"usual\", or 0 to 1440"] {
            assert!(detail.contains(part), "{value}: {detail}");
        }
    }
}

#[test]
fn impossible_branch_pattern_is_refused_with_its_position() {
    for bad in ["site/**", "site/", "site/st?ble", "", "site stable"] {
        let (line, column, detail) = refused(&format!("trials = 2\nbranches = [\"{bad}\"]\n"));
        assert_eq!((line, column), (2, 1), "{detail}");
        for part in ["branches is", &format!("\"{bad}\""), "site/*"] {
            assert!(detail.contains(part), "{detail}");
        }
    }
    let good = "branches = [\"site/stable\", \"lab/*\"]\nrollback = false\n";
    assert!(parse("policy.toml", good).is_ok());
}

#[test]
fn zone_escaping_the_zoneinfo_folder_is_refused_with_position() {
    let (line, column, detail) = refused("[window]\nzone = \"../../etc/shadow\"\n");
    assert_eq!((line, column), (2, 8), "{detail}");
    assert!(detail.contains("Europe/Berlin"), "{detail}");
}

#[test]
fn a_group_that_names_no_pods_is_refused_where_the_order_stands() {
    let (line, _, detail) = refused("[drain]\norder = [{ seconds = 60 }]\n");
    assert_eq!(line, 2, "{detail}");
    assert!(detail.starts_with("drain.order is "), "{detail}");
}

#[test]
fn a_value_in_a_table_on_one_line_is_found_too() {
    let (line, column, detail) = refused("trials = 2\ndrain = { deadline-seconds = 0 }\n");
    assert_eq!((line, column), (2, 11));
    assert_eq!(
        detail,
        "drain.deadline-seconds is 0; accepted is 1 to 86400"
    );
}

#[test]
fn however_long_a_bad_key_is_the_complaint_is_not() {
    let (.., detail) = refused(&format!("{} = 1\n", "x".repeat(100_000)));
    assert!(detail.len() < 1000);
}

#[test]
fn what_is_no_toml_is_refused_where_it_breaks() {
    assert_eq!(refused("trials = 2\n]").0, 2);
}

#[test]
fn refused_value_or_key_always_names_its_key() {
    for (text, told) in [
        ("unsigned = no\n", "unsigned: "),
        (
            "unsigned = no\n",
            "accepted is true or false, without quotes",
        ),
        ("unsigned = yes", "accepted is true or false"),
        ("unsigned = True\n", "unsigned: "),
        ("unsigned = \"no\"\n", "accepted is true or false"),
        ("unsigned =\n", "unsigned: "),
        ("trials = 2\nunsigned = # later\n", "unsigned: "),
        ("opt-out = maintenance\n", "opt-out: "),
        (
            "opt-out = maintenance\n",
            "accepted is a text in double quotes",
        ),
        ("opt-out = 'a\n", "opt-out: "),
        ("remotes = careen\n", "remotes: "),
        ("remotes = \"careen\"\n", "accepted is a list in brackets"),
        ("remotes = [careen]\n", "remotes: "),
        ("remotes = [\"a\", 3]\n", "remotes: "),
        ("remotes = [\"a\"\n", "remotes: "),
        ("trials = -1\n", "trials: "),
        ("trials = 2.5\n", "trials: "),
        ("trials = 5s\n", "trials: "),
        ("trials = 99999999999999999999\n", "trials: "),
        ("[drain]\nskip = off\n", "drain.skip: "),
        ("[drain]\nskip = off\n", "accepted is true or false"),
        ("[drain]\nat-deadline = force\n", "drain.at-deadline: "),
        ("[drain]\nat-deadline = \"kill\"\n", "drain.at-deadline: "),
        ("[window]\nopen = Mon-Fri 22:00-06:00\n", "window.open: "),
        ("[window]\nzone = Europe/Berlin\n", "window.zone: "),
        ("[metrics]\nlisten = 9840\n", "metrics.listen: "),
        (
            "[metrics]\nlisten = \"0.0.0.0:1\"\n",
            "other machines may reach 0.0.0.0",
        ),
        ("drain = 5\n", "drain: "),
        ("[trials]\nx = 1\n", "trials"),
        ("trials = 2\ntrials = 3\n", "trials: duplicate key"),
        (
            "[drain]\nskip = true\nskip = true\n",
            "drain.skip: duplicate key",
        ),
        (
            "unsinged = true\n",
            "unsinged is not a key of the policy; unsigned is perhaps meant",
        ),
        (
            "[drain]\nunsigned = true\n",
            "unsigned is a key above the first table",
        ),
        (
            "deadline-seconds = 5\n",
            "deadline-seconds is a key of [drain] and of [health]",
        ),
        ("[drian]\nskip = true\n", "drain is perhaps meant"),
        (
            "[drain]\norder = [{ namespace = [\"x\"] }]\n",
            "drain.order: ",
        ),
        ("trials 2\n", "trials"),
    ] {
        let (.., detail) = refused(text);
        assert!(detail.contains(told), "{text:?}: {detail}");
    }
}

#[test]
fn refused_list_names_the_element_that_is_wrong() {
    for (text, told) in [
        (
            "branches = [\"site/stable\", \"site/*\", \"site/**\"]\n",
            "element 3, \"site/**\"",
        ),
        (
            "[registry]\nallowed = [\"r.example.com\", \"docker://r.example.com\"]\n",
            "element 2, \"docker://r.example.com\"",
        ),
        (
            "[registry]\narchives = [\"srv/images\"]\n",
            "element 1, \"srv/images\"",
        ),
        (
            "[drain]\norder = [{ priority = 1 }, { seconds = 5 }]\n",
            "element 2 is not",
        ),
        (
            "[drain]\norder = [{ namespaces = [\"queues\", \"Databases\"] }]\n",
            "element 1, with namespace \"Databases\", is not",
        ),
        (
            "[[drain.order]]\nnamespaces = [\"databases \"]\n",
            "element 1, with namespace \"databases \", is not",
        ),
        (
            "[[drain.order]]\nnamespaces = [\"databases,queues\"]\n",
            "element 1, with namespace \"databases,queues\", is not",
        ),
        (
            "[serving]\nexcept = [\"pod:kube-system/cni\", \"pod:cilium\"]\n",
            "element 2, \"pod:cilium\", is not",
        ),
        (
            "[serving]\nexcept = [\"unit:nfs-client\"]\n",
            "\"unit:<name>.<type>\"",
        ),
    ] {
        let (.., detail) = refused(text);
        assert!(detail.contains(told), "{detail}");
    }
}
