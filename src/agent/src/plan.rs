//! Answers the question for a plan, beside the loop. What to do about it the brain says, at every turn anew; an upgrade that begins
//! meanwhile ends the looking.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tracing::{debug, info};
use upgrade::decide::RecordRead;
use upgrade::plan::{self, Case, Found, Look, Plan, Pods, Turn};
use upgrade::{Observation, PolicyRead, Reason, names};

use crate::cluster::seen::NodeSeen;
use crate::cluster::{ApiError, Cluster, limited};
use crate::drain;
use crate::hands::{Ahead, Hands};
use crate::work::Tools;

/// Pause before an answer that could not be written is written again.
const RETRY: Duration = Duration::from_secs(2);

/// What the loop knows.
pub struct Asked<'a> {
    /// Our Node.
    pub node: Option<&'a NodeSeen>,
    /// The record.
    pub read: &'a RecordRead,
    /// The policy.
    pub policy: &'a PolicyRead,
    /// The observation of this turn, with the step that it has begun.
    pub seen: &'a Observation,
}

/// The question that is at hand.
#[derive(Default)]
pub struct Planner {
    looking: Option<Looking>,
    answer: Option<Plan>,
    /// What was written last, as the Node will soon show it.
    told: Option<Value>,
    telling: Option<JoinHandle<Option<Value>>>,
}

/// An image that is being looked at.
struct Looking {
    asked: String,
    look: Look,
    cancel: watch::Sender<bool>,
    task: JoinHandle<Seen>,
    seen: Option<Seen>,
}

type Seen = Result<(Found, Pods), Reason>;

impl Planner {
    /// Takes the next step towards an answer, and leaves it on the Node when it is there.
    pub fn follow<H: Hands>(&mut self, tools: &Tools<H>, asked: &Asked<'_>) {
        let Some(node) = asked.node else { return };
        match &node.question {
            None => {
                self.give_up();
                self.answer = None;
            }
            Some(question) if self.is_answered(question, node) => {}
            Some(question) => self.serve(tools, asked, node, question),
        }
        self.tell(tools, node, asked.seen);
    }

    /// By us, or by the agent that ran here before us.
    fn is_answered(&self, question: &str, node: &NodeSeen) -> bool {
        let there = || serde_json::from_str::<Plan>(node.plan.as_deref()?).ok();
        let answers = |plan: &Plan| plan::answers(plan, question);
        self.answer.as_ref().is_some_and(answers) || there().as_ref().is_some_and(answers)
    }

    fn serve<H: Hands>(
        &mut self,
        tools: &Tools<H>,
        asked: &Asked<'_>,
        node: &NodeSeen,
        question: &str,
    ) {
        match plan::turn(question, asked.read, asked.seen, asked.policy) {
            Turn::Answer(plan) => {
                self.give_up();
                self.answer = Some(*plan);
            }
            Turn::Look(look) => {
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

    /// The task is let go only when it has ended: two would be at the same unit.
    fn give_up(&mut self) {
        match &self.looking {
            Some(looking) if looking.seen.is_some() => self.looking = None,
            Some(looking) => {
                looking.cancel.send_replace(true);
            }
            None => {}
        }
    }

    /// Leaves the looking where it is, as the end of the agent does.
    pub fn abandon(&mut self) {
        let looking = self.looking.take();
        looking.iter().for_each(|looking| looking.task.abort());
    }

    fn conclude(&mut self, asked: &Asked<'_>) {
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
            Ok((found, pods)) => plan::answer(&case, found, pods),
            Err(reason) => plan::refusal(case.asked, case.seen.wall, &reason),
        });
    }

    fn tell<H>(&mut self, tools: &Tools<H>, node: &NodeSeen, seen: &Observation) {
        let reached = matches!(seen.api, upgrade::Api::Reached { .. });
        let Some(wanted) = self.wanted(node).filter(|_| reached) else {
            return;
        };
        let there = json!(node.plan);
        if wanted != there && self.told.as_ref() != Some(&wanted) && self.telling.is_none() {
            let (cluster, node) = (Arc::clone(&tools.cluster), node.name.clone());
            self.telling = Some(tokio::spawn(write(cluster, node, wanted)));
        }
    }

    /// What is to stand on the Node; nothing where that is not known yet.
    fn wanted(&self, node: &NodeSeen) -> Option<Value> {
        let Some(question) = &node.question else {
            return Some(Value::Null);
        };
        let plan = self.answer.as_ref();
        let plan = plan.filter(|plan| plan::answers(plan, question))?;
        serde_json::to_string(plan).ok().map(Value::String)
    }

    /// Waits until the image was looked at or the Node was told.
    pub async fn news(&mut self) {
        let Self {
            looking,
            telling,
            told,
            ..
        } = self;
        tokio::select! {
            () = looked(looking) => {}
            () = written(telling, told) => {}
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

async fn written(telling: &mut Option<JoinHandle<Option<Value>>>, told: &mut Option<Value>) {
    match telling {
        Some(task) => {
            *told = task.await.ok().flatten();
            *telling = None;
        }
        None => std::future::pending().await,
    }
}

impl Looking {
    fn begin<H: Hands>(tools: &Tools<H>, asked: &Asked<'_>, node: &NodeSeen, look: Look) -> Self {
        let (cancel, cancelled) = watch::channel(false);
        let ahead = Ahead {
            look: look.clone(),
            policy: Arc::new(asked.policy.clone().unwrap_or_default()),
            cancel: cancelled,
        };
        info!(node = node.name, "looking for a plan at {}", look.target);
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

async fn look_ahead<H: Hands>(tools: Tools<H>, ahead: Ahead, node: String) -> Seen {
    let skips_drain = ahead.policy.drain.skip;
    let found = tools.hands.look_ahead(ahead).await?;
    if skips_drain {
        return Ok((found, Pods::default()));
    }
    let pods = drain::preview(&tools.cluster, &node).await;
    Ok((found, pods.map_err(ApiError::into_reason)?))
}

/// Returns what was written, when it was.
async fn write(cluster: Arc<Cluster>, node: String, plan: Value) -> Option<Value> {
    let body = json!({ "metadata": { "annotations": { names::PLAN_RESULT: plan } } });
    let patched = async {
        let nodes = cluster.nodes().await?;
        limited(nodes.patch(&node, &PatchParams::default(), &Patch::Merge(&body))).await
    };
    match patched.await {
        Ok(_) => Some(plan),
        Err(error) => {
            debug!("the plan could not be written yet: {error}");
            tokio::time::sleep(RETRY).await;
            None
        }
    }
}
