//! Carries out one decision on a pool.

use std::collections::HashSet;

use infrastructure::{Member, PoolAct, PoolShown};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::super::inventory::key;
use super::super::wire;
use super::super::work::Provision;
use super::known::{Read, Wanted};
use super::label::pool_label;
use crate::kinds::{CareenMachine, CareenMachinePool};
use crate::machines::Key;
use crate::names;
use crate::writes::{WriteError, provision as write};

impl Provision {
    pub(super) async fn perform_for_pool(
        &self,
        read: &Read,
        members: &[(Member, Option<Wanted>)],
        act: PoolAct,
    ) -> Result<(), WriteError> {
        let (client, pool) = (&self.client, &read.object);
        match act {
            PoolAct::AddFinalizer => write::finalizer(client, pool, true).await,
            PoolAct::RemoveFinalizer => write::finalizer(client, pool, false).await,
            PoolAct::Create(count) => {
                let made = self.create(read, count).await;
                self.starts.after(&key(pool), made.is_ok());
                made
            }
            PoolAct::Mark(name) => {
                let first = json!({ names::DELETE_MACHINE: names::MANAGER });
                write::annotate_machine(client, machine(read, &name)?, first).await
            }
            PoolAct::Unmark(name) => {
                let none = json!({ names::DELETE_MACHINE: null });
                write::annotate_machine(client, machine(read, &name)?, none).await
            }
            PoolAct::DeleteMachine(name) => {
                write::delete_machine(client, machine(read, &name)?).await
            }
            PoolAct::DeleteMember(name) => write::delete(client, ours(read, &name)?).await,
            PoolAct::SetImage(name) => {
                let image = &pool.spec.request.template.os_image;
                let change = json!({ "spec": { "osImage": image } });
                write::change(client, ours(read, &name)?, change).await
            }
            PoolAct::Upgrade(name) => {
                let wanted = members.iter().find(|(one, _)| one.name == name);
                let wanted = wanted.and_then(|(_, wanted)| wanted.as_ref());
                self.upgrade(read, &name, wanted).await
            }
            PoolAct::ListIds(ids) => {
                let change = json!({ "spec": { "providerIDList": ids } });
                write::change(client, pool, change).await
            }
            PoolAct::Show(shown) => write::change_status(client, pool, status(&shown)).await,
        }
    }

    /// Two leaders that read the same members make the same names, so a member is made once. The
    /// first refusal ends it.
    async fn create(&self, read: &Read, count: usize) -> Result<(), WriteError> {
        let Some(owner) = &read.owner else {
            return Err(WriteError::Missing);
        };
        let space = read.object.namespace().unwrap_or_default();
        for name in free_names(read, count) {
            let object = made(read, owner, &name);
            let object: CareenMachine = serde_json::from_value(object)
                .map_err(|error| WriteError::Refused(error.to_string()))?;
            write::make(&self.client, &space, &object).await?;
        }
        Ok(())
    }

    /// Orders an upgrade: the annotation flow does the rest. It reads the image in the CareenMachine,
    /// so the annotation is the last write.
    async fn upgrade(
        &self,
        read: &Read,
        name: &str,
        wanted: Option<&Wanted>,
    ) -> Result<(), WriteError> {
        let Some(Wanted {
            version,
            image: Ok(image),
        }) = wanted
        else {
            return Err(WriteError::Conflict);
        };
        let object = ours(read, name)?;
        let change = json!({ "spec": { "osImage": image } });
        let object = write::changed(&self.client, object, change).await?;
        write::change_status(&self.client, &object, json!({ "version": null })).await?;
        let machine = machine(read, name)?;
        let order = json!({ names::ASK: "", names::POOL_VERSION: version });
        write::annotate_machine(&self.client, machine, order).await?;
        tracing::info!(machine = name, %image, version, "upgraded in place by its pool");
        let space = read.object.namespace().unwrap_or_default();
        self.world.queue.add(Key::new(space, name));
        Ok(())
    }
}

fn machine<'a>(read: &'a Read, name: &str) -> Result<&'a wire::Machine, WriteError> {
    let mut all = read.machines.iter();
    all.find(|one| one.name_any() == name)
        .ok_or(WriteError::Missing)
}

fn ours<'a>(read: &'a Read, name: &str) -> Result<&'a CareenMachine, WriteError> {
    let mut all = read.ours.iter();
    all.find(|one| one.name_any() == name)
        .ok_or(WriteError::Missing)
}

/// The first numbers that neither a member nor a Machine has.
fn free_names(read: &Read, count: usize) -> Vec<String> {
    let taken = read.ours.iter().map(ResourceExt::name_any);
    let machines = read.machines.iter().map(ResourceExt::name_any);
    let taken: HashSet<String> = taken.chain(machines).collect();
    let pool = read.object.name_any();
    let names = (0..).map(|number: usize| format!("{pool}-{number}"));
    names
        .filter(|name| !taken.contains(name))
        .take(count)
        .collect()
}

/// A member as the contract wants it: the Machine that core makes for it becomes its controller.
fn made(read: &Read, owner: &wire::MachinePool, name: &str) -> Value {
    let pool = &read.object;
    json!({
        "apiVersion": CareenMachine::api_version(&()), "kind": CareenMachine::kind(&()),
        "metadata": {
            "name": name,
            "namespace": pool.namespace(),
            "labels": {
                names::CLUSTER_LABEL: owner.spec.cluster_name,
                names::POOL_LABEL: pool_label(&owner.name_any()),
            },
            "ownerReferences": [{
                "apiVersion": CareenMachinePool::api_version(&()),
                "kind": CareenMachinePool::kind(&()),
                "name": pool.name_any(),
                "uid": pool.uid(),
            }],
        },
        "spec": pool.spec.request.template,
    })
}

fn status(shown: &PoolShown) -> Value {
    let mut status = json!({
        "ready": shown.ready,
        "replicas": shown.replicas,
        "upToDateReplicas": shown.up_to_date,
        "infrastructureMachineKind": CareenMachine::kind(&()),
    });
    if shown.ready {
        status["initialization"] = json!({ "provisioned": true });
    }
    status
}
