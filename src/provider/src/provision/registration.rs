//! One look at a HostRegistration: read, decide, write, until nothing is due.

use infrastructure::{Counts, Host, RegistrationAct, RegistrationFacts, decide_registration};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::Api;
use serde_json::json;

use super::facts::has_finalizer;
use super::work::Provision;
use crate::kinds::HostRegistration;
use crate::kinds::policies::REGISTRATIONS;
use crate::machines::Key;
use crate::writes::{WriteError, provision as write};

/// How many writes one look makes.
const WRITES: usize = 4;

/// The name of the ServiceAccount of a registration.
#[must_use]
pub fn account(namespace: &str, name: &str) -> String {
    format!("{namespace}.{name}")
}

impl Provision {
    /// Looks at one registration.
    pub(super) async fn look_at_registration(&self, key: &Key) -> Result<Option<u64>, WriteError> {
        for _ in 0..WRITES {
            let Some(object) = self.read(&key.namespace, &key.name).await? else {
                return Ok(None);
            };
            let facts = self.facts_of(key, &object).await?;
            let Some(act) = decide_registration(&facts) else {
                return Ok(None);
            };
            tracing::debug!(registration = %key, "{act:?}");
            self.perform_for_registration(key, &object, act).await?;
        }
        Ok(Some(1))
    }

    async fn facts_of(
        &self,
        key: &Key,
        object: &HostRegistration,
    ) -> Result<RegistrationFacts, WriteError> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), REGISTRATIONS);
        let name = account(&key.namespace, &key.name);
        let status = object.status.clone().unwrap_or_default();
        let number = |shown: i32| usize::try_from(shown).unwrap_or(0);
        Ok(RegistrationFacts {
            deleting: object.metadata.deletion_timestamp.is_some(),
            finalizer: has_finalizer(&object.metadata),
            account: write::read(&accounts, &name).await?.is_some(),
            shown: Counts {
                registered: number(status.registered),
                approved: number(status.approved),
            },
            counted: self.counted(key),
        })
    }

    fn counted(&self, key: &Key) -> Counts {
        self.inventory.look(&key.namespace, |hosts| {
            let theirs = |host: &&&Host| host.registration == *key.name;
            let registered = hosts.iter().filter(theirs);
            let approved = registered.clone().filter(|host| host.approved);
            Counts {
                registered: registered.count(),
                approved: approved.count(),
            }
        })
    }

    async fn perform_for_registration(
        &self,
        key: &Key,
        object: &HostRegistration,
        act: RegistrationAct,
    ) -> Result<(), WriteError> {
        let (client, name) = (&self.client, account(&key.namespace, &key.name));
        match act {
            RegistrationAct::AddFinalizer | RegistrationAct::RemoveFinalizer => {
                write::finalizer(client, object, act == RegistrationAct::AddFinalizer).await
            }
            RegistrationAct::MakeAccount => {
                let object = json!({
                    "apiVersion": "v1", "kind": "ServiceAccount",
                    "metadata": { "name": name, "namespace": REGISTRATIONS },
                });
                write::apply::<ServiceAccount>(client, REGISTRATIONS, &name, &object).await
            }
            RegistrationAct::RemoveAccount => {
                write::remove::<ServiceAccount>(client, REGISTRATIONS, &name).await
            }
            RegistrationAct::Show(counts) => {
                let status =
                    json!({ "registered": counts.registered, "approved": counts.approved });
                write::change_status(client, object, status).await
            }
        }
    }
}
