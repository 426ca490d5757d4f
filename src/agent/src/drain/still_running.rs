//! Waits for the containers of pods that the API server does not have any more. It forgets a pod at
//! once that somebody deletes by force, while the kubelet still ends its containers
//! (kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle, "Forced Pod termination"). A reboot
//! would cut them short.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use cri::RunningPod;
use tokio::time::{Instant, sleep};
use tracing::warn;
use upgrade::reason::few;

use super::own_pods::own_pods;
use super::pods::{ENDED, GRACE, stay};
use super::task::Drain;

/// How often the agent looks.
const LOOK: Duration = Duration::from_secs(2);

/// A pod that is gone from the API server, and runs.
struct Left {
    name: String,
    /// How long the agent waits for it, in seconds.
    seconds: u64,
    until: Instant,
}

/// What the looks have shown so far.
#[derive(Default)]
struct Watch {
    /// The pods that stay: those that the API server has, or had in an earlier look.
    stay: HashSet<String>,
    left: HashMap<String, Left>,
    /// Since when the looks fail, and why.
    failing: Option<(Instant, String)>,
}

impl Watch {
    /// Takes a look. A pod that ends had `most` seconds at most, and the kubelet some more.
    fn saw(&mut self, look: Result<Look, String>, most: u64, now: Instant) {
        let look = match look {
            Ok(look) => look,
            Err(why) => {
                let since = self.failing.as_ref().map_or(now, |(since, _)| *since);
                self.failing = Some((since, why));
                return;
            }
        };
        self.failing = None;
        self.stay.extend(look.stay);
        let running = look.running.into_iter();
        let running: HashMap<_, _> = running
            .filter(|pod| !self.stay.contains(&pod.uid))
            .map(|pod| (pod.uid.clone(), pod))
            .collect();
        self.left.retain(|uid, _| running.contains_key(uid));
        for (uid, pod) in running {
            self.left
                .entry(uid)
                .or_insert_with(|| left(&pod, most, now));
        }
    }

    /// What the agent waits for now, if it waits. The text has no time that passes, so that the
    /// Node is written only when the pods change.
    fn waits(&self, now: Instant) -> Option<String> {
        let mut named: Vec<_> = self.left.values().filter(|left| now < left.until).collect();
        named.sort_by(|one, other| one.name.cmp(&other.name));
        if !named.is_empty() {
            return Some(waiting(&named));
        }
        let (since, why) = self.failing.as_ref()?;
        let text = || format!("waiting to know which pods run on this machine: {why}");
        (now < *since + ENDED).then(text)
    }

    /// The pods that still run, for a person, and why that is not known.
    fn over(&self) -> Option<String> {
        let mut names: Vec<_> = self.left.values().map(|left| left.name.clone()).collect();
        names.sort();
        let why = self.failing.as_ref().map(|(_, why)| why.clone());
        (!names.is_empty()).then(|| few(&names)).or(why)
    }
}

/// The machine and the API server at one moment.
struct Look {
    running: Vec<RunningPod>,
    stay: Vec<String>,
}

fn left(pod: &RunningPod, most: u64, now: Instant) -> Left {
    let grace = Duration::from_secs(pod.grace.unwrap_or(GRACE).min(most));
    let limit = grace + ENDED;
    Left {
        name: format!("{}/{}", pod.namespace, pod.name),
        seconds: limit.as_secs(),
        until: now + limit,
    }
}

fn waiting(left: &[&Left]) -> String {
    let named = left
        .iter()
        .map(|left| format!("{} (up to {} s)", left.name, left.seconds));
    let named = few(&named.collect::<Vec<_>>());
    let pods = match left.len() {
        1 => "1 pod".to_owned(),
        many => format!("{many} pods"),
    };
    format!(
        "waiting for the containers of {pods} that the API server does not have any more: {named}"
    )
}

/// Waits until no container runs of a pod that is gone, for each pod up to its grace period or
/// `most` seconds, whichever is less, and 15 s.
pub(super) async fn ended(drain: &Drain<'_>, most: u64) {
    until_ended(|| look(drain), most, drain.progress).await;
}

async fn until_ended<Asked: Future<Output = Result<Look, String>>>(
    look: impl Fn() -> Asked,
    most: u64,
    progress: &(dyn Fn(u8, String) + Send + Sync),
) {
    let mut watch = Watch::default();
    loop {
        watch.saw(look().await, most, Instant::now());
        let Some(waits) = watch.waits(Instant::now()) else {
            break;
        };
        progress(100, waits);
        sleep(LOOK).await;
    }
    if let Some(left) = watch.over() {
        warn!(
            "pods may still run here, and the time for them is over: {left}; the upgrade continues"
        );
    }
}

