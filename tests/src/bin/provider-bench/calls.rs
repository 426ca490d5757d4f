//! The bodies of core's calls, in the format of v1.14.

use careen_tests::fleet::images::FIRST;
use provider::hooks::{API_VERSION, Hook};
use provider::names;
use serde_json::{Value, json};

use crate::machines::{self, SPACE};

/// UpdateMachine for a Machine.
pub fn update(number: usize) -> Value {
    let config = bootstrap(number, "KubeadmConfig", join());
    update_to(
        &machines::machine(number),
        &machines::infra_machine(number),
        &config,
    )
}

/// UpdateMachine for these three objects in their desired state.
pub fn update_to(machine: &Value, infra: &Value, bootstrap: &Value) -> Value {
    let desired = json!({
        "machine": machine, "infrastructureMachine": infra, "bootstrapConfig": bootstrap,
    });
    request(Hook::UpdateMachine, json!({ "desired": desired }))
}

/// CanUpdateMachine for a Machine with a version change, as if it belonged to a control plane.
pub fn can_update_machine(number: usize) -> Value {
    let side = |old: bool| {
        let mut machine = machines::machine(number);
        machine["metadata"]["labels"][names::CONTROL_PLANE_LABEL] = json!("");
        if old {
            machine["spec"]["version"] = json!(FIRST.version);
        }
        json!({
            "machine": machine,
            "infrastructureMachine": machines::infra_machine(number),
            "bootstrapConfig": bootstrap(number, "KubeadmConfig", join()),
        })
    };
    let both = json!({ "current": side(true), "desired": side(false) });
    request(Hook::CanUpdateMachine, both)
}

/// CanUpdateMachineSet for the MachineDeployment of a Machine, with a version change in its
/// template.
pub fn can_update_machine_set(number: usize) -> Value {
    let side = |old: bool| {
        let mut template = json!({ "metadata": { "labels": machines::labels(number) } });
        template["spec"] = machines::machine(number)["spec"].clone();
        if old {
            template["spec"]["version"] = json!(FIRST.version);
        }
        let config = json!({ "template": { "spec": join() } });
        json!({
            "machineSet": {
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
                "metadata": { "name": "new-at-each-try", "namespace": SPACE, "labels": machines::labels(number) },
                "spec": { "clusterName": SPACE, "replicas": 0, "template": template },
            },
            "bootstrapConfigTemplate": bootstrap(number, "KubeadmConfigTemplate", config),
        })
    };
    let both = json!({ "current": side(true), "desired": side(false) });
    request(Hook::CanUpdateMachineSet, both)
}

/// Discovery, which reads nothing: the minimum cost of a call.
pub fn discovery() -> Value {
    request(Hook::Discovery, json!({}))
}

fn request(hook: Hook, mut body: Value) -> Value {
    body["apiVersion"] = json!(API_VERSION);
    body["kind"] = json!(format!("{}Request", hook.name()));
    body["settings"] = json!({});
    body
}

fn bootstrap(number: usize, kind: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": kind,
        "metadata": { "name": machines::name(number), "namespace": SPACE, "labels": machines::labels(number) },
        "spec": spec,
    })
}

fn join() -> Value {
    let token = json!({ "apiServerEndpoint": "127.0.0.1:6443", "token": "abcdef.0123456789abcdef", "caCertHashes": ["sha256:00"] });
    let registration = json!({ "criSocket": "unix:///var/run/containerd/containerd.sock" });
    json!({ "joinConfiguration": { "discovery": { "bootstrapToken": token }, "nodeRegistration": registration } })
}
