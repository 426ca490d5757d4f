//! Answers a request for a plan, concurrently with the loop. The crate `upgrade` decides at every
//! turn what to do about it. An upgrade that begins meanwhile ends the look at the image.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info};
use upgrade::decide::RecordRead;
use upgrade::plan::{self, Case, Found, Look, Plan, Rehearsed, Response};
use upgrade::{Observation, PolicyRead, Reason, names};

use crate::access::{Ahead, NodeAccess};
use crate::cluster::seen::NodeSeen;
use crate::cluster::{Cluster, admitted, refused};
use crate::drain::{self, LIST_PODS};
use crate::kubelet;
use crate::step::Tools;

/// Pause before the agent retries to write an answer.
const RETRY: Duration = Duration::from_secs(2);

/// How long after an accepted write the Node may still be seen without it. The watch delivers it
/// within a second. After this time, an etcd restored from a backup, or a person, has removed it.
const LOST: Duration = Duration::from_secs(30);

/// What the loop knows.
pub struct PlanInput<'a> {
    /// The Node.
    pub node: Option<&'a NodeSeen>,
    /// The listing of the server that the Node was seen after.
    pub listing: u64,
    /// The record.
    pub read: &'a RecordRead,
    /// The policy.
    pub policy: &'a PolicyRead,
    /// The observation of this turn, with the step that has begun.
    pub seen: &'a Observation,
}

/// The current request for a plan.
#[derive(Default)]
pub struct Planner {
    looking: Option<Looking>,
    answer: Option<Plan>,
    told: Option<WrittenPlan>,
    telling: Option<JoinHandle<Option<WrittenPlan>>>,
    /// When the agent writes to the Node again, if the Node does not show the answer by then.
    again: Option<Instant>,
}

/// What was written last, as the Node will soon show it, and when. A server that became unreachable
/// since may return in an earlier state, restored from a backup.
struct WrittenPlan {
    plan: Value,
    listing: u64,
    at: Instant,
}

/// A look at an image that is under way.
struct Looking {
    asked: String,
    look: Look,
    cancel: watch::Sender<bool>,
    task: JoinHandle<LookResult>,
    seen: Option<LookResult>,
}

type LookResult = Result<(Found, Rehearsed), Reason>;

impl Planner {
    /// Takes the next step towards an answer, and writes the answer to the Node when it is ready.
    pub fn follow<H: NodeAccess>(&mut self, tools: &Tools<H>, asked: &PlanInput<'_>) {
        let Some(node) = asked.node else { return };
        match &node.question {
            None => {
                self.give_up();
                self.answer = None;
            }
            Some(question) if self.is_answered(question, node) => {}
            Some(question) => self.serve(tools, asked, node, question),
        }
        self.tell(tools, node, asked);
    }

    /// Whether this agent or the one before it answered.
    fn is_answered(&self, question: &str, node: &NodeSeen) -> bool {
        let there = || serde_json::from_str::<Plan>(node.plan.as_deref()?).ok();
        let answers = |plan: &Plan| plan::answers(plan, question);
        self.answer.as_ref().is_some_and(answers) || there().as_ref().is_some_and(answers)
    }

    fn serve<H: NodeAccess>(
        &mut self,
        tools: &Tools<H>,
        asked: &PlanInput<'_>,
        node: &NodeSeen,
        question: &str,
    ) {
        match plan::respond(question, asked.read, asked.seen, asked.policy) {
            Response::Answer(plan) => {
                self.give_up();
                self.answer = Some(*plan);
            }
            Response::Look(look) => {
                let is_at_it = |looking: &Looking| looking.is_at(question, &look);
                if self.looking.as_ref().is_some_and(is_at_it) {
                    return self.conclude(asked);
                }
                self.give_up();
                if self.looking.is_none() {
                    self.looking = Some(Looking::begin(tools, asked, node, look));
                }
            }
        }
    }

    /// Drops the task only after it has ended: two tasks would use the same unit.
    fn give_up(&mut self) {
        match &self.looking {
            Some(looking) if looking.seen.is_some() => self.looking = None,
            Some(looking) => {
                looking.cancel.send_replace(true);
            }
            None => {}
        }
    }

