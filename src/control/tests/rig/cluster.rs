//! Members of etcd as processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use control::etcd::{Address, Client, Found, external, stacked};
use serde_json::Value;
use tempfile::TempDir;
use testkit::control_plane::ports;
use testkit::process::Process;
use testkit::{etcdutl, programs};
use upgrade::control_plane::EtcdId;

use super::certificates::Authority;

/// How long etcd may take for anything. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// One member: how it is started, and its process while it runs.
struct Member {
    arguments: Vec<String>,
    client: String,
    peer: String,
    process: Option<Process>,
}

/// A cluster of etcd. It ends with this value.
pub struct Cluster {
    pub folder: TempDir,
    pub authority: Authority,
    etcd: PathBuf,
    members: Vec<Member>,
}

impl Cluster {
    /// Starts so many members, called cp-1 and so on.
    pub fn start<const SIZE: usize>() -> Self {
        Self::with::<SIZE>(&[])
    }

    /// The same with more flags.
    pub fn with<const SIZE: usize>(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        fs::write(folder.path().join("ca.crt"), &authority.certificate).unwrap();
        let mut cluster = Self {
            folder,
            authority,
            etcd: programs::etcd().unwrap(),
            members: Vec::new(),
        };
        for at in 0..SIZE {
            cluster.prepare(at, flags);
        }
        let peers: Vec<_> = (0..SIZE).map(|at| cluster.named_peer(at)).collect();
        for at in 0..SIZE {
            cluster.go(at, &peers.join(","), "new");
        }
        cluster
    }

    /// Writes the certificates of a member and chooses its ports.
    fn prepare(&mut self, at: usize, flags: &[&str]) {
        let name = format!("cp-{}", at + 1);
        let [client, peer] = ports::free().unwrap();
        let [client, peer] = [client, peer].map(|port| format!("https://127.0.0.1:{port}"));
        let pair = self.authority.sign(&name);
        let path = |end: &str| self.folder.path().join(format!("{name}.{end}"));
        fs::write(path("crt"), pair.certificate).unwrap();
        fs::write(path("key"), pair.key).unwrap();
        let (crt, key, data) = (path("crt"), path("key"), path("data"));
        let (crt, key, data) = (crt.display(), key.display(), data.display());
        let ca = self.folder.path().join("ca.crt");
        let ca = ca.display();
        let mut arguments = vec![
            format!("--name={name}"),
            format!("--data-dir={data}"),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--cert-file={crt}"),
            format!("--key-file={key}"),
            "--client-cert-auth=true".to_owned(),
            format!("--trusted-ca-file={ca}"),
            format!("--peer-cert-file={crt}"),
            format!("--peer-key-file={key}"),
            "--peer-client-cert-auth=true".to_owned(),
            format!("--peer-trusted-ca-file={ca}"),
            "--unsafe-no-fsync=true".to_owned(),
            "--log-level=warn".to_owned(),
        ];
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        self.members.push(Member {
            arguments,
            client,
            peer,
            process: None,
        });
    }

    fn named_peer(&self, at: usize) -> String {
        format!("cp-{}={}", at + 1, self.members[at].peer)
    }

    fn go(&mut self, at: usize, peers: &str, state: &str) {
        let log = self.folder.path().join(format!("cp-{}.log", at + 1));
        let member = &mut self.members[at];
        member.arguments.push(format!("--initial-cluster={peers}"));
        member
            .arguments
            .push(format!("--initial-cluster-state={state}"));
        let started = Process::start(&self.etcd, &member.arguments, &log);
        member.process = Some(started.unwrap());
    }

    /// Kills a member, as a power cut does.
    pub fn kill(&mut self, at: usize) {
        self.members[at].process = None;
    }

    /// Stops a member, which keeps its port and answers nothing.
    pub fn freeze(&self, at: usize) {
        self.members[at].process.as_ref().unwrap().freeze().unwrap();
    }

    /// The address of the clients of a member.
    pub fn address(&self, at: usize) -> Address {
        self.members[at].client.parse().unwrap()
    }

    /// The flags of a member, as its manifest has them.
    pub fn arguments(&self, at: usize) -> &[String] {
        &self.members[at].arguments
    }

    /// The credential that kubeadm's own health check uses.
    pub fn client(&self) -> Client {
        let pair = self.authority.sign("kube-etcd-healthcheck-client");
        Client::new(&self.authority.certificate, &pair.certificate, &pair.key).unwrap()
    }

    /// What a survey finds at a member.
    pub async fn found(&self, at: usize) -> Found {
        stacked(&self.client(), &self.address(at)).await
    }

    /// The same once this is true of it.
    pub async fn once(&self, at: usize, what: &str, is: impl Fn(&Found) -> bool) -> Found {
        until(what, is, async || self.found(at).await).await
    }

    /// What a survey finds at these members, asked as an external etcd, once this is true of it.
    pub async fn external_once(&self, what: &str, is: impl Fn(&Found) -> bool) -> Found {
        let all: Vec<_> = (0..self.members.len()).collect();
        self.external_at(&all, what, is).await
    }

    /// The same, with the addresses of these members as the endpoints.
    pub async fn external_at(
        &self,
        at: &[usize],
        what: &str,
        is: impl Fn(&Found) -> bool,
    ) -> Found {
        let endpoints: Vec<_> = at
            .iter()
            .map(|at| self.members[*at].client.clone())
            .collect();
        let client = self.client();
        until(what, is, async || external(&client, &endpoints).await).await
    }

