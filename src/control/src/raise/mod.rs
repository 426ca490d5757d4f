//! Raises the control plane of this node to another version, before the reboot.
//!
//! kubeadm of the new version does the work. Around it: a ledger keeps each whole manifest, so that
//! a power cut between two renames of kubeadm's loses none (`watch`, and `host::ledger`); the
//! manifests are compared with what kubeadm was to write, since its exit code proves nothing; and
//! all components must serve in the end. What a cut or an error has left is repaired before kubeadm
//! runs again, so a raise can be repeated at any point, and a second one after a finished one
//! changes nothing.

mod configuration;
mod elsewhere;
mod expected;
mod lock;
mod node;
mod order;
mod prune;
mod run;
mod serving;
mod stop;
mod users;
mod watch;

use std::fs::{self, File};
use std::time::Duration;

use host::ledger::Ledger;
use host::{Places, durable};
use serde_json::Value;
use upgrade::control_plane::raise::{self, Ended, NotRaised, Note, Phase, Run, State};
use upgrade::control_plane::{Component, Verb};
use upgrade::{UpgradeId, Version};

pub use order::RaiseOrder;

use crate::carried::Importer;
use crate::folder::Folder;
use crate::manifests::{Manifest, Manifests};
use crate::patches;
use crate::room;
use configuration::Upgrade;
use elsewhere::Elsewhere;
use expected::Expected;
use node::Node;
use order::{Failed, In};
use stop::Progress;
use watch::Watch;

/// Imports what the new system carries, before anything changes.
async fn import(order: &RaiseOrder, node: &Node) -> Result<(), Failed> {
    let Some(images) = &order.images else {
        return Ok(());
    };
    let importer = Importer {
        root: order.folder.path("/"),
        runtime: order.runtime.clone(),
        version: order.to.to_string(),
        running: node.lowest().map(ToString::to_string).unwrap_or_default(),
    };
    let brought = importer.bring(images).await.during(Phase::Images)?;
    for name in brought {
        eprintln!("careen-control: the container runtime has {name}");
    }
    Ok(())
}

/// What kubeadm writes to, flushed as a whole after it.
const WRITTEN: [&str; 2] = ["/etc/kubernetes", "/var"];

/// How long `give-up` waits for a raise, or a repair of the boot, that runs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Raises the control plane of this node.
pub async fn raise(order: &RaiseOrder) -> Ended {
    let progress = Progress::new();
    let ended = tokio::select! {
        ended = attempt(order, &progress) => ended,
        failed = stop::asked(&progress) => Err(failed),
    };
    match ended {
        Ok(version) => Ended::Raised(version),
        Err(failed) => Ended::NotRaised(not_raised(order, failed)),
    }
}

/// Gives up a raise: a last repair, and no other after it. From then on a person may change
/// manifests, and no boot takes that back. No kubeadm of a raise runs any more then.
///
/// # Errors
/// A raise runs, or a manifest could not be repaired. So the raise stays under way.
pub async fn give_up(places: &Places, id: &UpgradeId) -> Result<(), String> {
    let _lock = lock::take(&places.root, PATIENCE).await?;
    let ledger = Ledger::of(places, id);
    elsewhere::forget(&places.root)?;
    repair(&ledger).map_err(|failed| failed.why)?;
    ledger.close().map_err(|error| error.to_string())
}

async fn attempt(order: &RaiseOrder, progress: &Progress) -> Result<Version, Failed> {
    let root = &order.places.root;
    let lock = lock::take(root, Duration::MAX)
        .await
        .during(Phase::Ledger)?;
    elsewhere::forget(root).during(Phase::Ledger)?;
    let ledger = Ledger::of(&order.places, &order.id);
    let under_way = resume(order, &ledger)?;
    // Without them kubeadm would drop what they set.
    let order = &RaiseOrder {
        patches: patches::folder(&order.folder, order.patches.as_deref()).during(Phase::Look)?,
        ..order.clone()
    };
    let node = Node::look(order).await?;
    let server = node.server().ok_or("no API server").during(Phase::Look)?;
    let timeouts = configuration::timeouts(server, order.pod);
    let expected = Expected::render(order, &node, &timeouts).await?;
    let verb = node.verb(&order.to, expected.differs());
    let how = raise::run(verb, under_way.as_ref().map(|note| note.run));
    let how = how.map_err(Verb::words).during(Phase::Look)?;
    let raise = Raise {
        order,
        ledger: &ledger,
        lock: &lock,
        node: &node,
        expected: &expected,
        timeouts: &timeouts,
        progress,
    };
    let version = match how {
        Some(how) => {
            import(order, &node).await?;
            raise.by(how, under_way.as_ref()).await?
        }
        None => node.lowest().cloned().unwrap_or_else(|| order.to.clone()),
    };
    progress.at(Phase::Serving);
    serving::wait(order, &version).await?;
    ledger.close().during(Phase::Ledger)?;
    if let Some(before) = order.prune_before {
        prune::prune(&order.folder, before);
    }
    Ok(version)
}

