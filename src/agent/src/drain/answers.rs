//! The server's last answer about each pod that must go, and what follows: which pods to evict now,
//! and when the drain is hopeless.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;
use upgrade::Reason;
use upgrade::plan::Blocked;
use upgrade::reason::few;

use super::evict::Answer;
use super::pods::Victim;

/// How long to wait before evicting a pod again, as `kubectl drain` does.
pub(super) const AGAIN: Duration = Duration::from_secs(5);

/// The last answer about each pod, and when it came.
#[derive(Default)]
pub struct Answers {
    last: HashMap<Victim, (Answer, Instant)>,
}

impl Answers {
    /// The pods to evict now: a new pod at once, a refused pod after a pause, a terminating pod
    /// never again.
    #[must_use]
    pub fn open(&self, victims: &[Victim], now: Instant) -> Vec<Victim> {
        let open = |victim: &&Victim| match self.last.get(victim) {
            None => true,
            Some((Answer::Going, _)) => false,
            Some((_, at)) => now.saturating_duration_since(*at) >= AGAIN,
        };
        victims.iter().filter(open).cloned().collect()
    }

    /// Processes the answers. One refusal may be temporary: admission uses a copy of the pods that
    /// lags. In that copy, a pod bound just before the cordon does not belong to this node yet.
    ///
    /// # Errors
    /// [`Reason::DrainRefused`] for a pod that was refused twice in a row.
    pub fn take(
        &mut self,
        fresh: impl IntoIterator<Item = (Victim, Answer)>,
        now: Instant,
    ) -> Result<(), Reason> {
        for (victim, answer) in fresh {
            let detail = match &answer {
                Answer::Refused(words) => Some(format!("cannot evict pod {victim}: {words}")),
                Answer::Going
                | Answer::Budget(_)
                | Answer::PutOff(_)
                | Answer::Later(_)
                | Answer::Failing(_) => None,
            };
            let before = self.last.insert(victim, (answer, now));
            if let (Some(detail), Some((Answer::Refused(_), _))) = (detail, before) {
                return Err(Reason::DrainRefused { detail });
            }
        }
        Ok(())
    }

    /// What holds up the first of these pods that is held up, for a person.
    #[must_use]
    pub fn hindrance(&self, victims: &[Victim]) -> Option<String> {
        victims
            .iter()
            .find_map(|victim| match &self.last.get(victim)?.0 {
                Answer::Going => None,
                Answer::Budget(pdb) => {
                    Some(format!("PodDisruptionBudget {pdb} blocks pod {victim}"))
                }
                Answer::PutOff(words)
                | Answer::Later(words)
                | Answer::Failing(words)
                | Answer::Refused(words) => Some(format!("pod {victim}: {words}")),
            })
    }
}

/// The first budget that blocks the drain, in the order of names, so that the same state gives the
/// same text.
#[must_use]
pub fn blocked(answers: &[(Victim, Answer)], seconds: u64) -> Option<Reason> {
    let budgets = answers.iter().filter_map(|(victim, answer)| match answer {
        Answer::Budget(pdb) => Some((pdb.clone(), victim.to_string())),
        Answer::Going
        | Answer::PutOff(_)
        | Answer::Later(_)
        | Answer::Failing(_)
        | Answer::Refused(_) => None,
    });
    budgets
        .min()
        .map(|(pdb, pod)| Reason::BudgetBlocks { pdb, pod, seconds })
}

/// What a dry run shows to be in the drain's way: what is refused, then budgets, then what the
/// server fails at, then what is put off. A pod that is held up for a moment only is not in these
/// answers ([`is_settled`], [`after_a_pause`]).
#[must_use]
pub fn foreseen(answers: &[(Victim, Answer)]) -> Option<Reason> {
    first(answers, refused)
        .or_else(|| blocked(answers, 0))
        .or_else(|| first(answers, failing))
        .or_else(|| first(answers, put_off))
}

const fn refused(answer: &Answer) -> Option<&String> {
    match answer {
        Answer::Refused(words) => Some(words),
        Answer::Going
        | Answer::Budget(_)
        | Answer::PutOff(_)
        | Answer::Later(_)
        | Answer::Failing(_) => None,
    }
}

const fn failing(answer: &Answer) -> Option<&String> {
    match answer {
        Answer::Failing(words) => Some(words),
        Answer::Going
        | Answer::Budget(_)
        | Answer::PutOff(_)
        | Answer::Later(_)
        | Answer::Refused(_) => None,
    }
}

