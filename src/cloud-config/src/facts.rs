//! What the data may ask about the host.

/// The host and the claim that it joins for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The id of the claim, which is new for each join.
    pub instance_id: String,
    /// The host name, as the kubelet registers it.
    pub hostname: String,
    /// The providerID of the Node.
    pub provider_id: String,
    /// The failure domain of the host.
    pub failure_domain: Option<String>,
}
