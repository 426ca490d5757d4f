//! The requester's side: setting annotations on the Node and waiting for the answer.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Map, Value, json};
use upgrade::names;
use upgrade::report::{Answer, Status};

use super::Rig;
use crate::images::Commit;
use crate::node::View;
use crate::patience::within;

/// The phases in order, as the status spells them.
const PHASES: [&str; 10] = [
    "Accepted", "Fetched", "Verified", "Deployed", "Drained", "Armed", "Trial", "Healthy",
    "Blessed", "Upgraded",
];

impl Rig {
    /// Sets annotations on the Node; `None` removes one.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn annotate(&self, annotations: &[(&str, Option<&str>)]) -> Result<()> {
        let values: Map<String, Value> = annotations
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        self.patch(json!({"metadata": {"annotations": values}}))
            .await
    }

    /// Changes the Node as an administrator would.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn patch(&self, patch: Value) -> Result<()> {
        let api: Api<Node> = Api::all(self.plane.client().await?);
        api.patch(&self.name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    /// Requests an upgrade to an image.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn ask(&mut self, image: &Commit) -> Result<()> {
        self.ask_raw(&image.pinned()).await
    }

    /// Requests an upgrade with any text as the image.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn ask_raw(&mut self, image: &str) -> Result<()> {
        self.expect_a_new_answer();
        self.progress.step(&format!("asking for {image}"));
        self.annotate(&[
            (names::IMAGE, Some(image)),
            (names::REQUEST, Some(names::REQUEST_SCHEDULED)),
        ])
        .await
    }

    /// Marks the Node's current status as the answer to an earlier request.
    pub fn expect_a_new_answer(&mut self) {
        self.answered = self.node.now().status;
    }

    /// Whether this view answers the last request.
    #[must_use]
    pub fn is_new_answer(&self, view: &View) -> bool {
        !says_the_same(view.status.as_ref(), self.answered.as_ref())
    }

    /// Withdraws the request.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn withdraw(&self) -> Result<()> {
        self.progress.step("withdrawing");
        self.annotate(&[(names::REQUEST, None)]).await
    }

    /// Waits until the upgrade has reached `phase` or a later one.
    ///
    /// # Errors
    ///
    /// Fails when the upgrade does not reach the phase in time, or ends in another way.
    pub async fn wait_phase(&mut self, phase: &str, limit: Duration) -> Result<View> {
        let wanted = PHASES.iter().position(|known| *known == phase);
        ensure!(wanted.is_some(), "no phase is called {phase:?}");
        let answered = self.answered.clone();
        let ended = |view: &View| {
            let failed = view.answer.as_deref() == Some(Answer::Failed.as_str());
            failed && !is_replaced(view, answered.as_ref())
        };
        let there = |view: &View| PHASES.iter().position(|known| *known == view.phase()) >= wanted;
        let fresh = |view: &View| !says_the_same(view.status.as_ref(), answered.as_ref());
        let what = format!("phase {phase}");
        let view = self
            .node
            .wait(&what, limit, |view| {
                fresh(view) && (there(view) || ended(view))
            })
            .await?;
        if !there(&view) {
            bail!(
                "the upgrade ended before {what}: {}",
                view.reason.unwrap_or_default()
            );
        }
        self.progress.step(&format!("reached {}", view.phase()));
        Ok(view)
    }

    /// Waits for an answer other than `InProgress`, shows the phases on the way, and accepts only
    /// `wanted`.
    ///
    /// # Errors
    ///
    /// Fails when the answer is a different one or does not come in time.
    pub async fn wait_answer(&mut self, wanted: Answer, limit: Duration) -> Result<View> {
        match within(limit, self.answer(wanted)).await {
            Some(view) => view,
            None => bail!(
                "no answer within {limit:?}; the Node is {:#?}",
                self.node.now()
            ),
        }
    }

    async fn answer(&mut self, wanted: Answer) -> Result<View> {
        let mut phase = String::new();
        loop {
            let view = self.node.now();
            if view.phase() != phase {
                phase = view.phase().to_owned();
                self.progress.step(&format!("phase {phase}"));
            }
            let is_ours = self.is_new_answer(&view) && !is_replaced(&view, self.answered.as_ref());
            match view.answer.as_deref().filter(|_| is_ours) {
                Some(answer) if answer == wanted.as_str() => return Ok(view),
                None | Some("InProgress") => {}
                Some(other) => bail!(
                    "the answer is {other}: {}; the Node is {view:#?}",
                    view.reason.as_deref().unwrap_or_default()
                ),
            }
            self.node.changed(Duration::from_secs(5)).await;
        }
    }
}

/// Whether both statuses say the same of a request. A later note about what a person typed is no
/// answer.
fn says_the_same(now: Option<&Status>, before: Option<&Status>) -> bool {
    let without_notes = |status: &Status| Status {
        unknown_keys: Vec::new(),
        ..status.clone()
    };
    now.map(without_notes) == before.map(without_notes)
}

/// Whether the view has the end of the request that a later one has replaced. `before` is the
/// status at the time of the later one.
fn is_replaced(view: &View, before: Option<&Status>) -> bool {
    let (Some(now), Some(before)) = (&view.status, before) else {
        return false;
    };
    let is_withdrawn = now.code.as_deref() == Some("Withdrawn");
    is_withdrawn && now.id.is_some() && now.id == before.id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(id: &str, code: Option<&str>) -> Status {
        Status {
            id: id.parse().ok(),
            code: code.map(str::to_owned),
            ..Status::default()
        }
    }

    #[test]
    fn a_note_on_an_old_answer_is_no_new_answer() {
        let before = status("r1", Some("BadRequest"));
        let noted = Status {
            unknown_keys: vec!["careen.dev/image without a request".to_owned()],
            ..before.clone()
        };
        assert!(says_the_same(Some(&noted), Some(&before)));
        assert!(!says_the_same(Some(&status("r2", None)), Some(&before)));
        assert!(!says_the_same(Some(&before), None));
    }

    #[test]
    fn end_of_a_replaced_request_is_not_that_of_its_successor() {
        let before = status("r1", None);
        let view = |id, code| View {
            status: Some(status(id, code)),
            ..View::default()
        };
        assert!(is_replaced(&view("r1", Some("Withdrawn")), Some(&before)));
        assert!(!is_replaced(&view("r2", Some("Withdrawn")), Some(&before)));
        assert!(!is_replaced(&view("r1", Some("Unhealthy")), Some(&before)));
        assert!(!is_replaced(&view("r1", Some("Withdrawn")), None));
    }
}
