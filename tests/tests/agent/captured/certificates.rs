//! Certificates in another Node's name. A kubelet may ask for any; kube-controller-manager signs what it approves, and kubeadm has it
//! approve a node's own renewals.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::node::TestNode;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::Api;
use serde_json::json;
use vm_tests::cluster_api::objects;

use super::captured;
use crate::hand::{Hand, Try, post};

/// A request as a kubelet makes it, for the client certificate of the node of this name.
fn request(folder: &Path, name: &str, node: &str) -> Result<Try> {
    let mut openssl = Command::new("openssl");
    openssl
        .args([
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ])
        .args(["-nodes", "-keyout"])
        .arg(folder.join("asked.key"))
        .args(["-subj", &format!("/O=system:nodes/CN=system:node:{node}")]);
    let output = openssl.output().context("cannot run openssl")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "openssl req: {complaint}");
    let body = json!({
        "metadata": { "name": name },
        "spec": {
            "request": ByteString(output.stdout),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    });
    Ok(post(
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        body,
    ))
}

/// Waits until this request of the node itself was approved and signed.
async fn until_signed(node: &TestNode, name: &str) -> Result<()> {
    let api: Api<CertificateSigningRequest> = Api::all(node.admin.clone());
    let signed = || async {
        let status = api.get(name).await?.status.unwrap_or_default();
        ensure!(status.certificate.is_some(), "{status:?}");
        Ok(())
    };
    objects::until("its own certificate is signed", PATIENCE, signed).await
}

#[tokio::test]
async fn a_certificate_in_another_nodes_name_is_approved_by_nobody() -> Result<()> {
    let (own, other, hand) = captured("impersonates").await?;
    let asked = |name: &str, node: &str| request(own.folder.path(), name, node);
    let theirs = format!("{}-as-{}", own.name, other.name);
    hand.may(&[asked(&theirs, &other.name)?]).await?;
    // Asked for behind it, twice: whoever approves has had the first before him by then.
    renew_twice(&own, &hand).await?;
    let api: Api<CertificateSigningRequest> = Api::all(own.admin.clone());
    let status = api.get(&theirs).await?.status.unwrap_or_default();
    assert_eq!(status.conditions, None, "judged");
    assert!(status.certificate.is_none(), "signed");
    Ok(())
}

async fn renew_twice(own: &TestNode, hand: &Hand) -> Result<()> {
    for number in 0..2 {
        let name = format!("{}-renews-{number}", own.name);
        hand.may(&[request(own.folder.path(), &name, &own.name)?])
            .await?;
        until_signed(own, &name).await?;
    }
    Ok(())
}
