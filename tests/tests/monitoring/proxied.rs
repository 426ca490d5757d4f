//! An agent's metrics through the shipped proxy program.

use anyhow::{Result, anyhow, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::metrics_proxy::{PROXY, Proxy, SCRAPER, install, token};
use careen_tests::scene::Scene;
use testkit::cluster_api::objects;

use crate::prometheus::free;
use crate::rbac_proxy::{RbacProxy, address_of_a_node};
use crate::with_metrics_at;

/// This test verifies that the program and the replacement that `make test` uses refuse the same
/// requests.
#[tokio::test]
async fn kube_rbac_proxy_and_its_stand_in_refuse_the_same_requests() -> Result<()> {
    let agent = free()?;
    let scene = Scene::with_policy("behind-a-proxy", &with_metrics_at(agent)).await?;
    let admin = &scene.node.admin;
    install(admin).await?;
    let stand_in = Proxy::new(admin).await?;
    let real = RbacProxy::start(admin, address_of_a_node(41), agent).await?;
    let audience = [stand_in.audience()];
    let ours = token(admin, SCRAPER, &audience).await?;
    let metrics = || async {
        let shown = real.asked("get", "/metrics", &ours).await?;
        let shown = shown.map_err(|status| anyhow!("{status}"))?;
        ensure!(shown.contains("careen_agent_phase{"), "{shown}");
        Ok(())
    };
    objects::until("the agent's metrics", PATIENCE, metrics).await?;
    let theirs = token(admin, PROXY, &audience).await?;
    let for_the_server = token(admin, SCRAPER, &[]).await?;
    for (verb, path, token, refused) in [
        ("post", "/metrics", &*ours, 403),
        ("get", "/", &ours, 404),
        ("get", "/metrics/", &ours, 404),
        ("get", "/metrics", &theirs, 403),
        ("get", "/metrics", &for_the_server, 401),
        ("get", "/metrics", "nonsense", 401),
        ("get", "/metrics", "", 401),
    ] {
        let answer = real.asked(verb, path, token).await?;
        ensure!(answer == Err(refused), "{verb} {path} {token}: {answer:?}");
        let answer = stand_in.refusal(token, verb, path).await?;
        ensure!(answer == Some(refused), "{verb} {path} {token}: {answer:?}");
    }
    Ok(())
}