    /// Leaves the look where it is, as the end of the agent does.
    pub fn abandon(&mut self) {
        let looking = self.looking.take();
        looking.iter().for_each(|looking| looking.task.abort());
    }

    fn conclude(&mut self, asked: &PlanInput<'_>) {
        let Some(looking) = self.looking.take_if(|looking| looking.seen.is_some()) else {
            return;
        };
        let (Some(seen), Ok(record), Ok(policy)) = (looking.seen, asked.read, asked.policy) else {
            return;
        };
        let case = Case {
            asked: &looking.asked,
            look: &looking.look,
            record,
            seen: asked.seen,
            policy,
        };
        self.answer = Some(match seen {
            Ok((found, rehearsed)) => plan::answer(&case, found, rehearsed),
            Err(reason) => plan::refusal(case.asked, case.seen.turn.wall, &reason),
        });
    }

    fn tell<H>(&mut self, tools: &Tools<H>, node: &NodeSeen, asked: &PlanInput<'_>) {
        self.again = None;
        let reached = matches!(asked.seen.node.api, upgrade::Api::Reached { .. });
        let idle = reached && self.telling.is_none();
        let Some(wanted) = self.wanted(node).filter(|_| idle) else {
            return;
        };
        match self.due(&wanted, node, asked.listing) {
            None => {}
            Some(at) if at > Instant::now() => self.again = Some(at),
            Some(_) => {
                let (cluster, node) = (Arc::clone(&tools.cluster), node.name.clone());
                self.telling = Some(tokio::spawn(write(cluster, node, wanted, asked.listing)));
            }
        }
    }

    /// When to write this, or `None` if the Node shows it.
    fn due(&self, wanted: &Value, node: &NodeSeen, listing: u64) -> Option<Instant> {
        if *wanted == json!(node.plan) {
            return None;
        }
        let told = self.told.as_ref();
        let told = told.filter(|told| told.plan == *wanted && told.listing == listing);
        Some(told.map_or_else(Instant::now, |told| told.at + LOST))
    }

    /// What the Node must show, or `None` if that is not known yet.
    fn wanted(&self, node: &NodeSeen) -> Option<Value> {
        let Some(question) = &node.question else {
            return Some(Value::Null);
        };
        let plan = self.answer.as_ref();
        let plan = plan.filter(|plan| plan::answers(plan, question))?;
        serde_json::to_string(plan).ok().map(Value::String)
    }

    /// Waits until the look at the image ends, the Node is written, or a retry is due.
    pub async fn news(&mut self) {
        let Self {
            looking,
            telling,
            told,
            again,
            ..
        } = self;
        tokio::select! {
            () = looked(looking) => {}
            () = written(telling, told) => {}
            () = lost(*again) => {}
        }
    }
}

async fn looked(looking: &mut Option<Looking>) {
    match looking {
        Some(looking) if looking.seen.is_none() => {
            let died = |error: JoinError| {
                Err(Reason::DeployDied {
                    verb: "plan".to_owned(),
                    detail: error.to_string(),
                })
            };
            looking.seen = Some((&mut looking.task).await.unwrap_or_else(died));
        }
        Some(_) | None => std::future::pending().await,
    }
}

async fn written(
    telling: &mut Option<JoinHandle<Option<WrittenPlan>>>,
    told: &mut Option<WrittenPlan>,
) {
    match telling {
        Some(task) => {
            *told = task.await.ok().flatten();
            *telling = None;
        }
        None => std::future::pending().await,
    }
}