/// The machine first: a pod that starts between the two questions is in the answer of the API
/// server.
async fn look(drain: &Drain<'_>) -> Result<Look, String> {
    let running = drain.machine.running().await?;
    let listed = async {
        let client = drain.cluster.client().await?;
        own_pods(&client, drain.node, stay).await
    };
    let stay = listed.await;
    let stay = stay.map_err(|error| format!("cannot list this node's pods: {error}"))?;
    Ok(Look { running, stay })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn pod(name: &str, grace: Option<u64>) -> RunningPod {
        RunningPod {
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
            grace,
        }
    }

    /// How many seconds the agent waits where the runtime and the API server show this in each
    /// second, and what it says first.
    async fn waited(
        most: u64,
        look: impl Fn(u64) -> Result<(Vec<RunningPod>, Vec<&'static str>), &'static str>,
    ) -> (u64, String) {
        let (begun, said) = (Instant::now(), Mutex::new(Vec::new()));
        let look = || {
            let seen = look(begun.elapsed().as_secs()).map_err(str::to_owned);
            std::future::ready(seen.map(|(running, stay)| Look {
                running,
                stay: stay.into_iter().map(str::to_owned).collect(),
            }))
        };
        let say = |_, text| said.lock().unwrap().push(text);
        until_ended(look, most, &say).await;
        let first = said.lock().unwrap().first().cloned();
        (begun.elapsed().as_secs(), first.unwrap_or_default())
    }

    #[tokio::test(start_paused = true)]
    async fn containers_of_a_pod_deleted_by_force_are_waited_for() {
        let ends = |second| match second {
            0..40 => Ok((vec![pod("db-0", Some(600))], vec![])),
            _ => Ok((vec![], vec![])),
        };
        let (seconds, said) = waited(600, ends).await;
        assert_eq!(seconds, 40);
        assert!(said.ends_with(": shop/db-0 (up to 615 s)"), "{said}");
    }

    #[tokio::test(start_paused = true)]
    async fn pods_that_stay_on_the_node_are_not_waited_for() {
        let log = |_| Ok((vec![pod("log", Some(600))], vec!["log"]));
        assert_eq!(waited(600, log).await, (0, String::new()));
        assert_eq!(waited(600, |_| Ok((vec![], vec!["log"]))).await.0, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn wait_ends_with_the_grace_period_or_the_drains_limit() {
        let hangs = |grace| move |_| Ok((vec![pod("db-0", grace)], vec![]));
        for (grace, most, seconds) in [
            (Some(100), 600, 115),
            (Some(3600), 600, 615),
            (Some(0), 600, 15),
            (None, 600, 45),
        ] {
            let (waited, _) = waited(most, hangs(grace)).await;
            let range = seconds..=seconds + LOOK.as_secs();
            assert!(range.contains(&waited), "{grace:?}: {waited} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn runtime_that_cannot_be_asked_delays_by_seconds() {
        let (seconds, said) = waited(600, |_| Err("cannot connect")).await;
        assert!((15..=17).contains(&seconds), "{seconds}");
        assert!(said.ends_with(": cannot connect"), "{said}");
    }

    #[tokio::test(start_paused = true)]
    async fn look_that_fails_shows_no_end_of_a_pod() {
        let restarts = |second| match second {
            10..60 => Err("cannot connect"),
            0..100 => Ok((vec![pod("db-0", Some(600))], vec![])),
            _ => Ok((vec![], vec![])),
        };
        assert_eq!(waited(600, restarts).await.0, 100);
    }

    #[test]
    fn pod_whose_time_is_over_gets_no_other_time() {
        let (mut watch, now) = (Watch::default(), Instant::now());
        let seen = |names: &[&str]| {
            Ok(Look {
                running: names.iter().map(|name| pod(name, Some(30))).collect(),
                stay: Vec::new(),
            })
        };
        watch.saw(seen(&["a"]), 600, now);
        watch.saw(seen(&["a", "b"]), 600, now + Duration::from_secs(40));
        let later = now + Duration::from_secs(50);
        let said = watch.waits(later).unwrap();
        assert!(said.contains("1 pod ") && said.contains("shop/b"), "{said}");
        assert_eq!(watch.over().as_deref(), Some("shop/a, shop/b"));
        assert_eq!(watch.waits(later + Duration::from_secs(50)), None);
    }
}
