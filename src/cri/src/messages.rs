//! The messages of the Container Runtime Interface that this crate needs, and of them the fields
//! that it needs. Numbers are those of k8s.io/cri-api, pkg/apis/runtime/v1/api.proto (v0.36). prost
//! skips fields that are not here.

use std::collections::HashMap;

use prost::Message;

/// `StatusRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct StatusRequest {}

/// `StatusResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    pub status: Option<RuntimeStatus>,
}

/// `RuntimeStatus`.
#[derive(Clone, PartialEq, Message)]
pub struct RuntimeStatus {
    #[prost(message, repeated, tag = "1")]
    pub conditions: Vec<RuntimeCondition>,
}

/// `RuntimeCondition`.
#[derive(Clone, PartialEq, Message)]
pub struct RuntimeCondition {
    #[prost(string, tag = "1")]
    pub r#type: String,
    #[prost(bool, tag = "2")]
    pub status: bool,
    #[prost(string, tag = "3")]
    pub reason: String,
    #[prost(string, tag = "4")]
    pub message: String,
}

/// `RunPodSandboxRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct RunRequest {
    #[prost(message, optional, tag = "1")]
    pub config: Option<Config>,
}

/// `PodSandboxConfig`.
#[derive(Clone, PartialEq, Message)]
pub struct Config {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
    #[prost(string, tag = "2")]
    pub hostname: String,
    #[prost(message, optional, tag = "4")]
    pub dns: Option<Dns>,
    #[prost(map = "string, string", tag = "6")]
    pub labels: HashMap<String, String>,
    #[prost(message, optional, tag = "8")]
    pub linux: Option<Linux>,
}

/// `PodSandboxMetadata`.
#[derive(Clone, PartialEq, Message)]
pub struct Metadata {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub uid: String,
    #[prost(string, tag = "3")]
    pub namespace: String,
}

/// `DNSConfig`.
#[derive(Clone, PartialEq, Message)]
pub struct Dns {
    #[prost(string, repeated, tag = "3")]
    pub options: Vec<String>,
}

/// `LinuxPodSandboxConfig`.
#[derive(Clone, PartialEq, Message)]
pub struct Linux {
    #[prost(string, tag = "1")]
    pub cgroup_parent: String,
    #[prost(message, optional, tag = "2")]
    pub security: Option<Security>,
}

/// `LinuxSandboxSecurityContext`.
#[derive(Clone, PartialEq, Message)]
pub struct Security {
    #[prost(message, optional, tag = "1")]
    pub namespaces: Option<Namespaces>,
    #[prost(message, optional, tag = "9")]
    pub seccomp: Option<Profile>,
}

/// `NamespaceOption`.
#[derive(Clone, PartialEq, Message)]
pub struct Namespaces {
    #[prost(enumeration = "Mode", tag = "1")]
    pub network: i32,
    #[prost(enumeration = "Mode", tag = "2")]
    pub pid: i32,
}

/// `NamespaceMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Mode {
    /// One namespace for the pod.
    Pod = 0,
    /// One namespace for each container.
    Container = 1,
    /// The node's namespace.
    Node = 2,
}

/// `SecurityProfile`. Its type is `RuntimeDefault` (0), as for the kubelet's own sandboxes.
#[derive(Clone, PartialEq, Message)]
pub struct Profile {}

/// `RunPodSandboxResponse`, and the requests to stop and remove a sandbox and to see its status:
/// each has the sandbox's id as its first field.
#[derive(Clone, PartialEq, Message)]
pub struct Id {
    #[prost(string, tag = "1")]
    pub id: String,
}

/// The answers to stop and remove.
#[derive(Clone, PartialEq, Message)]
pub struct Nothing {}

/// `PodSandboxStatusResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct SandboxStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub status: Option<SandboxStatus>,
}

/// `PodSandboxStatus`.
#[derive(Clone, PartialEq, Message)]
pub struct SandboxStatus {
    #[prost(enumeration = "State", tag = "3")]
    pub state: i32,
    #[prost(message, optional, tag = "5")]
    pub network: Option<SandboxNetwork>,
}

/// `PodSandboxState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum State {
    /// It runs.
    Ready = 0,
    /// It has ended, or somebody has stopped it.
    NotReady = 1,
}

/// `PodSandboxNetworkStatus`.
#[derive(Clone, PartialEq, Message)]
pub struct SandboxNetwork {
    #[prost(string, tag = "1")]
    pub ip: String,
}

/// `ListPodSandboxRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct ListRequest {
    #[prost(message, optional, tag = "1")]
    pub filter: Option<Filter>,
}

/// `PodSandboxFilter`.
#[derive(Clone, PartialEq, Message)]
pub struct Filter {
    #[prost(map = "string, string", tag = "3")]
    pub labels: HashMap<String, String>,
}

/// `ListPodSandboxResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct ListResponse {
    #[prost(message, repeated, tag = "1")]
    pub items: Vec<Sandbox>,
}

/// `PodSandbox`.
#[derive(Clone, PartialEq, Message)]
pub struct Sandbox {
    #[prost(string, tag = "1")]
    pub id: String,
    #[prost(map = "string, string", tag = "6")]
    pub annotations: HashMap<String, String>,
}

/// `ListContainersRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct ContainersRequest {
    #[prost(message, optional, tag = "1")]
    pub filter: Option<ContainerFilter>,
}

/// `ContainerFilter`.
#[derive(Clone, PartialEq, Message)]
pub struct ContainerFilter {
    #[prost(message, optional, tag = "2")]
    pub state: Option<ContainerStateValue>,
}

/// `ContainerStateValue`.
#[derive(Clone, PartialEq, Message)]
pub struct ContainerStateValue {
    #[prost(enumeration = "ContainerState", tag = "1")]
    pub state: i32,
}

/// `ContainerState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum ContainerState {
    /// It was made and not started.
    Created = 0,
    /// It runs.
    Running = 1,
    /// It has ended.
    Exited = 2,
    /// The runtime does not know.
    Unknown = 3,
}

/// `ListContainersResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct ContainersResponse {
    #[prost(message, repeated, tag = "1")]
    pub containers: Vec<Container>,
}

/// `Container`.
#[derive(Clone, PartialEq, Message)]
pub struct Container {
    #[prost(string, tag = "2")]
    pub pod_sandbox_id: String,
    #[prost(enumeration = "ContainerState", tag = "6")]
    pub state: i32,
    #[prost(map = "string, string", tag = "8")]
    pub labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "9")]
    pub annotations: HashMap<String, String>,
}

/// `ImageSpec`.
#[derive(Clone, PartialEq, Message)]
pub struct ImageSpec {
    #[prost(string, tag = "1")]
    pub image: String,
}

/// `ImageStatusRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct ImageStatusRequest {
    #[prost(message, optional, tag = "1")]
    pub image: Option<ImageSpec>,
}

/// `ImageStatusResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct ImageStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub image: Option<Image>,
}

/// `Image`.
#[derive(Clone, PartialEq, Message)]
pub struct Image {
    #[prost(string, tag = "1")]
    pub id: String,
}
