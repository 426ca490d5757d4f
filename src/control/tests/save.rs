//! Snapshots of a real etcd, and what is left of one that was cut off.
#![allow(clippy::unwrap_used, clippy::panic)]

mod rig;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rig::{Cluster, Root, answer, command, shown, within};
use serde_json::{Value, json};

const FOLDER: &str = "/var/lib/careen/etcd";

/// A size that would show in the program's memory if it kept the snapshot there.
const MEBIBYTES: u8 = 48;

/// The most memory that the program may use, in KiB.
const MEMORY: u64 = 64 << 10;

fn root(cluster: &Cluster) -> Root {
    let root = Root::new();
    root.pods("v1.36.3");
    root.member(cluster, 0);
    root
}

fn file(root: &Root, name: &str) -> PathBuf {
    root.folder().path(FOLDER).join(name)
}

/// The names in the folder of snapshots, in order.
fn names(root: &Root) -> Vec<String> {
    let entries = fs::read_dir(root.folder().path(FOLDER))
        .into_iter()
        .flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

fn save(root: &Root, id: &str) -> (Value, Option<i32>) {
    answer(root, &["save", "--upgrade", id])
}

#[test]
fn a_snapshot_is_whole_private_and_restores() {
    within(async {
        let mut cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        cluster.put("/kept", b"before").await;
        let root = root(&cluster);
        let (saved, code) = save(&root, "7");
        assert_eq!(
            (&saved["answer"], code),
            (&json!("saved"), Some(0)),
            "{saved}"
        );
        assert_eq!(saved["file"], "/var/lib/careen/etcd/7.db");
        assert_eq!(names(&root), ["7.db", "7.json"]);
        for (name, expected) in [("", 0o700), ("7.db", 0o600), ("7.json", 0o600)] {
            let mode = file(&root, name).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, expected, "{name:?}");
        }
        let note: Value =
            serde_json::from_slice(&fs::read(file(&root, "7.json")).unwrap()).unwrap();
        assert_eq!(note["sha256"], saved["sha256"], "{note:#}");
        assert_eq!(note["etcd"]["peers"][0]["name"], "cp-1");
        assert_eq!(note["etcd"]["revision"], saved["revision"]);
        assert_eq!(note["manifests"]["kube-apiserver"], "v1.36.3");
        let length = file(&root, "7.db").metadata().unwrap().len();
        assert_eq!(saved["bytes"].as_u64().unwrap() + 32, length);
        // This node has no kubelet.conf.
        let why = saved["noConfiguration"].as_str().unwrap();
        assert!(why.contains("kubelet.conf"), "{why}");

        cluster.put("/kept", b"after").await;
        cluster.restore(&file(&root, "7.db"));
        cluster.healthy(1).await;
        assert_eq!(cluster.get(0, "/kept").await.unwrap(), b"before");
        cluster.put("/kept", b"again").await;
        assert_eq!(cluster.get(0, "/kept").await.unwrap(), b"again");
    });
}

#[test]
fn so_many_snapshots_stay_and_never_none() {
    within(async {
        let cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        let root = root(&cluster);
        for (id, removed) in [("a", json!(null)), ("b", json!(null)), ("c", json!(["a"]))] {
            let (saved, _) = save(&root, id);
            assert_eq!(saved["removed"], removed, "{saved}");
            // Files are told apart by the second.
            age(&root, id);
        }
        assert_eq!(names(&root), ["b.db", "b.json", "c.db", "c.json"]);
        let (saved, _) = save(&root, "c");
        assert_eq!(saved["removed"], Value::Null, "the same one again: {saved}");
        let (out, _, code) = shown(&root, &["save", "--upgrade", "d", "--keep", "1"]);
        assert_eq!(code, Some(0));
        assert!(out.contains("Older snapshots are removed: b, c."), "{out}");
        assert_eq!(names(&root), ["d.db", "d.json"]);
        assert_eq!(
            shown(&root, &["save", "--upgrade", "d", "--keep", "0"]).2,
            Some(2)
        );
    });
}

/// Makes a snapshot older, each one more than the next.
fn age(root: &Root, id: &str) {
    let file = fs::File::open(file(root, &format!("{id}.db"))).unwrap();
    let back = 1000 - u64::from(id.as_bytes()[0]);
    let then = file.metadata().unwrap().modified().unwrap() - Duration::from_secs(back);
    file.set_modified(then).unwrap();
}

#[test]
fn a_large_one_takes_little_memory_and_may_be_killed() {
    within(async {
        let cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        cluster.fill(MEBIBYTES).await;
        let root = root(&cluster);
        killed_in_the_middle(&root);
        assert_eq!(names(&root), ["7.db.part"], "nothing looks complete");

        let mut child = command(root.path(), &["save", "--upgrade", "8"]);
        let mut child = child.spawn().unwrap();
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            most = most.max(peak(child.id()));
            thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        eprintln!("careen-control took {most} KiB for {MEBIBYTES} MiB");
        assert!(most > 0 && most < MEMORY, "{most} KiB");
        assert_eq!(names(&root), ["8.db", "8.json"], "what was cut off is gone");
        let length = file(&root, "8.db").metadata().unwrap().len();
        assert!(length > u64::from(MEBIBYTES) << 20, "{length}");
    });
}

