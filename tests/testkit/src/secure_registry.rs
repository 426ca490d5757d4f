//! The content of a registry over TLS. The node knows its CA for this registry only, and the
//! registry accepts only clients with a certificate of that CA.

use std::fs;

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use upgrade::container::SKOPEO;

use crate::control_plane::{HOST_SEEN_FROM_GUEST, ports};
use crate::process::Process;
use crate::registry::{Registry, serving};

/// The folder of its files, within the registry's folder.
const FOLDER: &str = "tls";

/// A running TLS registry. Dropping it ends it; its content is the plain registry's.
#[derive(Debug)]
pub struct SecureRegistry {
    port: u16,
    keys: Keys,
    _process: Process,
}

/// In PEM.
#[derive(Debug)]
struct Keys {
    authority: String,
    client: Pair,
}

#[derive(Debug)]
struct Pair {
    certificate: String,
    key: String,
}

impl SecureRegistry {
    /// Starts one for the content of this registry.
    ///
    /// # Errors
    ///
    /// Fails when there are no keys, or it does not start.
    pub async fn of(registry: &Registry) -> Result<Self> {
        let folder = registry.dir().join(FOLDER);
        fs::create_dir_all(&folder)?;
        let [port] = ports::free()?;
        let (keys, server) = keys()?;
        let file = |name: &str, content: &str| -> Result<String> {
            let path = folder.join(name);
            fs::write(&path, content)?;
            Ok(path.display().to_string())
        };
        let tls = format!(
            ", tls: {{ certificate: {}, key: {}, clientcas: [{}] }}",
            file("server.crt", &server.certificate)?,
            file("server.key", &server.key)?,
            file("authority.crt", &keys.authority)?
        );
        Ok(Self {
            port,
            keys,
            _process: serving(registry.dir(), "secure", port, &tls).await?,
        })
    }

    /// The name of that registry's image here.
    #[must_use]
    pub fn offers(&self, image: &str, registry: &Registry) -> String {
        image.replacen(&registry.seen_from_guest(), &self.seen_from_guest(), 1)
    }

    /// Its host and port for the node.
    #[must_use]
    pub fn seen_from_guest(&self) -> String {
        format!("{HOST_SEEN_FROM_GUEST}:{}", self.port)
    }

    /// The script that gives a node the CA and the node's own certificate. skopeo can read the key,
    /// but not every user can (docs/policy.md).
    #[must_use]
    pub fn introduction(&self) -> String {
        let folder = format!("/etc/containers/certs.d/{}", self.seen_from_guest());
        let Keys { authority, client } = &self.keys;
        format!(
            "set -e\nmkdir -p {folder}\n\
             cat >{folder}/ca.crt <<'END'\n{authority}END\n\
             cat >{folder}/client.cert <<'END'\n{}END\n\
             install -m 0640 -g {SKOPEO} /dev/null {folder}/client.key\n\
             cat >{folder}/client.key <<'END'\n{}END\n",
            client.certificate, client.key
        )
    }
}

/// The keys of the CA and the node, and the server's.
fn keys() -> Result<(Keys, Pair)> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let name = &mut parameters.distinguished_name;
    name.push(DnType::CommonName, "the registry's authority");
    let authority = parameters.self_signed(&key)?.pem();
    let issuer = Issuer::new(parameters, key);
    let client = signed(&issuer, Vec::new(), ExtendedKeyUsagePurpose::ClientAuth)?;
    let server = signed(
        &issuer,
        vec![HOST_SEEN_FROM_GUEST.to_owned()],
        ExtendedKeyUsagePurpose::ServerAuth,
    )?;
    Ok((Keys { authority, client }, server))
}

fn signed(
    issuer: &Issuer<'_, KeyPair>,
    names: Vec<String>,
    purpose: ExtendedKeyUsagePurpose,
) -> Result<Pair> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(names)?;
    parameters.extended_key_usages = vec![purpose];
    let certificate = parameters.signed_by(&key, issuer)?.pem();
    let key = key.serialize_pem();
    Ok(Pair { certificate, key })
}
