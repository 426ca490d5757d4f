//! What the pods themselves show about a drain before it begins: a pod whose end is overdue, and a
//! pod that may take longer to end than the drain waits.

use k8s_openapi::jiff::Timestamp;
use upgrade::Reason;
use upgrade::drain_order;
use upgrade::plan::Blocked;
use upgrade::policy::{AtDeadline, Drain};
use upgrade::reason::few;

use super::pods::{Found, Victim};

/// How many seconds after its time a pod may still be there. The kubelet removes the object a
/// moment after the containers, and the clocks of the node and of the server differ.
const LATE: i64 = 120;

/// The pods that would hold up the drain or be cut short by it, each with the cause.
pub(super) fn slow_pods(found: &[Found], policy: &Drain, now: Timestamp) -> Vec<Blocked> {
    let held = found.iter().filter_map(|pod| {
        let by = overdue(pod, now).or_else(|| slow(pod, found, policy, now))?;
        let pod = pod.victim.to_string();
        Some(Blocked { pod, by })
    });
    held.collect()
}

/// The pods for which the drain would fail at its deadline, or wait in vain until then.
pub(super) fn warning(found: &[Found], policy: &Drain, now: Timestamp) -> Option<Reason> {
    let aborts = policy.at_deadline == AtDeadline::Abort;
    let named = found.iter().filter_map(|pod| {
        let slow = || slow(pod, found, policy, now).filter(|_| aborts);
        let by = overdue(pod, now).or_else(slow)?;
        Some(format!("pod {} {by}", pod.victim))
    });
    let mut named: Vec<_> = named.collect();
    named.sort();
    let detail = few(&named);
    (!named.is_empty()).then_some(Reason::DrainRefused { detail })
}

/// The grace period at the deadline, in seconds, where the policy ends what is left.
pub(super) fn given(victim: &Victim, policy: &Drain) -> u64 {
    victim.grace.min(policy.force_seconds)
}

fn overdue(pod: &Found, now: Timestamp) -> Option<String> {
    let late = now.as_second() - pod.ends?.as_second();
    let keeps = match pod.finalizers.as_slice() {
        [] => "its containers do not end, or its kubelet does not report it".to_owned(),
        finalizers => format!("finalizers keep it: {}", few(finalizers)),
    };
    (late > LATE).then(|| format!("should have ended {late} s ago: {keeps}"))
}

fn slow(pod: &Found, found: &[Found], policy: &Drain, now: Timestamp) -> Option<String> {
    let (needs, waits) = (needs(pod, now), waits(pod, found, policy, now));
    let (over, deadline) = (needs.saturating_add(waits), policy.deadline_seconds);
    let turn = match waits {
        0 => String::new(),
        waits => format!(" after up to {waits} s for the groups before it (drain.order)"),
    };
    let takes = format!("may take {needs} s to end (terminationGracePeriodSeconds){turn}");
    match policy.at_deadline {
        AtDeadline::Abort if over >= deadline => Some(format!(
            "{takes}, and the drain fails after {deadline} s (drain.deadline-seconds)"
        )),
        AtDeadline::Continue if over >= deadline => Some(format!(
            "{takes}, and the node reboots after {deadline} s (drain.deadline-seconds)"
        )),
        AtDeadline::Force if needs > policy.force_seconds => Some(format!(
            "{takes}, and gets {} s (drain.force-seconds) if it is still there after {deadline} s",
            policy.force_seconds
        )),
        AtDeadline::Abort | AtDeadline::Continue | AtDeadline::Force => None,
    }
}

/// How many seconds it may take until the pod's turn comes: the sum of what each group before it
/// needs. The turn of the next group comes no later than the group's own limit. A pod that is
/// Terminating already does not wait for its turn.
fn waits(pod: &Found, found: &[Found], policy: &Drain, now: Timestamp) -> u64 {
    let order = &policy.order;
    let place = |pod: &Found| drain_order::place(order, &pod.victim.namespace, pod.victim.priority);
    if pod.ending.is_some() {
        return 0;
    }
    let mut begins = 0_u64;
    for at in 0..place(pod) {
        let of_group = found.iter().filter(|pod| place(pod) == at);
        let slowest = of_group.map(|pod| needs(pod, now)).max().unwrap_or(0);
        let limit = at.checked_sub(1).and_then(|at| order.get(at));
        let limit = limit.map_or(0, |group| group.seconds);
        begins = begins.saturating_add(if limit > 0 {
            slowest.min(limit)
        } else {
            slowest
        });
    }
    begins
}

