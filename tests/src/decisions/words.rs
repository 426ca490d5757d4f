//! What each kind of object records, and who decided it.

use kube::ResourceExt;
use kube::api::DynamicObject;
use provider::names;
use serde_json::Value;

use crate::machines::Machine;

/// The party that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    Core,
    Provider,
    Agent,
}

impl Who {
    /// In the order in which they take part.
    pub const ALL: [Self; 3] = [Self::Core, Self::Provider, Self::Agent];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Provider => "careen-provider",
            Self::Agent => "agent",
        }
    }
}

/// A kind of object that records decisions.
pub struct Kind {
    pub name: &'static str,
    pub version: &'static str,
    pub in_namespace: bool,
    /// The last statement of each party on the object, empty when there is none.
    pub says: fn(&DynamicObject) -> Vec<(Who, String)>,
}

/// A reason that appears or not, depending on the order of the watches: it says that the provider
/// has not yet seen the agent's answer.
const PASSING: &str = "Unverified";

const INFRA: &str = "infrastructure.rig.careen.dev/v1alpha1";

/// A Machine.
pub static MACHINE: Kind = Kind {
    name: "Machine",
    version: "cluster.x-k8s.io/v1beta2",
    in_namespace: true,
    says: of_machine,
};

/// The rig's InfraMachine.
pub static RIG_MACHINE: Kind = Kind {
    name: "RigMachine",
    version: INFRA,
    in_namespace: true,
    says: of_infra,
};

/// The InfraMachine of Cluster API's own in-memory provider.
pub static DEV_MACHINE: Kind = Kind {
    name: "DevMachine",
    version: "infrastructure.cluster.x-k8s.io/v1beta2",
    in_namespace: true,
    says: of_infra,
};

/// A Node.
pub static NODE: Kind = Kind {
    name: "Node",
    version: "v1",
    in_namespace: false,
    says: of_node,
};

fn of_machine(object: &DynamicObject) -> Vec<(Who, String)> {
    let machine = Machine::from(object.clone());
    let version = machine.version();
    let core = if machine.awaits_update() {
        format!("begins {version}")
    } else if machine.serves(version) {
        format!("serves {version}")
    } else {
        String::new()
    };
    let marked = object.annotations().contains_key(names::MARK);
    let provider = if marked {
        "marks the Machine, keeps health checks off"
    } else {
        "takes its mark off the Machine"
    };
    vec![(Who::Core, core), (Who::Provider, provider.to_owned())]
}

fn of_infra(object: &DynamicObject) -> Vec<(Who, String)> {
    let conditions = object.data.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array);
    let ours = conditions.and_then(|all| all.iter().find(|one| one["type"] == names::CONDITION));
    let Some(ours) = ours.filter(|ours| ours["reason"] != PASSING) else {
        return Vec::new();
    };
    let word = |key: &str| ours[key].as_str().unwrap_or_default();
    let said = format!(
        "{} {} {}: {}",
        names::CONDITION,
        word("status"),
        word("reason"),
        word("message")
    );
    vec![(Who::Provider, said)]
}

fn of_node(object: &DynamicObject) -> Vec<(Who, String)> {
    use upgrade::names::{ANSWER, FAILURE_REASON, IMAGE, KUBERNETES_VERSION, REQUEST};
    let word = |key: &str| object.annotations().get(key).map_or("", String::as_str);
    let asked = if word(REQUEST).is_empty() {
        String::new()
    } else {
        format!(
            "asks the Node for {} by {}",
            word(KUBERNETES_VERSION),
            word(IMAGE)
        )
    };
    let answered = match (word(ANSWER), word(FAILURE_REASON)) {
        (answer, "") => answer.to_owned(),
        (answer, why) => format!("{answer}: {why}"),
    };
    vec![(Who::Provider, asked), (Who::Agent, answered)]
}

#[cfg(test)]
mod tests {
    use testkit::cluster_api::infrastructure::{GROUP, VERSION};

    use super::*;

    #[test]
    fn the_infra_machines_are_the_rigs() {
        assert_eq!(INFRA, format!("{GROUP}/{VERSION}"));
    }
}
