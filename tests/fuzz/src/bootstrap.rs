//! Bootstrap data, as careen-host reads them before a join.

use cloud_config::{Facts, Plan, plan, script};

const ID: &str = "careen://fleet/n-1/9f3c9f3c9f3c9f3c";

/// Each accepted file is outside the image, and one of them has the identity of this host. The same
/// data give the same plan.
pub fn check(input: &[u8]) {
    let facts = Facts {
        instance_id: "9f3c9f3c9f3c9f3c".to_owned(),
        hostname: "n-1".to_owned(),
        provider_id: ID.to_owned(),
        failure_domain: Some("rack-a".to_owned()),
    };
    let planned = plan(input, &facts, &[]);
    assert_eq!(planned, plan(input, &facts, &[]));
    match planned {
        Ok(plan) => hold(&plan),
        Err(why) => assert!(why.to_string().ends_with('.'), "{why}"),
    }
}

fn hold(plan: &Plan) {
    for file in &plan.files {
        assert!(file.path.starts_with('/') && file.mode <= 0o7777);
        let mut parts = file.path.split('/').skip(1);
        assert!(
            parts.all(|part| !matches!(part, "" | "." | "..")),
            "{}",
            file.path
        );
        let is_of_the_image =
            file.path.starts_with("/usr/") && !file.path.starts_with("/usr/local/");
        assert!(!is_of_the_image, "{}", file.path);
    }
    let has_identity = |content: &[u8]| String::from_utf8_lossy(content).contains(ID);
    assert!(plan.files.iter().any(|file| has_identity(&file.content)));
    for commands in [&plan.bootcmd, &plan.runcmd] {
        assert!(script(commands).starts_with("#!/bin/sh\n"));
    }
}