const fn put_off(answer: &Answer) -> Option<&String> {
    match answer {
        Answer::PutOff(words) => Some(words),
        Answer::Going
        | Answer::Budget(_)
        | Answer::Later(_)
        | Answer::Failing(_)
        | Answer::Refused(_) => None,
    }
}

/// The refusal of the first pod, in the order of names, that has one.
fn first(
    answers: &[(Victim, Answer)],
    words: impl Fn(&Answer) -> Option<&String>,
) -> Option<Reason> {
    let all = answers.iter();
    let all = all.filter_map(|(victim, answer)| Some((victim.to_string(), words(answer)?)));
    let (pod, words) = all.min()?;
    let detail = format!("a dry run of the eviction of pod {pod} does not pass: {words}");
    Some(Reason::DrainRefused { detail })
}

/// Whether one answer of a dry run is enough. Admission uses a copy of the pods that lags, and a
/// server or a webhook may fail once.
#[must_use]
pub const fn is_settled(answer: &Answer) -> bool {
    match answer {
        Answer::Going | Answer::Budget(_) => true,
        Answer::PutOff(_) | Answer::Later(_) | Answer::Failing(_) | Answer::Refused(_) => false,
    }
}

/// The second answer of a dry run. A server that is overloaded puts off any request, so only a pod
/// that is put off both times counts as put off.
#[must_use]
pub fn after_a_pause(first: &Answer, second: Answer) -> Answer {
    match (put_off(first), second) {
        (None, Answer::PutOff(words)) => Answer::Later(words),
        (_, second) => second,
    }
}

/// Each pod that would not go, and what holds it up.
#[must_use]
pub fn holders(answers: &[(Victim, Answer)]) -> Vec<Blocked> {
    let held = answers.iter().filter_map(|(victim, answer)| {
        let by = match answer {
            Answer::Going => return None,
            Answer::Budget(name) => format!("PodDisruptionBudget {name}"),
            Answer::PutOff(words)
            | Answer::Later(words)
            | Answer::Failing(words)
            | Answer::Refused(words) => words.clone(),
        };
        let pod = victim.to_string();
        Some(Blocked { pod, by })
    });
    let mut held: Vec<_> = held.collect();
    held.sort();
    held
}

