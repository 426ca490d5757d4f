//! The package in the tree is that of the code. `CAREEN_BLESS=1 cargo test -p careen-hosts-tests
//! package` writes it. No release has it yet.

use std::path::Path;

use provider::manifests;

#[test]
fn package_in_the_tree_is_that_of_the_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/infrastructure");
    let mut all = String::new();
    for (name, rendered) in manifests::infrastructure(manifests::IMAGE).unwrap() {
        let path = folder.join(name);
        if std::env::var_os("CAREEN_BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &rendered).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(written, rendered, "{name} has drifted");
        all.push_str(&rendered);
    }
    for part in [
        "--infrastructure",
        "infrastructure-careen",
        "careen-host-writes",
    ] {
        assert!(all.contains(part), "{part}");
    }
}

/// Cluster API remediates all sick machines at once by default.
#[test]
fn templates_replace_one_sick_machine_at_a_time() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/infrastructure");
    for name in [
        "cluster-template.yaml",
        "cluster-template-single.yaml",
        "clusterclass-careen.yaml",
    ] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let least = text.matches("unhealthyLessThanOrEqualTo: 40%").count();
        let most = text.matches("maxInFlight: 1\n").count();
        assert_eq!((least, most), (1, 1), "{name}");
    }
}
