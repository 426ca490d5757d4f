//! The order of Kubernetes versions, and what is a downgrade.
#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;

use proptest::prelude::*;
use upgrade::Version;

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

#[test]
fn versions_sort_with_numbers_as_numbers() {
    let sorted = [
        "v1.35.9+rke2r9",
        "v1.36.0-alpha.1",
        "v1.36.0-alpha.2",
        "v1.36.0-alpha.10",
        "v1.36.0-alpha.10.3+abcdef",
        "v1.36.0-beta.0",
        "v1.36.0-rc.9",
        "v1.36.0-rc.10",
        "v1.36.0-rc.10+rke2r2",
        "v1.36.0",
        "v1.36.3",
        "v1.36.3+k3s1",
        "v1.36.3+rke2r2",
        "v1.36.3+rke2r10",
        "v1.36.3-eks-1-30-2",
        "v1.36.3-eks-1-30-12",
        "v1.36.3-gke.900",
        "v1.36.3-gke.1000",
        "v1.36.10",
        "v1.100.0",
        "v2.0.0",
    ];
    let mut all: Vec<Version> = sorted.iter().rev().map(|text| version(text)).collect();
    all.sort();
    let all: Vec<String> = all.into_iter().map(String::from).collect();
    assert_eq!(all, sorted);
}

#[test]
fn older_kubernetes_is_older_under_any_suffix() {
    for (old, new) in [
        ("v1.36.2", "v1.36.3"),
        ("v1.35.9", "v1.36.0-alpha.0"),
        ("v1.36.2+rke2r10", "v1.36.3+rke2r1"),
        ("v1.36.2-eks-1-30-12", "v1.36.3"),
        ("v1.36.9", "v1.36.10"),
        ("v1.36.0-rc.9", "v1.36.0-rc.10"),
        ("v1.36.0-rc9", "v1.36.0-rc10"),
        ("v1.36.0-rc.9+rke2r9", "v1.36.0-rc.10+rke2r1"),
        ("v1.36.0-alpha.3", "v1.36.0-beta.1"),
        ("v1.36.0-beta", "v1.36.0-beta.1"),
        ("v1.36.0-rc.1", "v1.36.0"),
        ("v1.36.0-rc.1", "v1.36.0+rke2r1"),
        ("v1.36.0-RC.1", "v1.36.0-eks-1-36-1"),
    ] {
        assert!(version(old).is_older_than(&version(new)), "{old} {new}");
        assert!(!version(new).is_older_than(&version(old)), "{new} {old}");
    }
}

#[test]
fn builds_of_one_kubernetes_are_no_downgrade_either_way() {
    for (one, other) in [
        ("v1.36.3+rke2r2", "v1.36.3+rke2r10"),
        ("v1.36.3", "v1.36.3+rke2r2"),
        ("v1.36.3", "v1.36.3-eks-1-30-12"),
        ("v1.36.3-eks-1-30-2", "v1.36.3-eks-1-30-12"),
        ("v1.36.3-gke.100", "v1.36.3-gke.1234000"),
        ("v1.36.3+k3s1", "v1.36.3+rke2r1"),
        ("v1.36.3-eks-036c24b", "v1.36.3-eks-9f3d1a0"),
        ("v1.36.3-aliyun.1", "v1.36.3"),
        ("v1.36.3+vmware.1", "v1.36.3+vmware.1-fips.1"),
        ("v1.36.3-rancher1-1", "v1.36.3-rancher1-10"),
        ("v1.36.0-rc.1+abc", "v1.36.0-rc.1+xyz"),
        ("v1.36.0-rc.1-eks-1", "v1.36.0-rc.1"),
    ] {
        assert!(
            !version(one).is_older_than(&version(other)),
            "{one} {other}"
        );
        assert!(
            !version(other).is_older_than(&version(one)),
            "{other} {one}"
        );
        assert_ne!(version(one), version(other));
    }
}

#[test]
fn refused_version_names_the_wrong_part() {
    for (text, told) in [
        ("1.36.3", "it does not begin with v"),
        ("V1.36.3", "it does not begin with v"),
        ("v1.36", "it has 2 of 3 numbers"),
        ("v1.36.3.1", "it has 4 of 3 numbers"),
        ("v1.036.3", "its number \"036\" begins with 0"),
        ("v1..3", "a number is missing"),
        ("v1.x.3", "its number \"x\" has \"x\" at position 1"),
        ("v1.36.3_1", "has \"_\" at position 2"),
        (
            "v1.36.99999999999",
            "its number \"99999999999\" is too large",
        ),
        ("v1.36.3 ", "it ends with a blank"),
        ("v1.36.3+rke2_r1", "its suffix has \"_\" at position 6"),
        ("v1.3б.3", "it has U+0431 (\"б\") at position 5"),
        ("", "it is empty"),
    ] {
        let error = text.parse::<Version>().unwrap_err().to_string();
        assert!(error.contains(told), "{text:?}: {error}");
    }
}

fn any() -> impl Strategy<Value = Version> {
    let suffix =
        "((-(rc|beta|eks|RC|0|00)([.-]?[0-9]{1,2}|[.-][a-z]){0,2})|([+](rke2r|k3s)[0-9]{1,2}))?";
    (0_u32..2, 0_u32..2, 0_u32..2, suffix).prop_map(|(major, minor, patch, suffix)| {
        version(&format!("v{major}.{minor}.{patch}{suffix}"))
    })
}

proptest! {
    #[test]
    fn order_is_total_and_agrees_with_equality(a in any(), b in any(), c in any()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.cmp(&b) == Ordering::Equal, a == b);
        prop_assert_eq!(a.partial_cmp(&b), Some(a.cmp(&b)));
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
        if a.is_older_than(&b) {
            prop_assert!(a < b && !b.is_older_than(&a));
        }
        if a.is_older_than(&b) && b.is_older_than(&c) {
            prop_assert!(a.is_older_than(&c));
        }
    }
}
