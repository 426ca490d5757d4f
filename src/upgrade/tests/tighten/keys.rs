//! Every key of the policy, and whether it can refuse a request. A key that is added does not
//! compile until it is classed here.

use upgrade::policy::{
    BranchChange, ControlPlane, Drain, Health, Hooks, Kubeadm, Limits, LoadBalancer, LocalChanges,
    Metrics, Neighbours, Reboot, Registry, Serving,
};
use upgrade::window::Window;
use upgrade::*;

use super::scene::*;

/// What a key can do to a request.
pub enum Class {
    /// It refuses it.
    Refuses(Case),
    /// It decides what the deployment asks of signatures, and that refuses it.
    AsksForSignatures(Case),
    /// It refuses none, for this reason.
    RefusesNone(&'static str),
}

/// A policy that lets a request through, and one that does not.
#[derive(Clone)]
pub struct Case {
    /// Loosens the default, so that the request is taken.
    pub loosen: fn(&mut Policy),
    /// Makes it strict.
    pub tighten: fn(&mut Policy),
    /// What is seen of the request and of the node.
    pub seen: fn(&mut Observation),
    /// What the image is.
    pub image: fn(&mut ImageFacts),
    /// The reason's code.
    pub code: &'static str,
}

const NOTHING: Case = Case {
    loosen: |_| {},
    tighten: |_| {},
    seen: |_| {},
    image: |_| {},
    code: "",
};

fn docker() -> RawRequest {
    let manifest = "e".repeat(64);
    raw(&format!(
        "docker://registry.example.com/os@sha256:{manifest}@{}",
        digest('b')
    ))
}

fn archive() -> RawRequest {
    let manifest = "e".repeat(64);
    raw(&format!(
        "oci-archive:/srv/images/os.tar@sha256:{manifest}@{}",
        digest('b')
    ))
}

/// Names each key of a part of the policy with its class.
macro_rules! classed {
    ($part:ident { $($key:ident: $class:expr),* $(,)? }) => {{
        let $part { $($key: _),* } = $part::default();
        vec![$((stringify!($key), $class)),*]
    }};
}

const PACE: Class = Class::RefusesNone("it says how long or how often something is tried");
const PART: Class = Class::RefusesNone("its keys are classed by themselves");

/// All of them.
pub fn all() -> Vec<(&'static str, Class)> {
    let parts = [top(), registry(), window(), around(), health(), limits()];
    parts.into_iter().flatten().collect()
}

fn top() -> Vec<(&'static str, Class)> {
    classed!(Policy {
        opt_out: Class::Refuses(Case {
            tighten: |policy| policy.opt_out = "bench".into(),
            code: "OptedOut",
            ..NOTHING
        }),
        remotes: Class::Refuses(Case {
            loosen: |policy| policy.remotes = vec!["careen".into()],
            tighten: |policy| policy.remotes = vec!["other".into()],
            code: "RemoteNotAllowed",
            ..NOTHING
        }),
        branches: Class::Refuses(Case {
            loosen: |policy| policy.branches = vec!["os".into()],
            tighten: |policy| policy.branches = vec!["other".into()],
            image: |facts| facts.branches = ["os".to_owned()].into(),
            code: "BranchNotAllowed",
            ..NOTHING
        }),
        branch_change: Class::Refuses(Case {
            tighten: |policy| policy.branch_change = BranchChange::Never,
            image: |facts| {
                facts.branches = ["os".to_owned()].into();
                facts.running_branches = ["lab".to_owned()].into();
            },
            code: "BranchChange",
            ..NOTHING
        }),
        rollback: Class::Refuses(Case {
            tighten: |policy| policy.rollback = false,
            seen: |seen| seen.node.request = Asked::This(raw("kept:")),
            code: "RollbackOff",
            ..NOTHING
        }),
        unsigned: Class::AsksForSignatures(Case {
            loosen: |policy| policy.unsigned = true,
            tighten: |policy| policy.unsigned = false,
            code: "VerificationOff",
            ..NOTHING
        }),
        unguarded: Class::Refuses(Case {
            loosen: |policy| policy.unguarded = true,
            tighten: |policy| policy.unguarded = false,
            image: |facts| facts.info.as_mut().unwrap().stage = None,
            code: "NoStage",
            ..NOTHING
        }),
        downgrade: Class::Refuses(Case {
            loosen: |policy| policy.downgrade = true,
            tighten: |policy| policy.downgrade = false,
            image: |facts| {
                facts.info.as_mut().unwrap().kubernetes = "v1.34.9".parse().unwrap();
            },
            code: "Downgrade",
            ..NOTHING
        }),
        require_watchdog: Class::Refuses(Case {
            tighten: |policy| policy.require_watchdog = true,
            seen: |seen| {
                let found = "softdog".into();
                seen.machine.watchdog = Err(Reason::NoWatchdog { found });
            },
            code: "NoWatchdog",
            ..NOTHING
        }),
        local_changes: Class::Refuses(Case {
            loosen: |policy| policy.local_changes = LocalChanges::Drop,
            tighten: |policy| policy.local_changes = LocalChanges::Refuse,
            seen: |seen| seen.machine.local_changes = vec!["layered packages: vim".into()],
            code: "LocalChanges",
            ..NOTHING
        }),
        skew: Class::Refuses(Case {
            tighten: |policy| policy.skew = 0,
            seen: |seen| {
                seen.node.api = Api::Reached {
                    since: SinceBoot(20_000),
                    version: Some("v1.37.0".parse().unwrap()),
                };
            },
            code: "SkewTooLarge",
            ..NOTHING
        }),
        trials: Class::RefusesNone("it bounds the trials of an upgrade, and the first is allowed"),
        tries: PACE,
        retry_seconds: PACE,
        window: PART,
        hooks: PART,
        load_balancer: PART,
        neighbours: PART,
        registry: PART,
        drain: PART,
        kubeadm: PART,
        control_plane: PART,
        health: PART,
        serving: PART,
        reboot: PART,
        limits: PART,
        metrics: PART,
    })
}

fn registry() -> Vec<(&'static str, Class)> {
    classed!(Registry {
        allowed: Class::Refuses(Case {
            loosen: |policy| policy.registry.allowed = vec!["registry.example.com".into()],
            tighten: |policy| policy.registry.allowed = vec!["other.example.com".into()],
            seen: |seen| seen.node.request = Asked::This(docker()),
            code: "RemoteNotAllowed",
            ..NOTHING
        }),
        signed_by: Class::AsksForSignatures(Case {
            loosen: |policy| {
                policy.registry.allowed = vec!["registry.example.com".into()];
                policy.registry.signed_by = "careen".into();
            },
            tighten: |policy| policy.registry.signed_by = "other".into(),
            seen: |seen| seen.node.request = Asked::This(docker()),
            code: "WrongSignature",
            ..NOTHING
        }),
        archives: Class::Refuses(Case {
            loosen: |policy| policy.registry.archives = vec!["/srv/images".into()],
            tighten: |policy| policy.registry.archives.clear(),
            seen: |seen| seen.node.request = Asked::This(archive()),
            code: "RemoteNotAllowed",
            ..NOTHING
        }),
    })
}

fn window() -> Vec<(&'static str, Class)> {
    const WAITS: Class = Class::RefusesNone("an upgrade waits for its hours");
    classed!(Window {
        open: WAITS,
        zone: WAITS,
        fetch_outside: WAITS,
        trust_clock: WAITS,
        last_begin: WAITS,
        rules: WAITS,
        usual_seconds: WAITS,
    })
}

/// What is done around the reboot.
fn around() -> Vec<(&'static str, Class)> {
    const REHEARSED: Class =
        Class::RefusesNone("the agent applies it in the rehearsal, and again if it has changed");
    const KEEPS_OFF: Class = Class::RefusesNone("it says what keeps other programs off the node");
    const DRAINS: Class = Class::RefusesNone("it says how a node is drained, not whether");
    let hooks = classed!(Hooks { seconds: PACE });
    let load_balancer = classed!(LoadBalancer {
        exclude: DRAINS,
        wait_seconds: PACE
    });
    let neighbours = classed!(Neighbours {
        cluster_autoscaler: KEEPS_OFF,
        karpenter: KEEPS_OFF,
        medik8s: KEEPS_OFF,
        settle_seconds: PACE,
    });
    let drain = classed!(Drain {
        deadline_seconds: PACE,
        at_deadline: DRAINS,
        force_seconds: PACE,
        detach_seconds: PACE,
        skip: DRAINS,
        order: DRAINS,
    });
    let reboot = classed!(Reboot {
        shutdown_seconds: PACE,
        initramfs_seconds: PACE,
    });
    let kubeadm = classed!(Kubeadm {
        patches: REHEARSED,
        local_settings: REHEARSED,
    });
    const SURVEYED: Class =
        Class::RefusesNone("each survey applies it, and one precedes the arming");
    const KEPT: Class = Class::RefusesNone("it says what stays on the disk");
    let control_plane = classed!(ControlPlane {
        enabled: Class::Refuses(Case {
            loosen: |policy| policy.control_plane.enabled = true,
            tighten: |policy| policy.control_plane.enabled = false,
            seen: |seen| seen.machine.control_plane = Some(control_plane()),
            image: |facts| facts.info.as_mut().unwrap().control = 1,
            code: "ControlPlane",
        }),
        single_node: SURVEYED,
        external_etcd: SURVEYED,
        wait_seconds: Class::RefusesNone("it ends a wait under way at the next answer"),
        snapshots_kept: KEPT,
        prune_kubeadm_backups: KEPT,
    });
    [
        hooks,
        load_balancer,
        neighbours,
        drain,
        reboot,
        kubeadm,
        control_plane,
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn health() -> Vec<(&'static str, Class)> {
    const JUDGES: Class = Class::RefusesNone("it judges a trial, and is read then");
    let health = classed!(Health {
        deadline_seconds: JUDGES,
        api_away_hold_seconds: JUDGES,
        bless_without_api: JUDGES,
        soak_seconds: JUDGES,
        steady_seconds: JUDGES,
        check_seconds: JUDGES,
        check_tries: JUDGES,
        sandbox: Class::RefusesNone("the agent asks for a pod again, also before the arming"),
        rehearse: Class::RefusesNone("the agent runs the checks again, also before the arming"),
    });
    let serving = classed!(Serving {
        pods: JUDGES,
        resources: JUDGES,
        drivers: JUDGES,
        capacity: JUDGES,
        conditions: JUDGES,
        other_conditions: JUDGES,
        labels: JUDGES,
        addresses: JUDGES,
        units: JUDGES,
        mounts: JUDGES,
        services: JUDGES,
        system: JUDGES,
        except: JUDGES,
    });
    [health, serving].into_iter().flatten().collect()
}

fn limits() -> Vec<(&'static str, Class)> {
    let limits = classed!(Limits {
        cpu_percent: PACE,
        io_weight: PACE,
        memory_mib: PACE,
        bandwidth_bytes: PACE,
        fetch_seconds: PACE,
        lock_seconds: PACE,
    });
    let metrics = classed!(Metrics {
        listen: Class::RefusesNone("it shows, and decides nothing")
    });
    [limits, metrics].into_iter().flatten().collect()
}
