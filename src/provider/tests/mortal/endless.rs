//! A workload cluster whose API server never ends its answers.

use std::time::Duration;

use provider::clusters::Clusters;
use provider::machines::{ClusterFacts, Key, Machines};
use provider::queue::Queue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::agent::Manner;
use crate::scene::{SPACE, Scene, secret};

/// An API server that sends its version, and then blanks for ever.
async fn endless() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream));
        }
    });
    port
}

async fn talk(mut stream: TcpStream) -> std::io::Result<()> {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
    let mut request = vec![0; 16 << 10];
    let length = stream.read(&mut request).await?;
    stream.write_all(HEAD.as_bytes()).await?;
    if request[..length].starts_with(b"GET /version") {
        return stream.write_all(b"{\"gitVersion\": \"v1.36.3\"}").await;
    }
    let blanks = vec![b' '; 64 << 10];
    loop {
        stream.write_all(&blanks).await?;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_with_an_endless_answer_is_reported_away() {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.small.put("secrets", secret("lies", endless().await));
    let key = Key::new(SPACE, "lies");
    let machines = Machines::default();
    machines.replace_clusters(vec![(key.clone(), ClusterFacts::default())]);
    let clusters = Clusters::new(scene.client(), machines, Queue::default());
    let state = clusters.get(&key);
    let called_away = async {
        loop {
            match state.link().err() {
                Some(why) if why.contains("longer than") => break,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), called_away).await;
    assert!(waited.is_ok(), "{:?}", state.link().err());
}