/// The remaining pods, each with the server's answer about it: the first ones by name, and how many
/// others there are.
#[must_use]
pub fn still_there(answers: &[(Victim, Answer)]) -> String {
    let mut pods: Vec<_> = answers
        .iter()
        .map(|(victim, answer)| match answer {
            Answer::Going | Answer::Budget(_) => victim.to_string(),
            Answer::PutOff(words)
            | Answer::Later(words)
            | Answer::Failing(words)
            | Answer::Refused(words) => format!("{victim} ({words})"),
        })
        .collect();
    pods.sort();
    few(&pods)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str) -> Victim {
        Victim {
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
            priority: 0,
            grace: 30,
        }
    }

    fn refused() -> Answer {
        Answer::Refused("forbidden".to_owned())
    }

    fn later() -> Answer {
        Answer::Later("not found".to_owned())
    }

    #[test]
    fn one_refusal_may_pass_and_two_in_a_row_end_the_drain() {
        let (mut answers, now) = (Answers::default(), Instant::now());
        assert_eq!(answers.take([(pod("web"), refused())], now), Ok(()));
        assert_eq!(answers.take([(pod("web"), later())], now), Ok(()));
        assert_eq!(answers.take([(pod("web"), refused())], now), Ok(()));
        let detail = "cannot evict pod shop/web: forbidden".to_owned();
        assert_eq!(
            answers.take([(pod("web"), refused())], now),
            Err(Reason::DrainRefused { detail })
        );
    }

    #[test]
    fn recreated_pod_of_the_same_name_does_not_inherit_an_answer() {
        let (mut answers, now) = (Answers::default(), Instant::now());
        let web = pod("web");
        let successor = Victim {
            uid: "its successor".to_owned(),
            ..web.clone()
        };
        assert_eq!(answers.take([(web, Answer::Going)], now), Ok(()));
        let all = std::slice::from_ref(&successor);
        assert_eq!(answers.open(all, now), all);
        assert_eq!(answers.hindrance(all), None);
    }

    #[test]
    fn two_pods_refused_once_each_are_no_pod_refused_twice() {
        let (mut answers, now) = (Answers::default(), Instant::now());
        let both = [(pod("web"), refused()), (pod("db"), refused())];
        assert_eq!(answers.take(both, now), Ok(()));
    }

    #[test]
    fn postponed_pod_is_retried_after_a_pause_and_a_new_one_at_once() {
        let (mut answers, start) = (Answers::default(), Instant::now());
        let (missing, going, new) = (pod("missing"), pod("going"), pod("new"));
        let all = [missing.clone(), going.clone(), new.clone()];
        let said = [(missing.clone(), later()), (going, Answer::Going)];
        assert_eq!(answers.take(said, start), Ok(()));
        assert_eq!(answers.open(&all, start), std::slice::from_ref(&new));
        assert_eq!(answers.open(&all, start + AGAIN), [missing, new]);
    }

    #[test]
    fn every_pod_that_would_not_go_is_named_with_what_holds_it() {
        let answers = [
            (pod("web"), refused()),
            (pod("db"), Answer::Budget("shop/one".to_owned())),
            (pod("job"), Answer::Going),
        ];
        let held: Vec<_> = holders(&answers)
            .into_iter()
            .map(|blocked| format!("{}: {}", blocked.pod, blocked.by))
            .collect();
        assert_eq!(
            held,
            [
                "shop/db: PodDisruptionBudget shop/one",
                "shop/web: forbidden"
            ]
        );
    }

    fn failing() -> Answer {
        Answer::Failing("two budgets (500)".to_owned())
    }

    #[test]
    fn pod_that_can_never_be_evicted_is_foreseen() {
        let budget = || Answer::Budget("shop/one".to_owned());
        let said = |answers: &[(Victim, Answer)]| foreseen(answers).map(|why| why.to_string());
        let both = said(&[(pod("a"), budget()), (pod("web"), refused())]).unwrap();
        assert!(
            both.contains("pod shop/web does not pass: forbidden"),
            "{both}"
        );
        let both = said(&[(pod("a"), failing()), (pod("web"), budget())]).unwrap();
        assert!(both.contains("PodDisruptionBudget shop/one"), "{both}");
        let two = said(&[(pod("b"), failing()), (pod("a"), failing())]).unwrap();
        assert!(
            two.contains("pod shop/a does not pass: two budgets (500)"),
            "{two}"
        );
        assert_eq!(
            said(&[(pod("a"), later()), (pod("b"), Answer::Going)]),
            None
        );
    }

    #[test]
    fn pod_that_a_webhook_puts_off_twice_is_foreseen() {
        let off = || Answer::PutOff("not live-migratable".to_owned());
        let said = |answers: &[(Victim, Answer)]| foreseen(answers).map(|why| why.to_string());
        let twice = after_a_pause(&off(), off());
        let alone = said(&[(pod("vm"), twice.clone()), (pod("a"), later())]).unwrap();
        assert!(
            alone.contains("pod shop/vm does not pass: not live-migratable"),
            "{alone}"
        );
        let both = said(&[(pod("vm"), twice), (pod("web"), failing())]).unwrap();
        assert!(both.contains("pod shop/web"), "{both}");
        for first in [later(), failing(), refused()] {
            let once = after_a_pause(&first, off());
            assert_eq!(said(&[(pod("vm"), once)]), None, "{first:?}");
        }
        assert_eq!(after_a_pause(&off(), Answer::Going), Answer::Going);
        assert_eq!(after_a_pause(&off(), refused()), refused());
    }

    #[test]
    fn pod_that_the_server_fails_at_is_asked_again() {
        let (mut answers, now) = (Answers::default(), Instant::now());
        for _ in 0..3 {
            assert_eq!(answers.take([(pod("web"), failing())], now), Ok(()));
        }
        assert_eq!(answers.open(&[pod("web")], now + AGAIN), [pod("web")]);
        let said = answers.hindrance(&[pod("web")]).unwrap();
        assert_eq!(said, "pod shop/web: two budgets (500)");
    }

    #[test]
    fn what_is_left_says_why_in_the_servers_words() {
        let answers = [(pod("web"), refused()), (pod("db"), Answer::Going)];
        assert_eq!(still_there(&answers), "shop/db, shop/web (forbidden)");
    }

    #[test]
    fn of_many_pods_that_are_left_the_first_are_named() {
        let many = (100..148).map(|number| (pod(&number.to_string()), Answer::Going));
        let said = still_there(&many.collect::<Vec<_>>());
        assert!(said.starts_with("shop/100, shop/101, "), "{said}");
        assert!(said.ends_with(" and 38 more"), "{said}");
    }
}