/// How many seconds it still needs at most. A clock that is not set does not make that longer than
/// the grace period.
fn needs(pod: &Found, now: Timestamp) -> u64 {
    let Some((ending, ends)) = pod.ending.zip(pod.ends) else {
        return pod.victim.grace;
    };
    let grace = ends.as_second() - ending.as_second();
    let left = (ends.as_second() - now.as_second()).min(grace);
    u64::try_from(left).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drain::pods::found;
    use client::Pod;
    use serde_json::{Value, json};

    fn policy(at_deadline: AtDeadline) -> Drain {
        Drain {
            at_deadline,
            ..Drain::default()
        }
    }

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    fn pod(meta: &Value, grace: u64) -> Vec<Found> {
        let mut meta = meta.clone();
        meta["namespace"] = json!("shop");
        meta["name"] = json!("db");
        let spec = json!({ "terminationGracePeriodSeconds": grace });
        let pod = json!({ "metadata": meta, "spec": spec, "status": { "phase": "Running" } });
        found(&[serde_json::from_value::<Pod>(pod).unwrap()])
    }

    fn told(found: &[Found], at_deadline: AtDeadline, now: &str) -> Option<String> {
        let policy = policy(at_deadline);
        let held = slow_pods(found, &policy, at(now));
        let said = held.first().map(|one| format!("{} {}", one.pod, one.by));
        let warned = warning(found, &policy, at(now)).map(|why| why.to_string());
        let aborts = at_deadline == AtDeadline::Abort;
        assert!(!aborts || warned.is_some() == said.is_some(), "{warned:?}");
        said
    }

    const NOW: &str = "2026-11-29T04:00:00Z";

    #[test]
    fn pod_that_may_outlast_the_drain_is_named_before_the_cordon() {
        let (slow, quick) = (pod(&json!({}), 3600), pod(&json!({}), 30));
        let said = told(&slow, AtDeadline::Abort, NOW).unwrap();
        assert!(said.contains("shop/db may take 3600 s"), "{said}");
        assert!(said.contains("fails after 600 s"), "{said}");
        let said = told(&slow, AtDeadline::Continue, NOW).unwrap();
        assert!(said.contains("reboots after 600 s"), "{said}");
        for at_deadline in [AtDeadline::Abort, AtDeadline::Continue, AtDeadline::Force] {
            assert_eq!(told(&quick, at_deadline, NOW), None);
        }
    }

    #[test]
    fn pod_that_the_deadline_cuts_short_is_named_with_its_time() {
        let slow = pod(&json!({}), 3600);
        let said = told(&slow, AtDeadline::Force, NOW).unwrap();
        assert!(said.contains("gets 300 s (drain.force-seconds)"), "{said}");
        let force = policy(AtDeadline::Force);
        assert_eq!(given(&slow[0].victim, &force), 300);
        assert_eq!(given(&pod(&json!({}), 20)[0].victim, &force), 20);
    }

    #[test]
    fn overdue_pod_is_named_with_its_finalizers() {
        let meta = json!({
            "deletionTimestamp": "2026-11-27T04:00:00Z", "deletionGracePeriodSeconds": 30,
            "finalizers": ["example.com/keep"],
        });
        for at_deadline in [AtDeadline::Abort, AtDeadline::Continue, AtDeadline::Force] {
            let said = told(&pod(&meta, 30), at_deadline, NOW).unwrap();
            assert!(said.contains("ended 172800 s ago"), "{said}");
            assert!(said.contains("example.com/keep"), "{said}");
        }
        let in_time = told(&pod(&meta, 30), AtDeadline::Abort, "2026-11-27T04:01:00Z");
        assert_eq!(in_time, None);
    }

    #[test]
    fn terminating_pod_needs_the_rest_of_its_time() {
        let meta = json!({
            "deletionTimestamp": "2026-11-29T05:00:00Z", "deletionGracePeriodSeconds": 7200,
        });
        let said = told(&pod(&meta, 30), AtDeadline::Abort, NOW).unwrap();
        assert!(said.contains("may take 3600 s"), "{said}");
        let said = told(&pod(&meta, 30), AtDeadline::Abort, "1970-01-01T00:00:00Z").unwrap();
        assert!(said.contains("may take 7200 s"), "a clock not set: {said}");
    }

    #[test]
    fn groups_that_leave_one_after_the_other_add_up() {
        let named = |namespace: &str, grace: u64| {
            let meta = json!({ "namespace": namespace, "name": "db" });
            let spec = json!({ "terminationGracePeriodSeconds": grace });
            let pod = json!({ "metadata": meta, "spec": spec, "status": { "phase": "Running" } });
            serde_json::from_value::<Pod>(pod).unwrap()
        };
        let group = |namespace: &str, seconds| drain_order::Group {
            namespaces: vec![namespace.to_owned()],
            priority: None,
            seconds,
        };
        let found = found(&[named("a", 250), named("b", 250), named("c", 250)]);
        let by = |order| Drain {
            order,
            ..policy(AtDeadline::Abort)
        };
        let held = |policy: &Drain| slow_pods(&found, policy, at(NOW));
        assert_eq!(held(&by(vec![])), [], "all leave together");
        let one_by_one = by(vec![group("b", 0), group("c", 0)]);
        let last = held(&one_by_one);
        let [last] = &last[..] else {
            panic!("{last:?}")
        };
        assert_eq!(last.pod, "c/db");
        assert!(last.by.contains("after up to 500 s"), "{}", last.by);
        assert!(warning(&found, &one_by_one, at(NOW)).is_some());
        let limited = by(vec![group("b", 60), group("c", 0)]);
        assert_eq!(held(&limited), [], "the next turn comes after 60 s");
    }
}
