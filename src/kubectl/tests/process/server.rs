//! An API server as far as the program asks one: Nodes are read, listed, watched and patched. What
//! a real one says to all of it the tests in `tests/tests/kubectl` see; here the program is looked
//! at from outside.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The Nodes, each change of any with its number.
#[derive(Default)]
struct Nodes {
    by_name: BTreeMap<String, Value>,
    changes: Vec<String>,
    /// So many changes are forgotten.
    forgotten: usize,
    /// The answer to the next write does not come.
    loses: bool,
}

type Shared = Arc<(Mutex<Nodes>, Condvar)>;

/// One that ends with the test's process.
pub struct Server {
    shared: Shared,
    folder: TempDir,
}

impl Server {
    /// One with these Nodes.
    pub fn with(nodes: impl IntoIterator<Item = (impl AsRef<str>, Value)>) -> Self {
        let shared = Shared::default();
        for (name, annotations) in nodes {
            put(&shared, name.as_ref(), node(name.as_ref(), annotations));
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig(&url)).unwrap();
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&served);
                // A client that hangs up is no matter of ours.
                thread::spawn(move || drop(serve(&stream.unwrap(), &shared)));
            }
        });
        Self { shared, folder }
    }

    /// How to reach it.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// An annotation of a Node.
    pub fn annotation(&self, name: &str, key: &str) -> Option<String> {
        let nodes = self.shared.0.lock().unwrap();
        let value = &nodes.by_name[name]["metadata"]["annotations"][key];
        value.as_str().map(str::to_owned)
    }

    /// Writes annotations, as the Node's agent does.
    pub fn annotate(&self, name: &str, annotations: Value) {
        let mut changed = self.shared.0.lock().unwrap().by_name[name].clone();
        merge(&mut changed["metadata"]["annotations"], annotations);
        put(&self.shared, name, changed);
    }

    /// The same, and who watches has missed it: the past is forgotten, as where etcd is compacted.
    pub fn annotate_and_forget(&self, name: &str, annotations: Value) {
        let mut nodes = self.shared.0.lock().unwrap();
        nodes.forgotten = nodes.changes.len() + 1;
        drop(nodes);
        self.annotate(name, annotations);
    }

    /// Makes the next write, and hangs up on who asks for it.
    pub fn lose_an_answer(&self) {
        self.shared.0.lock().unwrap().loses = true;
    }

    /// Waits until a Node is so.
    pub fn until(&self, name: &str, so: impl Fn(&Value) -> bool) {
        let (nodes, changed) = &*self.shared;
        let not_yet = |nodes: &mut Nodes| !so(&nodes.by_name[name]["metadata"]["annotations"]);
        let waited = changed.wait_timeout_while(nodes.lock().unwrap(), super::PATIENCE, not_yet);
        assert!(!waited.unwrap().1.timed_out(), "{name} does not become so");
    }
}

fn kubeconfig(url: &str) -> String {
    json!({
        "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": url } }],
        "users": [{ "name": "u", "user": {} }],
    })
    .to_string()
}

fn node(name: &str, annotations: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "uid": name, "annotations": annotations },
        "status": {
            "nodeInfo": { "kubeletVersion": "v1.35.4" },
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    })
}

fn put(shared: &Shared, name: &str, mut node: Value) {
    let (nodes, changed) = &**shared;
    let mut nodes = nodes.lock().unwrap();
    nodes.changes.push(name.to_owned());
    node["metadata"]["resourceVersion"] = json!(nodes.changes.len().to_string());
    nodes.by_name.insert(name.to_owned(), node);
    changed.notify_all();
}

/// A JSON merge patch.
fn merge(into: &mut Value, from: Value) {
    let Value::Object(from) = from else {
        *into = from;
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in from {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(&key);
        } else {
            merge(&mut into[&key], value);
        }
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        if header.trim().is_empty() {
            break;
        }
        if let Some((_, value)) = header.to_lowercase().split_once("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if query.contains("watch=") {
        return watch(stream, shared, query);
    }
    let name = path.strip_prefix("/api/v1/nodes/");
    let (code, answer) = match (method, path, name) {
        ("GET", "/api/v1/nodes", _) => (200, list(shared, query)),
        ("GET", _, Some(name)) => read(shared, name),
        ("PATCH", _, Some(name)) => {
            let (code, mut node) = read(shared, name);
            if code == 200 {
                merge(&mut node, serde_json::from_slice(&body).unwrap());
                put(shared, name, node);
            }
            if std::mem::take(&mut shared.0.lock().unwrap().loses) {
                return Ok(());
            }
            read(shared, name)
        }
        _ => (200, json!({ "metadata": {}, "items": [] })),
    };
    let answer = answer.to_string();
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {code} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    )
}

/// As many as are asked for, and a token for the rest.
fn list(shared: &Shared, query: &str) -> Value {
    let nodes = shared.0.lock().unwrap();
    let said = |key: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(known, _)| *known == key);
        values.next().map_or("", |(_, value)| value)
    };
    let (from, limit) = (
        said("continue"),
        said("limit").parse().unwrap_or(usize::MAX),
    );
    let mut rest = nodes
        .by_name
        .iter()
        .filter(|(name, _)| name.as_str() >= from);
    let items: Vec<&Value> = rest.by_ref().take(limit).map(|(_, node)| node).collect();
    json!({
        "apiVersion": "v1", "kind": "NodeList", "items": items,
        "metadata": { "resourceVersion": nodes.changes.len().to_string(), "continue": rest.next().map(|(name, _)| name) },
    })
}

/// A name says what becomes of who asks for it.
fn read(shared: &Shared, name: &str) -> (u16, Value) {
    let status = |code: u16, message: &str| {
        (
            code,
            json!({ "kind": "Status", "status": "Failure", "code": code, "message": message }),
        )
    };
    match shared.0.lock().unwrap().by_name.get(name) {
        Some(node) => (200, node.clone()),
        None if name == "forbidden" => status(403, "you may not"),
        None => status(404, "no such node"),
    }
}

fn watch(mut stream: &TcpStream, shared: &Shared, query: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )?;
    let since = query.split("resourceVersion=").nth(1).unwrap_or("0");
    let mut seen: usize = since.split('&').next().unwrap().parse().unwrap_or(0);
    let (nodes, changed) = &**shared;
    loop {
        let nodes = nodes.lock().unwrap();
        let nodes = changed.wait_while(nodes, |nodes| nodes.changes.len() == seen);
        let nodes = nodes.unwrap();
        if seen < nodes.forgotten {
            drop(nodes);
            return expired(stream);
        }
        let event = json!({ "type": "MODIFIED", "object": nodes.by_name[&nodes.changes[seen]] });
        seen += 1;
        drop(nodes);
        send(stream, &event)?;
    }
}

fn send(mut stream: &TcpStream, event: &Value) -> std::io::Result<()> {
    let event = format!("{event}\n");
    write!(stream, "{:x}\r\n{event}\r\n", event.len())?;
    stream.flush()
}

/// What kube-apiserver says of a past that it has forgotten; then it ends the watch.
fn expired(mut stream: &TcpStream) -> std::io::Result<()> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
        "message": "too old resource version: 1 (2)",
    });
    send(stream, &json!({ "type": "ERROR", "object": status }))?;
    write!(stream, "0\r\n\r\n")
}
