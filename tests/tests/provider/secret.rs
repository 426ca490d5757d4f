//! The certificate that all replicas share.

use std::sync::Arc;

use anyhow::{Context, Result};
use careen_tests::cluster::{PATIENCE, plane};
use provider::tls::{Current, Own, follow_secret};
use tokio::sync::watch;

#[tokio::test]
async fn replicas_that_start_together_serve_one_certificate() -> Result<()> {
    let own = Own {
        namespace: "default".to_owned(),
        name: "shared-tls".to_owned(),
        names: vec!["127.0.0.1".to_owned()],
    };
    let mut told = Vec::new();
    for _ in 0..3 {
        let (authorities, mut known) = watch::channel(None::<String>);
        let current = Arc::new(Current::default());
        let client = plane().await?.client().await?;
        tokio::spawn(follow_secret(
            client,
            own.clone(),
            Arc::clone(&current),
            authorities,
        ));
        told.push(async move {
            let authority = tokio::time::timeout(PATIENCE, known.wait_for(Option::is_some)).await;
            let authority = authority.context("no certificate")??.clone();
            assert!(current.is_there());
            anyhow::Ok(authority)
        });
    }
    let authorities = futures::future::try_join_all(told).await?;
    assert!(authorities.windows(2).all(|pair| pair[0] == pair[1]));
    Ok(())
}
