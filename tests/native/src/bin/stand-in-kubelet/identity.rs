//! The credential of the kubelet: from kubeadm, or by TLS bootstrap with the token of a join.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestSpec,
};
use kube::api::{Api, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::Value;

use crate::file;

const KUBECONFIG: &str = "/etc/kubernetes/kubelet.conf";
const BOOTSTRAP: &str = "/etc/kubernetes/bootstrap-kubelet.conf";

/// Certificate and key in one file, as a kubelet keeps them.
const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// How long the API server may take for one answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often it looks whether its request was approved, and the pause between two looks.
const LOOKS: u32 = 240;
const PAUSE: Duration = Duration::from_millis(250);

/// A client with this node's rights.
pub async fn client(node: &str) -> Result<Client> {
    if !Path::new(KUBECONFIG).exists() {
        bootstrap(node).await.context("TLS bootstrap")?;
    }
    keep_certificate()?;
    connect(Kubeconfig::read_from(KUBECONFIG)?).await
}

async fn connect(content: Kubeconfig) -> Result<Client> {
    let mut config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    config.connect_timeout = Some(PATIENCE);
    config.read_timeout = Some(PATIENCE);
    Ok(Client::try_from(config)?)
}

/// A kubelet stores the certificate that `kubeadm init` has put into kubelet.conf. kubeadm then
/// makes kubelet.conf name that file.
fn keep_certificate() -> Result<()> {
    let content: Value = serde_saphyr::from_str(&fs::read_to_string(KUBECONFIG)?)?;
    let user = &content["users"][0]["user"];
    let certificate = user["client-certificate-data"].clone();
    if certificate.is_null() || Path::new(CERTIFICATE).exists() {
        return Ok(());
    }
    let mut text = decoded(certificate)?;
    text.push_str(&decoded(user["client-key-data"].clone())?);
    file::write(Path::new(CERTIFICATE), &text)
}

fn decoded(base64: Value) -> Result<String> {
    let bytes: ByteString = serde_json::from_value(base64)?;
    Ok(String::from_utf8(bytes.0)?)
}

async fn bootstrap(node: &str) -> Result<()> {
    let mut content = Kubeconfig::read_from(BOOTSTRAP)?;
    let key = KeyPair::generate()?;
    let certificate = signed(&connect(content.clone()).await?, node, &key).await?;
    file::write(
        Path::new(CERTIFICATE),
        &(certificate + &key.serialize_pem()),
    )?;
    for user in &mut content.auth_infos {
        user.auth_info = Some(AuthInfo {
            client_certificate: Some(CERTIFICATE.to_owned()),
            client_key: Some(CERTIFICATE.to_owned()),
            ..AuthInfo::default()
        });
    }
    println!("this node has its own credential");
    file::write(Path::new(KUBECONFIG), &serde_saphyr::to_string(&content)?)
}

async fn signed(client: &Client, node: &str, key: &KeyPair) -> Result<String> {
    let requests: Api<CertificateSigningRequest> = Api::all(client.clone());
    let made = requests
        .create(&PostParams::default(), &request(node, key)?)
        .await?;
    let name = made.metadata.name.unwrap_or_default();
    for _ in 0..LOOKS {
        let status = requests.get(&name).await?.status;
        if let Some(ByteString(certificate)) = status.and_then(|status| status.certificate) {
            return Ok(String::from_utf8(certificate)?);
        }
        tokio::time::sleep(PAUSE).await;
    }
    bail!("{name} was not approved")
}

/// The controller manager approves exactly this.
fn request(node: &str, key: &KeyPair) -> Result<CertificateSigningRequest> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::OrganizationName, "system:nodes");
    parameters
        .distinguished_name
        .push(DnType::CommonName, format!("system:node:{node}"));
    let mut request = CertificateSigningRequest {
        spec: CertificateSigningRequestSpec {
            request: ByteString(parameters.serialize_request(key)?.pem()?.into_bytes()),
            signer_name: "kubernetes.io/kube-apiserver-client-kubelet".to_owned(),
            usages: Some(vec![
                "digital signature".to_owned(),
                "client auth".to_owned(),
            ]),
            ..CertificateSigningRequestSpec::default()
        },
        ..CertificateSigningRequest::default()
    };
    request.metadata.generate_name = Some("node-csr-".to_owned());
    Ok(request)
}
