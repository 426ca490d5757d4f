//! One run of careen-control: its unit, its arguments, and how long it may take.

use host::{Places, etcd_snapshots};
use upgrade::control_plane::Task;
use upgrade::{Policy, UpgradeId, Version, names};

use crate::task::ControlOrder;

/// One run of careen-control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The unit's name without its suffix. Upgrade and verb determine it, so that a restarted agent
    /// finds the run that it started before.
    pub unit: String,
    /// The task.
    pub task: Task,
    /// The arguments after the program's name.
    pub arguments: Vec<String>,
    /// How long the run may take, in seconds; 0 for one that systemd never ends.
    pub seconds: u64,
}

impl Run {
    /// Whether kubeadm runs in it. Half a raise is worse than a late one, so nobody ends it.
    #[must_use]
    pub const fn is_raise(&self) -> bool {
        matches!(self.task, Task::Raise)
    }
}

/// How long each task may take, in seconds: several times what it takes on a loaded machine. A
/// survey asks each member, and the API server, with limits of their own.
const fn longest(task: Task) -> u64 {
    match task {
        Task::Survey => 150,
        Task::Lock | Task::Unlock | Task::Yield => 60,
        Task::SaveEtcd => 1800,
        // It waits half a minute for a kubeadm that it ends.
        Task::GiveUp => 150,
        Task::Raise => 0,
    }
}

/// The run of a task.
#[must_use]
pub fn run(places: &Places, order: &ControlOrder, id: &UpgradeId, policy: &Policy) -> Run {
    let task = order.task;
    let mut arguments = vec![task.verb().to_owned()];
    arguments.extend(match task {
        Task::Survey => survey(places, order, policy),
        Task::Lock | Task::Unlock => [of(id), vec!["--json".to_owned()]].concat(),
        Task::SaveEtcd => [of(id), save(policy)].concat(),
        Task::Yield => vec!["--json".to_owned()],
        Task::GiveUp => of(id),
        Task::Raise => [of(id), raise(places, order, policy)].concat(),
    });
    Run {
        unit: format!("careen-control-{id}-{}", task.verb()),
        task,
        arguments,
        seconds: longest(task),
    }
}

/// The run of a survey for a plan. The image is not on the disk then.
#[must_use]
pub fn survey_for_a_plan(places: &Places, version: Option<&Version>, policy: &Policy) -> Run {
    let order = ControlOrder {
        task: Task::Survey,
        version: version.cloned(),
        deployment: None,
    };
    let verb = vec![Task::Survey.verb().to_owned()];
    let arguments = [verb, survey(places, &order, policy)];
    Run {
        unit: "careen-control-plan".to_owned(),
        task: Task::Survey,
        arguments: arguments.concat(),
        seconds: longest(Task::Survey),
    }
}

fn of(id: &UpgradeId) -> Vec<String> {
    pair("--upgrade", id.as_str())
}

fn save(policy: &Policy) -> Vec<String> {
    let mut arguments = vec!["--json".to_owned()];
    let keep = policy.control_plane.snapshots_kept;
    arguments.extend(pair("--keep", &keep.to_string()));
    arguments
}

fn survey(places: &Places, order: &ControlOrder, policy: &Policy) -> Vec<String> {
    let mut arguments = vec!["--json".to_owned()];
    arguments.extend(patches(policy));
    if let Some(version) = &order.version {
        arguments.extend(pair("--target-version", &version.to_string()));
        arguments.extend(kubeadm(places, order));
    }
    arguments
}

fn raise(places: &Places, order: &ControlOrder, policy: &Policy) -> Vec<String> {
    let version = order.version.as_ref();
    let mut arguments = version.map_or_else(Vec::new, |version| {
        pair("--target-version", &version.to_string())
    });
    arguments.extend(kubeadm(places, order));
    arguments.extend(pair("--old-kubelet-path", "/usr/bin"));
    arguments.extend(patches(policy));
    arguments.extend(prune_before(places, policy));
    arguments
}

/// kubeadm never removes its copies of etcd. One that is older than each snapshot that stays is of
/// no use any more. Without a snapshot, each copy stays.
fn prune_before(places: &Places, policy: &Policy) -> Vec<String> {
    let policy = &policy.control_plane;
    let oldest = policy.prune_kubeadm_backups;
    let oldest = oldest.then(|| etcd_snapshots::oldest(&places.root, policy.snapshots_kept));
    let oldest = oldest.flatten();
    oldest.map_or_else(Vec::new, |at| pair("--prune-before", &at.to_string()))
}

/// The patches of a survey are those of the raise. An empty path is no folder. careen-control says
/// what is wrong with it.
fn patches(policy: &Policy) -> Vec<String> {
    pair("--patches", &policy.kubeadm.patches)
}

/// The new system's kubeadm and container images, where they are on the disk before that system
/// boots.
fn kubeadm(places: &Places, order: &ControlOrder) -> Vec<String> {
    let Some(deployment) = &order.deployment else {
        return Vec::new();
    };
    let root = places.deployment(deployment);
    let of = |flag, path: &str| pair(flag, &root.join(path).display().to_string());
    let images = of("--images", names::CARRIED_IMAGES);
    [of("--kubeadm", "usr/bin/kubeadm"), images].concat()
}