/// Repairs what a raise has left that is under way. Returns its note if it is this one: another one
/// is over now.
fn resume(order: &RaiseOrder, ledger: &Ledger) -> Result<Option<Note>, Failed> {
    let found = Ledger::under_way(&order.places).during(Phase::Ledger)?;
    let Some((found, note)) = found else {
        return Ok(None);
    };
    repair(&found)?;
    if found.folder() == ledger.folder() && note.to == order.to {
        return Ok(Some(note));
    }
    found.close().during(Phase::Ledger)?;
    Ok(None)
}

fn repair(ledger: &Ledger) -> Result<(), Failed> {
    let repairs = ledger.repair().during(Phase::Ledger)?;
    for repair in &repairs {
        eprintln!("careen-control: {repair}");
    }
    for names in ledger.put_credentials_back().during(Phase::Ledger)? {
        eprintln!("careen-control: {names} was damaged; it is as before kubeadm ran");
    }
    match repairs.iter().find(|repair| repair.with.is_none()) {
        None => Ok(()),
        Some(stuck) => Err(stuck).during(Phase::Ledger),
    }
}

/// A raise that has something to do.
struct Raise<'a> {
    order: &'a RaiseOrder,
    ledger: &'a Ledger,
    lock: &'a File,
    node: &'a Node,
    expected: &'a Expected,
    timeouts: &'a Value,
    progress: &'a Progress,
}

impl Raise<'_> {
    async fn by(&self, how: Run, under_way: Option<&Note>) -> Result<Version, Failed> {
        let (order, ledger) = (self.order, self.ledger);
        let etcd = self.expected.may_change_etcd(order, self.node);
        if etcd {
            let serves = run::own_etcd(order).await.is_some();
            let manifest = self.node.manifests.all.get(&Component::Etcd);
            make_room(&order.folder, manifest, under_way, serves).during(Phase::Look)?;
        }
        self.begin(how, etcd, under_way)
            .await
            .during(Phase::Ledger)?;
        // Not one of them is missing, or kubeadm would take this node for a worker.
        self.all_are_there()?;
        let watch = Watch::start(ledger).during(Phase::Ledger)?;
        let text = configuration::upgrade(&Upgrade {
            version: &order.to.to_string(),
            etcd,
            has_coredns: self.node.has_coredns,
            ignore: &order.ignore,
            skip: &order.skip,
            patches: order.patches.as_deref(),
            timeouts: self.timeouts,
        });
        let instead = self.node.instead.as_ref();
        let instead = instead.map(|own| Elsewhere::write(&order.folder, own));
        let instead = instead.transpose().during(Phase::Kubeadm)?;
        let files = run::Files {
            ledger,
            lock: self.lock,
            kubeconfig: instead.as_ref().map(Elsewhere::path),
        };
        self.progress.at(Phase::Kubeadm);
        let ran = run::run(order, &files, how, &text).await;
        self.progress.at(Phase::Manifests);
        drop(instead);
        let followed = watch.stop();
        let wrong = ledger.pages().during(Phase::Ledger)?;
        let wrong = raise::not_written(etcd, &wrong);
        repair(ledger)?;
        ran.during(Phase::Kubeadm)?;
        followed.during(Phase::Ledger)?;
        are_written(&wrong)?;
        flush(order).during(Phase::Ledger)?;
        Ok(order.to.clone())
    }

    /// From the note on, a repair writes manifests back.
    async fn begin(&self, how: Run, etcd: bool, under_way: Option<&Note>) -> host::Result<()> {
        let (order, ledger) = (self.order, self.ledger);
        if under_way.is_none() {
            forget_others(order, ledger)?;
            ledger.begin()?;
        }
        if let Some(version) = run::own_etcd(order).await {
            ledger.has_served(version)?;
        }
        for (component, text) in &self.expected.texts {
            if etcd || *component != Component::Etcd {
                ledger.expect(*component, text.as_bytes())?;
            }
        }
        ledger.set(&Note {
            to: order.to.clone(),
            run: how,
            etcd,
            at: under_way.map_or(order.now, |note| note.at),
            state: State::Raising,
        })
    }

    fn all_are_there(&self) -> Result<(), Failed> {
        let absent = self.ledger.absent().during(Phase::Ledger)?;
        let mut absent = absent.into_iter();
        let absent = absent.find(|one| *one != Component::Etcd || self.node.stacked);
        match absent {
            None => Ok(()),
            Some(one) => Err(format!("{one}.yaml is missing or empty")).during(Phase::Manifests),
        }
    }
}