    /// Cuts a running member off from its peers, as if the network between them were away. Clients
    /// still reach it. The others start again, with certificates of another authority.
    pub fn cut_off(&mut self, at: usize) {
        let others: Vec<_> = (0..self.members.len()).filter(|one| *one != at).collect();
        for other in &others {
            self.kill(*other);
        }
        let authority = Authority::new();
        let peers: Vec<_> = others.iter().map(|one| self.named_peer(*one)).collect();
        for other in others {
            let pair = authority.sign("peer");
            for (flag, end, text) in [
                ("--peer-trusted-ca-file", "ca", &authority.certificate),
                ("--peer-cert-file", "crt", &pair.certificate),
                ("--peer-key-file", "key", &pair.key),
            ] {
                let path = self.folder.path().join(format!("peer-{other}.{end}"));
                fs::write(&path, text).unwrap();
                let flag = format!("{flag}={}", path.display());
                self.members[other].arguments.push(flag);
            }
            self.go(other, &peers.join(","), "existing");
        }
    }

    /// Demands a user of each client. Careen has none.
    pub async fn demand_users(&self) {
        let client = self.client().patient_for(PATIENCE);
        let first = self.address(0);
        for (path, body) in [
            ("/v3/auth/user/add", r#"{"name":"root","password":"x"}"#),
            ("/v3/auth/role/add", r#"{"name":"root"}"#),
            ("/v3/auth/user/grant", r#"{"user":"root","role":"root"}"#),
            ("/v3/auth/enable", "{}"),
        ] {
            client.post(&first, path, body).await.unwrap();
        }
    }

    /// Once all of so many members are healthy.
    pub async fn healthy(&self, members: usize) -> Found {
        let is = |found: &Found| {
            let well = found.members.iter().filter(|one| one.is_healthy()).count();
            well == members && found.unread.is_empty()
        };
        self.once(0, "healthy", is).await
    }

    /// Asks the first member to add one more, which has no vote until it is promoted.
    pub async fn add_learner(&mut self) {
        let at = self.members.len();
        self.prepare(at, &[]);
        let body = format!(
            r#"{{"peerURLs":["{}"],"isLearner":true}}"#,
            self.members[at].peer
        );
        let (client, first) = (self.client(), self.address(0));
        // A leader that has just been elected refuses for some seconds.
        let start = Instant::now();
        while let Err(error) = client
            .post(&first, "/v3/cluster/member/add", body.clone())
            .await
        {
            assert!(start.elapsed() < PATIENCE, "{error}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Raises an alarm of a member by hand.
    pub async fn raise(&self, member: EtcdId, alarm: &str) {
        self.raise_at(0, member, alarm).await;
    }

    /// The same at another member.
    pub async fn raise_at(&self, at: usize, member: EtcdId, alarm: &str) {
        let id = member.0;
        let body = format!(r#"{{"action":"ACTIVATE","memberID":"{id}","alarm":"{alarm}"}}"#);
        let (client, address) = (self.client(), self.address(at));
        let raised = client.post(&address, "/v3/maintenance/alarm", body);
        raised.await.unwrap();
    }

    /// Writes a value.
    pub async fn put(&self, key: &str, value: &[u8]) {
        let [key, value] = [key.as_bytes(), value].map(|bytes| STANDARD.encode(bytes));
        let body = format!(r#"{{"key":"{key}","value":"{value}"}}"#);
        let client = self.client().patient_for(PATIENCE);
        let put = client.post(&self.address(0), "/v3/kv/put", body).await;
        put.unwrap();
    }

    /// Reads a value from a member.
    pub async fn get(&self, at: usize, key: &str) -> Option<Vec<u8>> {
        let body = format!(r#"{{"key":"{}"}}"#, STANDARD.encode(key));
        let (client, address) = (self.client(), self.address(at));
        let read = client.post(&address, "/v3/kv/range", body).await;
        let read: Value = serde_json::from_str(&read.unwrap()).unwrap();
        let value = read["kvs"][0]["value"].as_str()?;
        Some(STANDARD.decode(value).unwrap())
    }

    /// Writes so many values of 1 MiB.
    pub async fn fill(&self, mebibytes: u8) {
        for number in 0..mebibytes {
            self.put(&format!("/fill/{number}"), &vec![number; 1 << 20])
                .await;
        }
    }

    /// Kills all members, and starts each from its share of this snapshot, as etcd documents.
    pub fn restore(&mut self, snapshot: &Path) {
        let peers: Vec<_> = (0..self.members.len())
            .map(|at| self.named_peer(at))
            .collect();
        let peers = peers.join(",");
        for member in &mut self.members {
            member.process = None;
        }
        for at in 0..self.members.len() {
            let name = format!("cp-{}", at + 1);
            let data = self.folder.path().join(format!("{name}.data"));
            fs::remove_dir_all(&data).unwrap();
            let mut etcdutl = Command::new(etcdutl::program().unwrap());
            etcdutl.args(["snapshot", "restore"]).arg(snapshot);
            etcdutl.args(["--name", &name, "--initial-cluster", &peers]);
            etcdutl.args(["--initial-advertise-peer-urls", &self.members[at].peer]);
            etcdutl.args(["--bump-revision", "1000000000", "--mark-compacted"]);
            let output = etcdutl.arg("--data-dir").arg(data).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            self.go(at, &peers, "existing");
        }
    }

    /// Starts the member that was added last.
    pub fn start_last(&mut self) {
        let last = self.members.len() - 1;
        let peers: Vec<_> = (0..=last).map(|at| self.named_peer(at)).collect();
        self.go(last, &peers.join(","), "existing");
    }
}

/// Looks until this is true of what is found. Members that lose their leader need some seconds.
async fn until(what: &str, is: impl Fn(&Found) -> bool, look: impl AsyncFn() -> Found) -> Found {
    let start = Instant::now();
    loop {
        let found = look().await;
        if is(&found) {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "not {what}: {found:#?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Runs this on a runtime of one thread, as the program does.
pub fn within<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(work)
}
