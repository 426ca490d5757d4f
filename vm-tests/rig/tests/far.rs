//! Far pods without a guest: the pod's program is a process of this machine, and so is a real etcd,
//! in the network of the far programs.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rig::far::{Far, Programs};
use testkit::control_plane::ports;
use testkit::process::Process;
use testkit::{cargo, programs};

const IMAGE: &str = "etcd:test";

/// Long, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);

/// The pod's program, built for tests.
fn far_pod() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().find(|folder| folder.ends_with("debug"));
    let target = target.unwrap().parent().unwrap();
    cargo::build(target, "dev", &["-p", "far-pod", "--bin", "far-pod"], "").unwrap();
    target.join("debug/far-pod")
}

/// Starts a pod whose program is called etcd.
fn pod(folder: &Path, far: &Far, urls: [&str; 2]) -> Process {
    let etcd = folder.join("etcd");
    if !etcd.exists() {
        symlink(far_pod(), &etcd).unwrap();
    }
    let rig = format!("FAR_POD_RIG=127.0.0.1:{}", far.port());
    let image = format!("FAR_POD_IMAGE={IMAGE}");
    let [client, peer] = urls;
    let words = [
        rig,
        image,
        etcd.display().to_string(),
        format!("--data-dir={}", folder.join("data").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
    ];
    Process::start(Path::new("env"), &words, &folder.join("pod.log")).unwrap()
}

/// What the server at this port says to a request, over any network.
fn asked(connected: std::io::Result<TcpStream>, path: &str) -> std::io::Result<String> {
    let mut stream = connected?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

fn until(what: &str, mut look: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !look() {
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        thread::sleep(PAUSE);
    }
}

#[test]
fn a_far_program_serves_at_its_pods_port_until_the_pod_dies() {
    let folder = tempfile::tempdir().unwrap();
    let programs = Programs::from([(IMAGE.to_owned(), programs::etcd().unwrap())]);
    let address = Ipv4Addr::new(192, 0, 2, 15);
    let far = Far::start(&folder.path().join("far"), address, programs).unwrap();
    let [client, peer] = ports::free().unwrap();
    let urls = [client, peer].map(|port| format!("http://127.0.0.1:{port}"));
    let start = || pod(folder.path(), &far, [&urls[0], &urls[1]]);
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, client));
    let healthy = || {
        let said = asked(TcpStream::connect(here), "/health");
        said.is_ok_and(|said| said.contains(r#""health":"true""#))
    };

    let mut one = start();
    until("etcd serves at the pod's port", healthy);
    assert_eq!(far.running(), [IMAGE]);

    one.kill();
    until("its program dies with it", || far.running().is_empty());
    assert!(!healthy());

    // The same data, and the port is free again on both sides.
    let mut next = start();
    until("the next pod serves", healthy);
    // etcd obeys a polite end, and the pod ends as its program does.
    next.signal("TERM").unwrap();
    until("the pod ends", || next.ended().unwrap().is_some());
    until("nothing runs", || far.running().is_empty());
    let log = std::fs::read_to_string(folder.path().join("pod.log")).unwrap();
    assert!(
        log.contains("received signal"),
        "its log is the program's: {log}"
    );
}

#[test]
fn a_pod_without_a_program_ends_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let address = Ipv4Addr::new(192, 0, 2, 15);
    let far = Far::start(&folder.path().join("far"), address, Programs::new()).unwrap();
    let [client, peer] = ports::free().unwrap();
    let urls = [client, peer].map(|port| format!("http://127.0.0.1:{port}"));
    let mut one = pod(folder.path(), &far, [&urls[0], &urls[1]]);
    until("the pod ends", || one.ended().unwrap().is_some());
    let log = std::fs::read_to_string(folder.path().join("pod.log")).unwrap();
    assert!(log.contains("no program for etcd:test"), "{log}");
}
