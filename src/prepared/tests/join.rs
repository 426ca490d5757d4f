//! The run of the bootstrap data: only as the record says, and once.
#![allow(clippy::unwrap_used)]

mod rig;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use life::{Record, Stage, Stay};
use prepared::{Disk, Store, join};
use rig::{Rig, WORKER, claim, handed, id};
use upgrade::{Moment, SinceBoot};

/// A host whose record says that this claim joins now.
fn joining(stage: Stage) -> Rig {
    let rig = Rig::new();
    let stay = Stay {
        stage,
        ..Stay::new(claim('a'))
    };
    let record = Record {
        generation: 1,
        stay: Some(stay),
        ..Record::default()
    };
    Store::new(&rig.paths).write(&record).unwrap();
    join::hand(&rig.paths, rig.disk.as_ref(), &handed(WORKER)).unwrap();
    rig
}

fn bootstrapping() -> Stage {
    Stage::Bootstrapping {
        hash: handed(WORKER).hash().unwrap(),
        begun: Moment {
            boot: "1".parse().unwrap(),
            at: SinceBoot(0),
        },
    }
}

fn run(rig: &mut Rig) -> String {
    let disk = rig.disk.clone();
    let disk: &dyn Disk = disk.as_ref();
    join::run_and_note(&rig.paths, disk, &mut rig.machine, &id('a')).unwrap();
    join::ended(&rig.paths, &id('a')).unwrap().unwrap()
}

/// The fake kubeadm needs to know whose run it is.
fn started(rig: &mut Rig) {
    prepared::Hands::start_join(&mut rig.machine, &id('a'));
}

#[test]
fn data_run_as_the_record_says() {
    let mut rig = joining(bootstrapping());
    started(&mut rig);
    assert_eq!(
        join::ended(&rig.paths, &id('a')).unwrap().as_deref(),
        Some("")
    );
    assert!(rig.paths.sentinel().exists());
    assert_eq!(
        rig.read("/etc/north/registry.conf"),
        "mirror = \"10.0.0.5:5000\"\n"
    );
    let kubeadm = rig.read("/run/kubeadm/kubeadm-join-config.yaml");
    assert!(
        kubeadm.contains(&format!("careen://fleet/n-1/{}", id('a'))),
        "{kubeadm}"
    );
    assert!(!rig.paths.data().exists(), "the data hold a token");
}

#[test]
fn data_never_run_twice() {
    let mut rig = joining(bootstrapping());
    started(&mut rig);
    join::hand(&rig.paths, rig.disk.as_ref(), &handed(WORKER)).unwrap();
    let said = run(&mut rig);
    assert!(said.contains("never run twice"), "{said}");
    assert_eq!(rig.machine.runs[&id('a')], 1);
}

#[test]
fn data_do_not_run_unless_the_record_says_so() {
    for stage in [Stage::Ready, Stage::Joined, Stage::Fencing, Stage::Cleaning] {
        let mut rig = joining(stage);
        let said = run(&mut rig);
        assert!(
            said.contains("does not say that this claim joins"),
            "{said}"
        );
        assert!(rig.machine.runs.is_empty() && !rig.has("/etc/north"));
    }
}

#[test]
fn data_with_another_hash_do_not_run() {
    let mut rig = joining(bootstrapping());
    let other = handed(&WORKER.replace("abcdef", "fedcba"));
    join::hand(&rig.paths, rig.disk.as_ref(), &other).unwrap();
    let said = run(&mut rig);
    assert!(said.contains("another hash"), "{said}");
    assert!(rig.machine.runs.is_empty() && !rig.has("/etc/north"));
}

#[test]
fn data_that_are_refused_write_nothing() {
    for (from, to) in [
        ("runcmd:", "users:\n  - name: capi\nruncmd:"),
        ("{{ v1.instance_id }}", "{{ v1.region }}"),
        ("owner: root:root", "owner: nobody-knows"),
    ] {
        let rig = Rig::new();
        let before = rig.tree();
        let data = handed(&WORKER.replacen(from, to, 1));
        let error = join::look(&rig.paths, &id('a'), &data)
            .unwrap_err()
            .to_string();
        assert!(!error.contains("abcdef.0123456789abcdef"), "{error}");
        assert_eq!(rig.tree(), before);
    }
}

#[test]
fn an_old_sentinel_is_no_success() {
    let mut rig = joining(bootstrapping());
    rig.put(
        "/run/cluster-api/bootstrap-success.complete",
        "of another claim",
    );
    rig.machine.join_works = false;
    started(&mut rig);
    assert!(!rig.paths.sentinel().exists());
}

#[test]
fn file_where_everybody_may_write_is_refused() {
    let rig = Rig::new();
    let open = rig.paths.below("/open");
    fs::create_dir_all(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o1777)).unwrap();
    for path in ["/open/join.yaml", "/open/new/join.yaml"] {
        let text = WORKER.replacen("/etc/north/registry.conf", path, 1);
        let refused = join::look(&rig.paths, &id('a'), &handed(&text)).unwrap_err();
        assert!(
            refused.to_string().contains("everybody may write"),
            "{refused}"
        );
    }
}
