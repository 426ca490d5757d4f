//! Three members, one after the other. It is not part of `make test`, which has no two minutes for
//! it: `cargo test -p native --test raise -- --ignored`.

use native::until;
use serde_json::json;

use crate::plane::{FAST, MANIFESTS, Plane};

#[tokio::test]
#[ignore = "it takes two minutes on a quiet machine"]
async fn members_that_joined_are_raised_after_the_first() -> anyhow::Result<()> {
    let plane = Plane::start(3)?;
    let client = plane.cluster.client().await?;
    let members = plane.cluster.members();
    // Another build of etcd. A member that joined has flags in etcd.yaml that kubeadm drops.
    let tag = format!("{}1", plane.tags(&members[0])[0].trim_end_matches('0'));
    plane.next.tag_etcd(&tag)?;
    let local = format!("local:\n    imageTag: {tag}");
    plane.configure(&client, "local:", &local).await?;
    let version = plane.next.version();
    for member in members {
        let ended = plane.raise(member, "one", FAST);
        assert_eq!(ended, json!({ "raised": version }), "{}", member.name());
        assert_eq!(plane.tags(member)[0], tag);
        let server = member.read(&format!("{MANIFESTS}/kube-apiserver.yaml"))?;
        assert!(server.contains(version), "{server}");
        until("a leader", async || match member.etcd().await {
            Ok(etcd) => etcd
                .status()
                .await
                .is_ok_and(|one| one["leader"].is_string()),
            Err(_) => false,
        })
        .await;
    }
    let upgrade = members[1].read("/var/sysroot/ostree/careen/control-one/raise.json")?;
    assert!(upgrade.contains(r#""run":"node""#), "{upgrade}");
    Ok(())
}