/// Room for the copy of etcd that the next run of kubeadm makes. Without a member that serves, a
/// copy of an earlier run may be the only good one.
fn make_room(
    folder: &Folder,
    etcd: Option<&Manifest>,
    under_way: Option<&Note>,
    serves: bool,
) -> Result<(), String> {
    if let Some(note) = under_way.filter(|_| serves) {
        prune::forget_earlier_runs(folder, note.at);
    }
    room::for_a_copy(folder, etcd)
}

/// Ledgers of earlier upgrades. None of them is under way.
fn forget_others(order: &RaiseOrder, own: &Ledger) -> host::Result<()> {
    let all = Ledger::all(&order.places)?;
    let mut others = all.iter().filter(|one| one.folder() != own.folder());
    others.try_for_each(|one| durable::remove_folder(one.folder()))
}

fn are_written(wrong: &[Component]) -> Result<(), Failed> {
    match wrong.first() {
        None => Ok(()),
        Some(one) => Err(format!(
            "kubeadm succeeded, but {one}.yaml differs from the expected manifest"
        ))
        .during(Phase::Manifests),
    }
}

fn flush(order: &RaiseOrder) -> Result<(), String> {
    for place in WRITTEN {
        let path = order.folder.path(place);
        let said = |error: std::io::Error| format!("{}: {error}", path.display());
        let folder = fs::File::open(&path).map_err(said)?;
        nix::unistd::syncfs(&folder).map_err(|error| said(error.into()))?;
    }
    Ok(())
}