fn pair(flag: &str, value: &str) -> Vec<String> {
    vec![flag.to_owned(), value.to_owned()]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use upgrade::Deployment;

    use super::*;

    const PATCHES: &str = "--patches /etc/kubernetes/patches";

    fn order(task: Task) -> ControlOrder {
        let deployment = Deployment {
            digest: "ab".repeat(32).parse().unwrap(),
            serial: 0,
            stateroot: "os".to_owned(),
            bootcsum: "cd".repeat(32),
            pinned: false,
            kept: false,
        };
        ControlOrder {
            task,
            version: Some("v1.36.3".parse().unwrap()),
            deployment: Some(deployment),
        }
    }

    fn words(task: Task) -> String {
        let places = Places::running(Path::new("/"));
        let id = "u1".parse().unwrap();
        run(&places, &order(task), &id, &Policy::default())
            .arguments
            .join(" ")
    }

    #[test]
    fn each_task_is_one_verb_of_careen_control() {
        let root = format!("/sysroot/ostree/deploy/os/deploy/{}.0", "ab".repeat(32));
        let images = format!("--images {root}/usr/lib/careen/images");
        let kubeadm = format!("--kubeadm {root}/usr/bin/kubeadm {images}");
        assert_eq!(
            words(Task::Survey),
            format!("survey --json {PATCHES} --target-version v1.36.3 {kubeadm}")
        );
        assert_eq!(words(Task::Lock), "lock --upgrade u1 --json");
        assert_eq!(words(Task::SaveEtcd), "save --upgrade u1 --json --keep 2");
        assert_eq!(words(Task::Yield), "yield --json");
        assert_eq!(words(Task::Unlock), "unlock --upgrade u1 --json");
        assert_eq!(words(Task::GiveUp), "give-up --upgrade u1");
        let raise = words(Task::Raise);
        let begin = format!("raise --upgrade u1 --target-version v1.36.3 {kubeadm}");
        assert!(raise.starts_with(&begin), "{raise}");
    }

    #[test]
    fn survey_and_raise_get_the_policys_patches() {
        let places = Places::running(Path::new("/"));
        let id = "u1".parse().unwrap();
        for path in ["/srv/patches", ""] {
            let mut policy = Policy::default();
            policy.kubeadm.patches = path.to_owned();
            let surveyed = run(&places, &order(Task::Survey), &id, &policy);
            let raised = run(&places, &order(Task::Raise), &id, &policy);
            let planned = survey_for_a_plan(&places, None, &policy);
            for run in [surveyed, raised, planned] {
                let mut pairs = run.arguments.windows(2);
                assert!(pairs.any(|pair| pair == ["--patches", path]), "{run:?}");
            }
        }
    }

    #[test]
    fn policy_says_which_copies_of_etcd_stay() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::running(root.path());
        let id = "u3".parse().unwrap();
        let mut policy = Policy::default();
        let before = |policy: &Policy| {
            let mut words = run(&places, &order(Task::Raise), &id, policy)
                .arguments
                .into_iter();
            words.by_ref().find(|word| word == "--prune-before")?;
            words.next()
        };
        assert_eq!(before(&policy), None, "no snapshot is here");
        let folder = places.root.join("var/lib/careen/etcd");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, at) in [("u1.db", 100), ("u2.db", 200), ("u3.db", 300)] {
            let file = std::fs::File::create(folder.join(name)).unwrap();
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(at);
            file.set_modified(at).unwrap();
        }
        assert_eq!(before(&policy).unwrap(), "200", "of the two that stay");
        policy.control_plane.snapshots_kept = 3;
        assert_eq!(before(&policy).unwrap(), "100");
        let saved = run(&places, &order(Task::SaveEtcd), &id, &policy).arguments;
        assert!(saved.ends_with(&pair("--keep", "3")), "{saved:?}");
        policy.control_plane.prune_kubeadm_backups = false;
        assert_eq!(before(&policy), None);
    }

    #[test]
    fn a_raise_is_never_ended_and_all_else_is() {
        let places = Places::running(Path::new("/"));
        let id = "u1".parse().unwrap();
        for task in Task::ALL {
            let run = run(&places, &order(task), &id, &Policy::default());
            assert_eq!(run.seconds == 0, run.is_raise(), "{task:?}");
            assert_eq!(run.unit, format!("careen-control-u1-{}", task.verb()));
        }
    }

    #[test]
    fn an_image_that_is_not_deployed_yet_has_no_kubeadm_to_ask() {
        let places = Places::running(Path::new("/"));
        let mut order = order(Task::Survey);
        order.deployment = None;
        let id = "u1".parse().unwrap();
        let run = run(&places, &order, &id, &Policy::default());
        assert!(!run.arguments.iter().any(|word| word == "--kubeadm"));
        assert!(run.arguments.iter().any(|word| word == "v1.36.3"));
    }
}
