//! A workload cluster whose API server lists, and breaks or ends each watch as soon as it starts.

use std::time::{Duration, Instant};

use provider::clusters::Clusters;
use provider::machines::{ClusterFacts, Key, Machines};
use provider::queue::Queue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::agent::Manner;
use crate::scene::{SPACE, Scene, secret};

const LIST: &str = "{\"kind\": \"List\", \"apiVersion\": \"v1\", \"metadata\": {\"resourceVersion\": \"1\"}, \"items\": []}";
const GONE: &str = "{\"type\": \"ERROR\", \"object\": {\"kind\": \"Status\", \"apiVersion\": \"v1\", \"metadata\": {}, \
     \"status\": \"Failure\", \"reason\": \"Expired\", \"message\": \"too old\", \"code\": 410}}\n";

/// Such a server. It reports every request for Nodes.
async fn hasty(farewell: &'static str) -> (u16, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, asked) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream, farewell, told.clone()));
        }
    });
    (port, asked)
}

async fn talk(
    mut stream: TcpStream,
    farewell: &'static str,
    told: mpsc::UnboundedSender<String>,
) -> std::io::Result<()> {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
    let mut request = vec![0; 16 << 10];
    let length = stream.read(&mut request).await?;
    let text = String::from_utf8_lossy(&request[..length]).into_owned();
    let line = text.lines().next().unwrap_or_default().to_owned();
    stream.write_all(HEAD.as_bytes()).await?;
    let body = match line.as_str() {
        version if version.contains("/version") => "{\"gitVersion\": \"v1.36.3\"}",
        watch if watch.contains("watch=true") => farewell,
        _ => LIST,
    };
    if line.contains("/nodes") {
        let _ = told.send(line);
    }
    stream.write_all(body.as_bytes()).await
}

/// How long it takes until such a server has had this many requests of this kind.
async fn asked(farewell: &'static str, what: &str, times: usize) -> Duration {
    let scene = Scene::new(Manner::Upgrades).await;
    let (port, mut requests) = hasty(farewell).await;
    scene.small.put("secrets", secret("hasty", port));
    let key = Key::new(SPACE, "hasty");
    let machines = Machines::default();
    machines.replace_clusters(vec![(key.clone(), ClusterFacts::default())]);
    let clusters = Clusters::new(scene.client(), machines, Queue::default());
    let begun = Instant::now();
    let _state = clusters.get(&key);
    let mut seen = 0;
    while seen < times {
        let request = requests.recv().await.unwrap();
        seen += usize::from(request.contains(what));
    }
    begun.elapsed()
}

/// Without growing pauses, the provider would list again every quarter of a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_breaks_each_watch_is_listed_with_growing_pauses() {
    let took = asked(GONE, "limit=", 5).await;
    assert!(took >= Duration::from_millis(3750), "{took:?}");
}

/// The library restarts it by itself, at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_ends_each_watch_is_watched_with_growing_pauses() {
    let took = asked("", "watch=true", 5).await;
    assert!(took >= Duration::from_millis(3750), "{took:?}");
}
