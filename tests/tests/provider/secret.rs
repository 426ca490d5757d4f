//! The certificate that all replicas share.

use std::sync::Arc;

use anyhow::{Result, ensure};
use careen_tests::cluster::{PATIENCE, plane};
use provider::tls::{Current, Own, follow_secret};
use testkit::cluster_api::objects;

#[tokio::test]
async fn replicas_that_start_together_serve_one_certificate() -> Result<()> {
    let own = Own {
        namespace: "default".to_owned(),
        name: "shared-tls".to_owned(),
        names: vec!["127.0.0.1".to_owned()],
    };
    let mut served = Vec::new();
    for _ in 0..3 {
        let current = Arc::new(Current::default());
        let client = plane().await?.client().await?;
        tokio::spawn(follow_secret(client, own.clone(), Arc::clone(&current)));
        served.push(current);
    }
    let all = || async {
        ensure!(served.iter().all(|one| one.is_there()), "no certificate");
        Ok(())
    };
    objects::until("a certificate each", PATIENCE, all).await?;
    // The certificate is in what Debug shows.
    let shown: Vec<String> = served.iter().map(|one| format!("{one:?}")).collect();
    assert!(shown[0].contains("CertificateDer"), "{}", shown[0]);
    assert!(shown.windows(2).all(|pair| pair[0] == pair[1]));
    Ok(())
}