fn not_raised(order: &RaiseOrder, failed: Failed) -> NotRaised {
    let read = Manifests::read(&order.folder);
    let tags = read.all.iter();
    let pages = Ledger::of(&order.places, &order.id).pages();
    NotRaised {
        phase: failed.phase,
        detail: failed.why.into(),
        swapped: pages.is_ok_and(|all| all.values().any(|one| one.is_swapped())),
        versions: tags
            .map(|(component, one)| (*component, one.tag.as_str().into()))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn begun(root: &Path) -> (Places, Ledger) {
        let places = Places::running(root);
        let ledger = Ledger::of(&places, &"one".parse().unwrap());
        fs::create_dir_all(places.state()).unwrap();
        fs::create_dir_all(ledger.manifests()).unwrap();
        for component in Component::ALL {
            fs::write(ledger.live(component), "kind: Pod\n").unwrap();
        }
        ledger.begin().unwrap();
        let note = Note {
            to: "v1.36.4".parse().unwrap(),
            run: Run::Apply,
            etcd: true,
            at: 1,
            state: State::Raising,
        };
        ledger.set(&note).unwrap();
        (places, ledger)
    }

    #[tokio::test]
    async fn a_raise_that_is_given_up_is_repaired_and_over() {
        let root = tempfile::tempdir().unwrap();
        let (places, ledger) = begun(root.path());
        fs::write(ledger.live(Component::Etcd), "").unwrap();
        give_up(&places, &"one".parse().unwrap()).await.unwrap();
        let text = fs::read_to_string(ledger.live(Component::Etcd));
        assert_eq!(text.unwrap(), "kind: Pod\n");
        assert!(Ledger::under_way(&places).unwrap().is_none());
        give_up(&places, &"unknown".parse().unwrap()).await.unwrap();
    }

    /// A careen-control that was killed has left kubeadm, and a copy of admin.conf, which nothing
    /// has removed.
    #[tokio::test]
    async fn give_up_ends_the_kubeadm_of_a_killed_raise_first() {
        let root = tempfile::tempdir().unwrap();
        let (places, ledger) = begun(root.path());
        let etcd = ledger.live(Component::Etcd);
        let run = root.path().join("run/careen");
        fs::create_dir_all(&run).unwrap();
        let copy = run.join("control-admin.conf");
        fs::write(&copy, "secret").unwrap();
        let lock = File::create(run.join("control.lock")).unwrap();
        lock.lock().unwrap();
        // It would write for ever.
        let script = format!("while sleep 0.02; do : > {}; done", etcd.display());
        // The command ends with this statement, and with it the lock of this process.
        let mut kubeadm = std::process::Command::new("sh")
            .args(["-c", &script])
            .stdin(std::process::Stdio::from(lock))
            .spawn()
            .unwrap();
        while !fs::read_to_string(&etcd).unwrap().is_empty() {}
        give_up(&places, &"one".parse().unwrap()).await.unwrap();
        assert_eq!(fs::read_to_string(&etcd).unwrap(), "kind: Pod\n");
        assert!(Ledger::under_way(&places).unwrap().is_none() && !copy.exists());
        assert!(!kubeadm.wait().unwrap().success());
        assert_eq!(fs::read_to_string(&etcd).unwrap(), "kind: Pod\n");
    }

    /// Each run of kubeadm copies etcd. What was there before the raise stays.
    #[test]
    fn five_failed_raises_leave_one_copy_of_etcd() {
        let root = tempfile::tempdir().unwrap();
        let (places, ledger) = begun(root.path());
        let folder = Folder::below(root.path());
        let at = |name: &str| folder.path(&format!("/etc/kubernetes/tmp/{name}"));
        let make = |name: &str| fs::create_dir_all(at(name).join("etcd/member")).unwrap();
        let left = || fs::read_dir(at("")).unwrap().count();
        make("kubeadm-backup-etcd-of-an-earlier-upgrade");
        let made = fs::metadata(at("kubeadm-backup-etcd-of-an-earlier-upgrade")).unwrap();
        let made = made
            .modified()
            .unwrap()
            .duration_since(std::time::UNIX_EPOCH);
        let note = ledger.note().unwrap().unwrap();
        let at = made.unwrap().as_secs() + 1;
        ledger.set(&Note { at, ..note }).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(2));
        for run in 0..5 {
            let (_, note) = Ledger::under_way(&places).unwrap().unwrap();
            let under_way = (run > 0).then_some(&note);
            make_room(&folder, None, under_way, true).unwrap();
            make(&format!("kubeadm-backup-etcd-{run}"));
            assert_eq!(left(), 2, "{run}");
        }
        let (_, note) = Ledger::under_way(&places).unwrap().unwrap();
        make_room(&folder, None, Some(&note), false).unwrap();
        assert_eq!(left(), 2, "etcd does not serve");
    }

    #[tokio::test]
    async fn a_raise_that_cannot_be_repaired_stays_under_way() {
        let root = tempfile::tempdir().unwrap();
        let (places, ledger) = begun(root.path());
        ledger.has_served("3.7.0".parse().unwrap()).unwrap();
        fs::remove_file(ledger.live(Component::Etcd)).unwrap();
        let given_up = give_up(&places, &"one".parse().unwrap()).await;
        let why = given_up.unwrap_err();
        assert!(why.contains("by hand"), "{why}");
        assert!(Ledger::under_way(&places).unwrap().is_some());
    }

    #[test]
    fn each_whole_manifest_is_kept_while_kubeadm_works() {
        let root = tempfile::tempdir().unwrap();
        let (_, ledger) = begun(root.path());
        let live = ledger.live(Component::ApiServer);
        // Before the watch: what is there when it begins is kept as well.
        fs::write(&live, "one\nstatus: {}\n").unwrap();
        let watch = Watch::start(&ledger).unwrap();
        let last = || fs::read_to_string(ledger.folder().join("last/kube-apiserver.yaml")).unwrap();
        assert!(last().contains("\none\n"), "{}", last());
        let new = root.path().join("new");
        fs::write(&new, "two\nstatus: {}\n").unwrap();
        fs::rename(&new, &live).unwrap();
        let begun = std::time::Instant::now();
        while !last().contains("\ntwo\n") {
            assert!(begun.elapsed().as_secs() < 60, "{}", last());
        }
        fs::write(&live, "thr").unwrap();
        watch.stop().unwrap();
        assert!(last().contains("\ntwo\n"), "a torn one is not kept");
    }
}
