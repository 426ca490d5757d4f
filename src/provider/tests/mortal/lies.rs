//! API servers that lie. Each harms only its own cluster's connection, and takes no more memory
//! than its limit. An honest cluster next to it stays visible.

use std::sync::Arc;
use std::time::Duration;

use provider::clusters::{ClusterState, Clusters, Node, Size};
use provider::machines::{ClusterFacts, Key, Machines};
use provider::queue::Queue;
use provider::watch::{self, Budget, Filter};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::agent::Manner;
use crate::liar::{Lie, page, serve};
use crate::scene::{SPACE, Scene, secret};

/// The maximum memory of the whole process, including the servers.
const MEMORY: usize = 512 << 20;

const MIB: usize = 1 << 20;

/// The peak memory of this process so far, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.unwrap().parse::<usize>().unwrap() * 1024
}

/// A liar's cluster, and an honest one next to it.
struct Both {
    _scene: Scene,
    liar: Arc<ClusterState>,
    honest: Arc<ClusterState>,
    _clusters: Clusters,
}

async fn both(lie: impl Lie) -> Both {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.small.put("secrets", secret("lies", serve(lie).await));
    let keys = ["lies", "c"].map(|name| Key::new(SPACE, name));
    let machines = Machines::default();
    let facts = keys.clone().map(|key| (key, ClusterFacts::default()));
    machines.replace_clusters(facts.into());
    let clusters = Clusters::new(scene.client(), machines, Queue::default());
    let [liar, honest] = keys.map(|key| clusters.get(&key));
    Both {
        _scene: scene,
        liar,
        honest,
        _clusters: clusters,
    }
}

