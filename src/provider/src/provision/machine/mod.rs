//! One look at a machine: read, decide, write, until nothing is due.

mod act;
mod read;
mod report;

use std::time::Instant;

use infrastructure::{Act, Braked, Decision, Facts, Why, brake, decide};
use kube::ResourceExt;

use super::work::Provision;
use super::{facts, id};
use crate::catalogue::{For, choose};
use crate::machines::Key;
use crate::metrics::Operation;
use crate::writes::WriteError;
use read::Read;

/// How many writes one look makes. A claim takes fewer. The rest is for the next look.
const WRITES: usize = 12;

impl Provision {
    /// Looks at one machine. Returns after how many seconds to look again.
    pub(super) async fn look_at_machine(&self, key: &Key) -> Result<Option<u64>, WriteError> {
        let mut parents = None;
        for _ in 0..WRITES {
            let Some(read) = self.read_machine(key, &mut parents).await? else {
                self.spans.forget_machine(key);
                return Ok(None);
            };
            let decision = self.decide_machine(&read);
            self.measure(key, &read, &decision);
            let Some(act) = &decision.act else {
                self.report_machine(&read, &decision).await?;
                return Ok(decision.again);
            };
            tracing::debug!(machine = %key, "{act:?}");
            self.perform(&read, act).await?;
            if matches!(act, Act::PutClaim(_))
                && let Some(time) = self.spans.claim_ends(key, Instant::now())
            {
                self.world.metrics.operations().took(Operation::Claim, time);
            }
        }
        Ok(Some(1))
    }

    /// A machine waits for a host from the moment it could have one.
    fn measure(&self, key: &Key, read: &Read, decision: &Decision) {
        let waits = matches!(decision.why, Why::NoHost { .. } | Why::ImageFailing { .. });
        let begins = waits || matches!(decision.act, Some(Act::SetHost(_)));
        if begins && read.machine.host.is_none() {
            self.spans.claim_begins(key, Instant::now());
        }
        if self.spans.is_new_trouble(key, &decision.why) {
            self.world.metrics.operations().trouble(&decision.why);
        }
    }

    fn decide_machine(&self, read: &Read) -> Decision {
        let space = read.machine.namespace.as_str();
        let now = self.now();
        let new_id = id::random();
        let domain = read
            .seen
            .as_ref()
            .and_then(|host| host.failure_domain.clone());
        let since = now - self.policy.image_window;
        let own = facts::tried(&read.object);
        let failures = self.inventory.failures(space, since, &own);
        self.inventory.look(space, |hosts| {
            // Only a machine that goes may give up its host.
            let brake: Option<Braked> = match read.machine.deleting {
                true => brake(hosts, domain.as_deref(), now, &self.policy),
                false => None,
            };
            decide(&Facts {
                now,
                machine: &read.machine,
                cluster: read.of.as_ref(),
                host: read.seen.as_ref(),
                hosts,
                node: &read.node,
                data: &read.data,
                held: &read.held,
                image: &|architecture| self.image(read, architecture),
                failed_with: &|image| failures.iter().filter(|(of, _)| of == image).count(),
                leads_for: self.leads_for(),
                brake: brake.as_ref(),
                new_id: &new_id,
                policy: &self.policy,
            })
        })
    }

    fn image(&self, read: &Read, architecture: Option<&str>) -> Result<String, String> {
        let named = read.object.spec.request.os_image.as_ref();
        match (&read.owner, named) {
            (_, Some(image)) => Ok(image.clone()),
            (Some(owner), None) => self.image_of(owner, &owner.spec.version, architecture),
            (None, None) => Err("it has no Machine".to_owned()),
        }
    }

    /// The image that a catalogue names for a machine of this version.
    pub(super) fn image_of(
        &self,
        machine: &impl ResourceExt,
        version: &str,
        architecture: Option<&str>,
    ) -> Result<String, String> {
        let wanted = For {
            name: &format!("Machine {}", machine.name_any()),
            version,
            labels: machine.labels(),
            architecture,
        };
        let chosen = self.world.catalogues.look(|all| choose(all, wanted));
        chosen
            .map(|image| image.to_string())
            .map_err(|why| why.to_string())
    }
}
