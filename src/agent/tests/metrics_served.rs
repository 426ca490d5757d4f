//! Metrics as Prometheus asks for them: off unless the policy says where, on this node alone.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../upgrade/tests/scene/mod.rs"]
mod scene;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use agent::metrics::{Disk, Linked, Metrics};
use scene::*;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use upgrade::listen::Listen;
use upgrade::*;

/// A port that is free at this moment.
fn free() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

fn policy(listen: &str) -> PolicyRead {
    let mut policy = Policy::default();
    policy.metrics.listen = listen.parse().unwrap();
    Ok(policy)
}

/// The file is refused by now, and this was the last one that held.
fn broken_behind(last: PolicyRead) -> PolicyRead {
    let reason = Reason::BadPolicy {
        file: "x".into(),
        line: 1,
        column: 1,
        detail: "x".into(),
    };
    let last = Box::new(last.unwrap());
    Err(Broken { reason, last })
}

fn metrics() -> Metrics {
    Metrics::new(|| Disk {
        boot_free: Some(42),
        ..Disk::default()
    })
}

fn show(metrics: &Metrics) {
    let linked = Linked {
        reached: true,
        paused: false,
    };
    metrics.show(
        &Ok(upgrade_in(Phase::Deployed)),
        &quiet(),
        linked,
        &Ok(Policy::default()),
    );
}

/// Connects as soon as somebody listens there.
async fn connect(address: SocketAddr) -> TcpStream {
    loop {
        if let Ok(stream) = TcpStream::connect(address).await {
            return stream;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn asked(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn without_an_address_nobody_listens_and_nothing_is_kept() {
    let mut metrics = metrics();
    metrics.follow(&policy(""));
    show(&metrics);
    assert!(!metrics.is_serving());
}

#[tokio::test]
async fn metrics_show_the_last_state_and_the_current_free_space() {
    let (mut metrics, address) = (metrics(), free());
    metrics.follow(&policy(&address.to_string()));
    show(&metrics);
    let answer = asked(connect(address).await, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.contains("content-type: application/openmetrics-text; version=1.0.0"),
        "{answer}"
    );
    assert!(
        answer.contains("careen_agent_phase{phase=\"Deployed\"} 1.0"),
        "{answer}"
    );
    assert!(
        answer.contains("careen_agent_free_bytes{place=\"boot\"} 42.0"),
        "{answer}"
    );
    assert!(answer.trim_end().ends_with("# EOF"), "{answer}");
}

#[tokio::test]
async fn what_is_served_while_nobody_looks_says_so() {
    let (mut metrics, address) = (metrics(), free());
    metrics.follow(&policy(&address.to_string()));
    show(&metrics);
    metrics.trouble();
    let answer = asked(connect(address).await, "/metrics").await;
    assert!(answer.contains("careen_agent_trouble 1.0"), "{answer}");
    assert!(answer.contains("phase=\"Deployed\"} 1.0"), "{answer}");
    show(&metrics);
    let answer = asked(connect(address).await, "/metrics").await;
    assert!(answer.contains("careen_agent_trouble 0.0"), "{answer}");
}

#[tokio::test]
async fn starting_agent_in_trouble_serves_metrics_that_say_so() {
    let (mut metrics, address) = (metrics(), free());
    metrics.follow(&policy(&address.to_string()));
    metrics.trouble();
    let answer = asked(connect(address).await, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("careen_agent_trouble 1.0"), "{answer}");
    assert!(answer.contains("careen_agent_build_info{"), "{answer}");
    assert!(!answer.contains("careen_agent_phase"), "it knows of none");
    show(&metrics);
    let answer = asked(connect(address).await, "/metrics").await;
    assert!(answer.contains("careen_agent_trouble 0.0"), "{answer}");
}

#[tokio::test]
async fn metrics_are_served_once_a_busy_address_is_free() {
    let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = held.local_addr().unwrap();
    let mut metrics = metrics().trying_again_after(Duration::from_millis(20));
    metrics.follow(&policy(&address.to_string()));
    show(&metrics);
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(held);
    let answer = asked(connect(address).await, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn before_the_first_look_there_is_nothing_to_tell() {
    let (mut metrics, address) = (metrics(), free());
    metrics.follow(&policy(&address.to_string()));
    let answer = asked(connect(address).await, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let answer = asked(connect(address).await, "/").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn those_who_connect_and_say_nothing_keep_nobody_else_out() {
    let (mut metrics, address) = (metrics(), free());
    metrics.follow(&policy(&address.to_string()));
    show(&metrics);
    let _silent = [
        connect(address).await,
        connect(address).await,
        connect(address).await,
    ];
    let answer = asked(connect(address).await, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

async fn until_there(path: &Path) -> UnixStream {
    loop {
        if let Ok(stream) = UnixStream::connect(path).await {
            return stream;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_unix_socket_that_a_former_agent_left_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metrics");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut metrics = metrics();
    metrics.follow(&policy(&Listen::Unix(path.clone()).to_string()));
    show(&metrics);
    let answer = asked(until_there(&path).await, "/metrics").await;
    assert!(answer.contains("careen_agent_phase"), "{answer}");
}

#[tokio::test]
async fn what_lies_in_the_place_of_the_socket_and_is_none_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metrics");
    std::fs::write(&path, "somebody's").unwrap();
    let mut metrics = metrics();
    metrics.follow(&policy(&Listen::Unix(path.clone()).to_string()));
    // It binds in its first turn, or not at all.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody's");
}

#[tokio::test]
async fn metrics_move_to_a_new_address_and_survive_a_broken_policy() {
    let (mut metrics, first, second) = (metrics(), free(), free());
    metrics.follow(&policy(&first.to_string()));
    show(&metrics);
    connect(first).await;
    metrics.follow(&policy(&second.to_string()));
    show(&metrics);
    metrics.follow(&broken_behind(policy(&second.to_string())));
    let answer = asked(connect(second).await, "/metrics").await;
    assert!(answer.contains("Deployed"), "{answer}");
    assert!(TcpStream::connect(first).await.is_err(), "closed");
    metrics.follow(&policy(""));
    assert!(!metrics.is_serving());
}

#[tokio::test]
async fn agent_starting_with_a_broken_policy_serves_the_last_address() {
    let (mut metrics, address) = (metrics(), free());
    metrics.follow(&broken_behind(policy(&address.to_string())));
    show(&metrics);
    let answer = asked(connect(address).await, "/metrics").await;
    assert!(answer.contains("Deployed"), "{answer}");
}