impl Both {
    /// Waits until this holds for the liar's cluster. The honest one must be visible then.
    async fn until(&self, what: &str, holds: impl Fn(&ClusterState) -> bool) {
        let waited = async {
            while !holds(&self.liar) || self.honest.link().is_err() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = timeout(Duration::from_secs(90), waited).await;
        let (liar, honest) = (self.liar.link().err(), self.honest.link().err());
        assert!(waited.is_ok(), "never {what}: {liar:?}, {honest:?}");
        assert!(peak() < MEMORY, "{what}: {} MiB", peak() / MIB);
    }

    async fn until_away(&self, why: &str) {
        let is_away =
            |state: &ClusterState| state.link().err().is_some_and(|said| said.contains(why));
        self.until(why, is_away).await;
    }
}

fn node(name: &str, version: &str, text: &str) -> String {
    json!({
        "metadata": { "name": name, "uid": text, "resourceVersion": "1", "annotations": { "a": text, "careen.dev/paused": text } },
        "spec": { "providerID": text },
        "status": { "nodeInfo": { "kubeletVersion": version, "architecture": text } },
    })
    .to_string()
}

/// Endless pages, each with one Node of the maximum size.
struct Pages;

impl Lie for Pages {
    fn list(&self, _: &str, piece: usize) -> Option<String> {
        let text = "x".repeat(3 * MIB);
        (piece == 0).then(|| page(&node("n", "v1.36.3", &text), "more"))
    }
}

/// Endless pages of small Nodes.
struct Nodes;

impl Lie for Nodes {
    fn list(&self, query: &str, piece: usize) -> Option<String> {
        let page_number = query.split("continue=").nth(1).unwrap_or("0");
        let page_number: usize = page_number.split('&').next()?.parse().ok()?;
        let names =
            (0..100).map(|number| node(&format!("n-{page_number}-{number}"), "v1.36.3", ""));
        let items = names.collect::<Vec<_>>().join(",");
        (piece == 0).then(|| page(&items, &(page_number + 1).to_string()))
    }
}

/// One page with more objects than requested, each of the minimum size.
struct Crowd;

impl Lie for Crowd {
    fn list(&self, _: &str, piece: usize) -> Option<String> {
        let begin = "{\"metadata\": {\"resourceVersion\": \"1\"}, \"items\": [";
        Some(if piece == 0 {
            begin.to_owned()
        } else {
            "{},".repeat(1000)
        })
    }
}

/// A list of only small values.
struct Values(&'static str);

impl Lie for Values {
    fn list(&self, _: &str, piece: usize) -> Option<String> {
        Some(if piece == 0 {
            self.0.to_owned()
        } else {
            "0,".repeat(1000)
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_without_end_cost_their_own_cluster_alone() {
    both(Nodes)
        .await
        .until_away("more than 20000 objects")
        .await;
    both(Crowd)
        .await
        .until_away("longer than 10000 objects")
        .await;
    for begin in [
        "{\"junk\": [",
        "{\"metadata\": {\"managedFields\": [",
        "{\"items\": [{\"a\": [",
        "[",
    ] {
        both(Values(begin)).await.until_away("values").await;
    }
    let pages = both(Pages).await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) {
        pages.until("read on", |state| state.link().is_err()).await;
        sleep(Duration::from_millis(200)).await;
    }
}

/// Endless strings in the list, in the events after it, and in the bookmarks between them.
struct Strings;

impl Lie for Strings {
    fn list(&self, _: &str, piece: usize) -> Option<String> {
        let long = |number: usize| "x".repeat(100_000 + number);
        let nodes = (0..20).map(|number| {
            node(
                &format!("n-{number}{}", long(number)),
                &long(number),
                &long(number),
            )
        });
        let items = nodes.collect::<Vec<_>>().join(",");
        (piece == 0).then(|| page(&items, ""))
    }

    fn watch(&self, piece: usize) -> Option<String> {
        let text = "x".repeat(MIB);
        let line = match piece % 3 {
            0 => format!(
                "{{\"type\": \"MODIFIED\", \"object\": {}}}",
                node("last", &text, &text)
            ),
            1 => format!(
                "{{\"object\": {}, \"type\": \"ADDED\"}}",
                node("other", &text, &text)
            ),
            _ => format!(
                "{{\"type\": \"BOOKMARK\", \"object\": {{\"kind\": \"{text}\", \"metadata\": {{\"resourceVersion\": \"{text}\", \"annotations\": {{\"{text}\": \"{text}\"}}}}}}}}"
            ),
        };
        (piece < 30).then(|| line + "\n")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_strings_in_lists_events_and_bookmarks_are_not_kept() {
    let both = both(Strings).await;
    both.until("both events seen", |state| {
        state.node("last").is_some() && state.node("other").is_some()
    })
    .await;
    let sizes = ["last", "other"].map(|name| both.liar.node(name).unwrap().size());
    assert!(sizes.into_iter().all(|size| size < 4096), "{sizes:?}");
    assert_eq!(both.liar.node("last").unwrap().kubelet.len(), 128);
}

/// Pages of Nodes whose statuses have lists of empty strings, each as long as a status may be.
struct Empty;

impl Empty {
    const PAGES: usize = 10;
    const NODES: usize = 500;

    /// A status as the JSON of an annotation's value.
    fn status() -> String {
        let list = |length: usize| vec![""; length];
        let status = json!({
            "phase": "", "percent": 0, "tries": 0, "reached": [],
            "unknownKeys": list(2600), "differs": list(2600),
        });
        json!(status.to_string()).to_string()
    }
}

impl Lie for Empty {
    fn list(&self, query: &str, piece: usize) -> Option<String> {
        let number = query.split("continue=").nth(1).unwrap_or("0");
        let number: usize = number.split('&').next()?.parse().ok()?;
        let status = Self::status();
        let one = |at: usize| {
            let annotations = format!("{{\"careen.dev/status\": {status}}}");
            format!(
                "{{\"metadata\": {{\"name\": \"n-{number}-{at}\", \"annotations\": {annotations}}}}}"
            )
        };
        let next = match number + 1 {
            Self::PAGES => String::new(),
            next => next.to_string(),
        };
        let items = || (0..Self::NODES).map(one).collect::<Vec<_>>().join(",");
        (piece == 0).then(|| page(&items(), &next))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statuses_of_empty_strings_cost_their_own_cluster_alone() {
    let both = both(Empty).await;
    let all = Empty::PAGES * Empty::NODES;
    both.until("all Nodes seen", |state| state.len() == all)
        .await;
    let node = both.liar.node("n-0-0").unwrap();
    assert!(node.reply.status.is_some(), "it is read");
    assert!(node.size() < 4096, "{}", node.size());
}

/// A watch whose line is one endless bookmark.
struct Bookmark;

impl Lie for Bookmark {
    fn list(&self, _: &str, piece: usize) -> Option<String> {
        (piece == 0).then(|| page(&node("n", "v1.36.3", ""), ""))
    }

    fn watch(&self, piece: usize) -> Option<String> {
        let begin = "{\"object\": {\"metadata\": {\"resourceVersion\": \"1\", \"annotations\": {";
        Some(match piece {
            0 => begin.to_owned(),
            piece => format!("\"{piece}\": \"\","),
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bookmark_without_end_costs_its_own_watch_alone() {
    let both = both(Bookmark).await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        both.until("seen", |state| state.node("n").is_some()).await;
        sleep(Duration::from_millis(200)).await;
    }
}

/// A list that arrives letter by letter. Each letter is a sign of life.
struct Drip;

impl Lie for Drip {
    fn list(&self, _: &str, _: usize) -> Option<String> {
        std::thread::sleep(Duration::from_millis(100));
        Some(" ".to_owned())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_list_that_drips_is_given_up_when_its_time_is_over() {
    let url = format!("http://127.0.0.1:{}", serve(Drip).await);
    let client = kube::Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
    let filter = Filter::<Node> {
        budget: Some(Budget {
            page: 100,
            most: 10,
            bytes: MIB,
            size: Node::size,
            share: None,
            within: Duration::from_secs(2),
        }),
        ..Filter::default()
    };
    let watched = watch::once(provider::api::nodes(client), &filter, |_| {});
    let ended = timeout(Duration::from_secs(30), watched).await;
    let why = ended.expect("it is given up").unwrap_err().to_string();
    assert!(why.contains("in time"), "{why}");
}