async fn lost(again: Option<Instant>) {
    match again {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

impl Looking {
    fn begin<H: NodeAccess>(
        tools: &Tools<H>,
        asked: &PlanInput<'_>,
        node: &NodeSeen,
        look: Look,
    ) -> Self {
        let (cancel, cancelled) = watch::channel(false);
        let ahead = Ahead {
            look: look.clone(),
            policy: Arc::new(asked.policy.clone().unwrap_or_default()),
            cancel: cancelled,
        };
        info!(node = node.name, "planning {}", look.target);
        Self {
            asked: node.question.clone().unwrap_or_default(),
            look,
            cancel,
            task: tokio::spawn(look_ahead(tools.clone(), ahead, node.name.clone())),
            seen: None,
        }
    }
}

impl Looking {
    fn is_at(&self, question: &str, look: &Look) -> bool {
        self.asked == question && self.look == *look && !*self.cancel.borrow()
    }
}

async fn look_ahead<H: NodeAccess>(tools: Tools<H>, ahead: Ahead, node: String) -> LookResult {
    let skips_drain = ahead.policy.drain.skip;
    let all = ahead.policy.clone();
    let (policy, drains) = (&all.kubeadm, &all.drain);
    let found = tools.node.look_ahead(ahead).await?;
    let mut rehearsed = if skips_drain {
        Rehearsed::default()
    } else {
        let pods = drain::preview(&tools.cluster, &node, drains).await;
        pods.map_err(|error| error.into_reason(refused(LIST_PODS)))?
    };
    if let Some(root) = tools.node.root() {
        let carried = found.facts.info.as_ref().map(|info| &info.kubernetes);
        let forecast = kubelet::forecast(root, &tools.cluster, policy, carried).await?;
        rehearsed.settings = forecast.told();
        rehearsed.refusal = forecast.refusal;
    }
    let carried = found.facts.info.as_ref().map(|info| &info.kubernetes);
    if let Some(survey) = tools.node.survey(carried, &all).await? {
        rehearsed.take_survey(&survey, &all.control_plane);
    }
    Ok((found, rehearsed))
}

/// Returns what was written, if the write succeeded.
async fn write(
    cluster: Arc<Cluster>,
    node: String,
    plan: Value,
    listing: u64,
) -> Option<WrittenPlan> {
    let body = json!({ "metadata": { "annotations": { names::PLAN_RESULT: plan } } });
    let patched = async {
        let nodes = cluster.nodes().await?;
        admitted(nodes.patch(&node, &PatchParams::default(), &Patch::Merge(&body))).await
    };
    match patched.await {
        Ok(_) => {
            let at = Instant::now();
            Some(WrittenPlan { plan, listing, at })
        }
        Err(error) => {
            debug!("cannot write the plan yet: {error}");
            tokio::time::sleep(RETRY).await;
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::Node;

    /// An agent that has just written this, after it found the server for the second time.
    fn having_told(plan: &Value) -> Planner {
        let told = WrittenPlan {
            plan: plan.clone(),
            listing: 2,
            at: Instant::now(),
        };
        Planner {
            told: Some(told),
            ..Planner::default()
        }
    }

    fn showing(plan: Option<&str>) -> NodeSeen {
        let annotations = plan.map(|plan| json!({ names::PLAN_RESULT: plan }));
        let node = json!({ "metadata": { "name": "n1", "annotations": annotations } });
        let node: Node = serde_json::from_value(node).unwrap();
        node.into()
    }

    #[tokio::test(start_paused = true)]
    async fn lost_plan_answer_is_due_again_and_a_shown_one_is_not() {
        let (answer, now) = (json!("the answer"), Instant::now());
        let planner = having_told(&answer);
        let due = |shown: Option<&str>| planner.due(&answer, &showing(shown), 2);
        assert_eq!(due(Some("the answer")), None);
        assert_eq!(due(None), Some(now + LOST), "the watch may be behind");
        assert_eq!(due(Some("an older one")), Some(now + LOST));
    }

    #[tokio::test(start_paused = true)]
    async fn plan_answer_unknown_to_a_returned_server_is_due_at_once() {
        let (answer, now) = (json!("the answer"), Instant::now());
        let planner = having_told(&answer);
        assert_eq!(planner.due(&answer, &showing(None), 3), Some(now));
        let other = json!("another answer");
        assert_eq!(planner.due(&other, &showing(None), 2), Some(now));
    }

    #[tokio::test(start_paused = true)]
    async fn planner_wakes_the_loop_when_a_lost_answer_is_due_again() {
        let at = Instant::now() + LOST;
        let mut planner = Planner {
            again: Some(at),
            ..Planner::default()
        };
        planner.news().await;
        assert_eq!(Instant::now(), at);
    }
}
