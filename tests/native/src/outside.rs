//! An external etcd: members as processes of the cluster's network, outside of all machines.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType,
};
use testkit::process::Process;
use testkit::programs;

use crate::configuration::ETCD_PORT;
use crate::member::Member;
use crate::network::{BALANCER, Network};

/// The port of etcd for its peers.
const PEER_PORT: u16 = 2380;

/// Where kubeadm's own guide has the client files of the API servers.
const AUTHORITY: &str = "/etc/kubernetes/pki/etcd/ca.crt";
const CLIENT: &str = "/etc/kubernetes/pki/apiserver-etcd-client";

/// The members, each running or stopped.
#[derive(Debug)]
pub struct Outside {
    program: PathBuf,
    folder: PathBuf,
    network: Arc<Network>,
    running: Mutex<Vec<Option<Process>>>,
}

impl Outside {
    /// Starts so many members, whose files are below `folder`.
    pub(crate) fn start_all(folder: &Path, network: &Arc<Network>, size: u8) -> Result<Self> {
        fs::create_dir_all(folder)?;
        sign(folder, size)?;
        let this = Self {
            program: programs::etcd()?,
            folder: folder.to_owned(),
            network: Arc::clone(network),
            running: Mutex::new((0..size).map(|_| None).collect()),
        };
        for number in 1..=size {
            network.ip(format!("address add {}/24 dev bridge\n", address(number)))?;
        }
        for number in 1..=size {
            this.start(number)?;
        }
        Ok(this)
    }

    /// Starts a member again, with its data. The first has the number 1.
    ///
    /// # Errors
    ///
    /// Fails when there is no such member.
    pub fn start(&self, number: u8) -> Result<()> {
        let log = self.folder.join(format!("{}.log", name(number)));
        let arguments = self.arguments(number);
        let started = self.network.start(&self.program, &arguments, &log)?;
        self.set(number, Some(started))
    }

    /// Kills a member. Its data stays.
    ///
    /// # Errors
    ///
    /// Fails when there is no such member.
    pub fn kill(&self, number: u8) -> Result<()> {
        self.set(number, None)
    }

    /// The client URLs of all members.
    #[must_use]
    pub fn endpoints(&self) -> Vec<String> {
        (1..=self.size()).map(client_url).collect()
    }

    /// kubeadm's configuration of it.
    pub(crate) fn configuration(&self) -> String {
        let endpoints = self.endpoints().join(", ");
        format!(
            "etcd: {{external: {{endpoints: [{endpoints}], caFile: {AUTHORITY}, \
             certFile: {CLIENT}.crt, keyFile: {CLIENT}.key}}}}\n"
        )
    }

    /// Gives the first machine the client files, before `kubeadm init`. The others get them from
    /// the cluster.
    pub(crate) fn equip(&self, member: &Member) -> Result<()> {
        member.run("mkdir", &["-p", "/etc/kubernetes/pki/etcd"])?;
        for (from, to) in [
            ("ca.crt", AUTHORITY.to_owned()),
            ("client.crt", format!("{CLIENT}.crt")),
            ("client.key", format!("{CLIENT}.key")),
        ] {
            member.write(&to, &fs::read_to_string(self.folder.join(from))?)?;
        }
        Ok(())
    }

    fn set(&self, number: u8, process: Option<Process>) -> Result<()> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let place = usize::from(number).checked_sub(1);
        let place = place.and_then(|at| running.get_mut(at));
        *place.with_context(|| format!("no external etcd {number}"))? = process;
        Ok(())
    }

    fn size(&self) -> u8 {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        u8::try_from(running.len()).unwrap_or(u8::MAX)
    }

    fn arguments(&self, number: u8) -> Vec<String> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let (authority, certificate, key) =
            (file("ca.crt"), file("server.crt"), file("server.key"));
        let (client, peer) = (client_url(number), peer_url(number));
        let all: Vec<_> = (1..=self.size())
            .map(|one| format!("{}={}", name(one), peer_url(one)))
            .collect();
        vec![
            format!("--name={}", name(number)),
            format!("--data-dir={}", file(&name(number))),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster={}", all.join(",")),
            "--client-cert-auth=true".to_owned(),
            format!("--trusted-ca-file={authority}"),
            format!("--cert-file={certificate}"),
            format!("--key-file={key}"),
            "--peer-client-cert-auth=true".to_owned(),
            format!("--peer-trusted-ca-file={authority}"),
            format!("--peer-cert-file={certificate}"),
            format!("--peer-key-file={key}"),
            "--log-level=warn".to_owned(),
        ]
    }
}

/// An authority, a certificate for all members, and one for the API servers.
fn sign(folder: &Path, size: u8) -> Result<()> {
    let mut params = named("external-etcd-ca")?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    fs::write(folder.join("ca.crt"), params.self_signed(&key)?.pem())?;
    let issuer = Issuer::new(params, key);
    for name in ["server", "client"] {
        let mut params = named(name)?;
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        // Peers come from the first address of the bridge, which all of them share.
        let addresses = (1..=size).map(address).chain([BALANCER]);
        let names = addresses.map(|address| SanType::IpAddress(IpAddr::V4(address)));
        params.subject_alt_names = names.collect();
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        fs::write(folder.join(format!("{name}.crt")), certificate.pem())?;
        fs::write(folder.join(format!("{name}.key")), key.serialize_pem())?;
    }
    Ok(())
}

fn named(name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn name(number: u8) -> String {
    format!("etcd-{number}")
}

/// Above the addresses of machines.
fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, 100 + number)
}

fn client_url(number: u8) -> String {
    format!("https://{}:{ETCD_PORT}", address(number))
}

fn peer_url(number: u8) -> String {
    format!("https://{}:{PEER_PORT}", address(number))
}
