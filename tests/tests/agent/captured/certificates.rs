//! Certificates: a certificate that kube-controller-manager signs for a kubelet makes its holder
//! that node.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use serde_json::json;

use super::captured;
use crate::hand::{Try, post};

/// The certificates that kubelets request: a client's and a server's.
const SIGNED_FOR_KUBELETS: [(&str, &str); 2] = [
    ("kube-apiserver-client-kubelet", "client auth"),
    ("kubelet-serving", "server auth"),
];

/// A certificate request as the kubelet of the node with this name makes it.
fn request(folder: &Path, node: &str, (signer, usage): (&str, &str)) -> Result<Try> {
    let mut openssl = Command::new("openssl");
    openssl
        .args(["req", "-new", "-newkey", "ec"])
        .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout"])
        .arg(folder.join("asked.key"))
        .args(["-subj", &format!("/O=system:nodes/CN=system:node:{node}")])
        .args(["-addext", &format!("subjectAltName=DNS:{node}")]);
    let output = openssl.output().context("cannot run openssl")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "openssl req: {complaint}");
    let body = json!({
        "metadata": { "generateName": "kubelet-" },
        "spec": {
            "request": ByteString(output.stdout),
            "signerName": format!("kubernetes.io/{signer}"),
            "usages": ["digital signature", usage],
        },
    });
    let place = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    Ok(post(place, body))
}

#[tokio::test]
async fn no_certificate_can_be_asked_for_in_another_nodes_name() -> Result<()> {
    let (own, other, hand) = captured("impersonates").await?;
    for kind in SIGNED_FOR_KUBELETS {
        let asked = |node: &str| request(own.folder.path(), node, kind);
        hand.may(&[asked(&own.name)?]).await?;
        hand.may_not(&[asked(&other.name)?]).await?;
    }
    Ok(())
}