fn killed_in_the_middle(root: &Root) {
    let child = command(root.path(), &["save", "--upgrade", "7"]);
    let mut child = begun(child, &file(root, "7.db.part"));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The most memory that a process has had, in KiB.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or(0, |number| number.parse().unwrap())
}

#[test]
fn old_or_wrong_data_is_refused_before_a_byte_is_written() {
    within(async {
        let mut cluster = Cluster::start::<3>();
        let found = cluster.healthy(3).await;
        let root = root(&cluster);
        cluster.raise(found.members[1].id, "CORRUPT").await;
        cluster
            .once(0, "alarmed", |found| !found.alarms.is_empty())
            .await;
        let (refused, code) = save(&root, "7");
        assert_eq!(
            (&refused["because"], code),
            (&json!("corrupt"), Some(3)),
            "{refused}"
        );
        cluster.kill(1);
        cluster.kill(2);
        let lost = |found: &control::etcd::Found| found.members.iter().all(|one| !one.leader);
        cluster.once(0, "without a leader", lost).await;
        let (refused, code) = save(&root, "7");
        assert_eq!(
            (&refused["because"], code),
            (&json!("noLeader"), Some(3)),
            "{refused}"
        );
        cluster.kill(0);
        let (failed, code) = save(&root, "7");
        assert_eq!(
            (&failed["source"], code),
            (&json!("etcd"), Some(1)),
            "{failed}"
        );
        assert_eq!(names(&root), Vec::<String>::new());
    });
}

#[test]
fn a_full_database_is_saved_and_a_full_disk_is_told() {
    within(async {
        let cluster = Cluster::start::<1>();
        let me = cluster.healthy(1).await.me.unwrap();
        cluster.raise(me, "NOSPACE").await;
        let root = root(&cluster);
        assert_eq!(save(&root, "7").1, Some(0));
        let small = Small::mount(&root.folder().path(FOLDER), "16m");
        let (refused, code) = save(&root, "8");
        assert_eq!(
            (&refused["because"], code),
            (&json!("noRoom"), Some(3)),
            "{refused}"
        );
        assert!(refused["missing"].as_u64().unwrap() > 32 << 20);
        let (_, said, _) = shown(&root, &["save", "--upgrade", "8"]);
        assert!(
            said.contains("/var/lib/careen/etcd has too little room"),
            "{said}"
        );
        assert_eq!(names(&root), Vec::<String>::new());
        drop(small);
        assert_eq!(names(&root), ["7.db", "7.json"]);
    });
}

#[test]
fn disk_that_fills_up_meanwhile_gets_no_snapshot() {
    within(async {
        let cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        cluster.fill(MEBIBYTES).await;
        let root = root(&cluster);
        let folder = root.folder().path(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        let small = Small::mount(&folder, "200m");
        let child = command(root.path(), &["save", "--upgrade", "7", "--json"]);
        let child = begun(child, &file(&root, "7.db.part"));
        signal(&child, "STOP");
        let other = file(&root, "of-somebody-else");
        let full = fs::write(&other, vec![0; 200 << 20]).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
        signal(&child, "CONT");
        let output = child.wait_with_output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["answer"], "notWritten", "{told}");
        assert!(told["why"].to_string().contains("No space left"), "{told}");
        assert_eq!(output.status.code(), Some(1));
        assert!(names(&root).iter().all(|name| !name.ends_with(".db")));
        fs::remove_file(other).unwrap();
        assert_eq!(save(&root, "7").1, Some(0), "once there is room again");
        drop(small);
    });
}

/// A run that has begun to write.
fn begun(mut command: Command, part: &Path) -> Child {
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while part.metadata().map_or(0, |part| part.len()) < 1 << 20 {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        assert!(begun.elapsed() < Duration::from_secs(120));
    }
    child
}

fn signal(child: &Child, name: &str) {
    let process = child.id().to_string();
    let status = Command::new("kill").args(["-s", name, &process]).status();
    assert!(status.unwrap().success());
}

/// A small file system over a folder, for root.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, size: &str) -> Self {
        let size = format!("size={size}");
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs"], at);
        Self(at.to_owned())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        run("umount", &[], &self.0);
    }
}

fn run(program: &str, arguments: &[&str], at: &Path) {
    let status = Command::new(program).args(arguments).arg(at).status();
    assert!(
        status.unwrap().success(),
        "{program}; these tests need root"
    );
}

#[test]
fn without_an_etcd_here_there_is_nothing_to_save() {
    let root = Root::new();
    root.pods("v1.36.3");
    let (refused, code) = save(&root, "7");
    assert_eq!((&refused["because"], code), (&json!("external"), Some(3)));
    assert!(!root.folder().path(FOLDER).exists());
}
