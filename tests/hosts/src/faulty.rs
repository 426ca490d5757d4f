//! An API server that fails, as careen-provider sees the real one through a proxy.
//!
//! `kubectl proxy` speaks TLS with the API server, so that requests can be read here.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use provider::{manifests, names};
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::objects;
use testkit::control_plane::ports;
use testkit::process::Process;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::cluster::{PATIENCE, plane};

/// A request of careen-provider.
pub struct Request {
    /// For example `PATCH`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The body.
    pub body: String,
}

impl Request {
    /// Whether it begins a watch.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.path.contains("watch=true") || self.path.contains("watch=1")
    }

    /// Whether it puts a claim on a host.
    #[must_use]
    pub fn is_claim(&self) -> bool {
        self.method == "PATCH"
            && self.path.contains("/careenhosts/")
            && self.body.contains("\"providerID\"")
    }
}

/// What happens to a request.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It is answered.
    Answered,
    /// It is refused with this code, and not carried out.
    Refused(u16),
    /// It never reaches the API server, and no answer comes.
    Held,
    /// It is carried out, and its answer is lost.
    Lost,
    /// It is carried out, and each part of its answer comes so much later.
    Late(Duration),
}

/// An API server with faults. Dropping it ends it.
pub struct Faulty {
    /// Where it is.
    pub url: String,
    _kubectl: Process,
    _folder: tempfile::TempDir,
}

impl Faulty {
    /// One in which this decides over each request.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(
        admin: &Client,
        decide: impl Fn(&Request) -> Fate + Send + Sync + 'static,
    ) -> Result<Self> {
        let plane = plane().await?;
        let account = (manifests::NAMESPACE, names::MANAGER);
        let kubeconfig = kubeconfig_of(plane, admin, account).await?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("kubeconfig");
        std::fs::write(&file, serde_json::to_vec(&kubeconfig)?)?;
        let [port] = ports::free()?;
        let arguments = [
            "proxy".to_owned(),
            format!("--kubeconfig={}", file.display()),
            format!("--port={port}"),
        ];
        let log = folder.path().join("log");
        let kubectl = Process::start(&plane.program("kubectl"), &arguments, &log)?;
        let listens = || async { Ok(TcpStream::connect(("127.0.0.1", port)).await.map(drop)?) };
        objects::until("kubectl proxy listens", PATIENCE, listens).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let decide = Arc::new(decide);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let decide = Arc::clone(&decide);
                tokio::spawn(async move {
                    // A connection that either end closes is no error here.
                    let _ = serve(near, port, &*decide).await;
                });
            }
        });
        Ok(Self {
            url,
            _kubectl: kubectl,
            _folder: folder,
        })
    }
}

/// One request for each connection.
async fn serve(
    mut near: TcpStream,
    port: u16,
    decide: &(impl Fn(&Request) -> Fate + Send + Sync),
) -> Result<()> {
    let (head, body) = read(&mut near).await?;
    let mut words = head.split_whitespace().map(str::to_owned);
    let request = Request {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let delay = match decide(&request) {
        Fate::Refused(code) => return refuse(&mut near, code).await,
        Fate::Held => {
            let mut rest = Vec::new();
            near.read_to_end(&mut rest).await?;
            return Ok(());
        }
        Fate::Lost => None,
        Fate::Answered => Some(Duration::ZERO),
        Fate::Late(delay) => Some(delay),
    };
    let mut far = TcpStream::connect(("127.0.0.1", port)).await?;
    far.write_all(once(&head).as_bytes()).await?;
    far.write_all(&body).await?;
    match delay {
        None => {
            let mut answer = Vec::new();
            far.read_to_end(&mut answer).await?;
            Ok(())
        }
        Some(delay) => answer(far, near, delay).await,
    }
}

async fn refuse(near: &mut TcpStream, code: u16) -> Result<()> {
    let status = format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"a fault","code":{code}}}"#
    );
    let head = format!(
        "HTTP/1.1 {code} Fault\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        status.len()
    );
    near.write_all((head + &status).as_bytes()).await?;
    near.shutdown().await?;
    Ok(())
}

/// The head of a request after which the connection ends.
fn once(head: &str) -> String {
    let lines = head.trim_end().split("\r\n");
    let kept = lines.filter(|line| !line.to_lowercase().starts_with("connection:"));
    let kept: Vec<_> = kept.collect();
    kept.join("\r\n") + "\r\nConnection: close\r\n\r\n"
}

async fn answer(far: TcpStream, near: TcpStream, delay: Duration) -> Result<()> {
    let (mut from, _keep) = far.into_split();
    let (mut gone, mut to) = near.into_split();
    let (parts, mut later) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let reading = async move {
        let mut part = vec![0; 16 * 1024];
        loop {
            let size = from.read(&mut part).await?;
            if size == 0 {
                return anyhow::Ok(());
            }
            parts.send((Instant::now() + delay, part[..size].to_vec()))?;
        }
    };
    let writing = async move {
        while let Some((at, part)) = later.recv().await {
            tokio::time::sleep_until(at).await;
            to.write_all(&part).await?;
        }
        anyhow::Ok(())
    };
    let mut rest = [0];
    tokio::select! {
        both = async { tokio::try_join!(reading, writing) } => both.map(drop),
        // The client has gone.
        _ = gone.read(&mut rest) => Ok(()),
    }
}

/// The head of a request, and its body.
async fn read(near: &mut TcpStream) -> Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(near.read_u8().await?);
    }
    let head = String::from_utf8(head)?;
    let lines = head.to_lowercase();
    let length = lines
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = length.map_or(Ok(0), |length| length.trim().parse());
    let mut body = vec![0; length.context("a length that is no number")?];
    near.read_exact(&mut body).await?;
    Ok((head, body))
}
