//! Where the cause of a bad trial is.
//!
//! A verdict condemns an image only for what the image shows. What the node's own files, the API
//! server or a neighbour show ends the upgrade as well, but the image can be tried again.

use serde::{Deserialize, Serialize};

/// Where the cause is. A record of an older version names none, and its verdict blamed the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The image. Only this one is remembered.
    #[default]
    Image,
    /// This node: its /etc, /var or /usr/local, or its hardware.
    Node,
    /// The API server, or what the cluster holds.
    ApiServer,
    /// Another program, machine or service, which the image does not bring.
    Neighbour,
    /// Nothing shows where it is. Also a word of a newer version.
    #[serde(other)]
    Unclear,
}

impl Cause {
    /// Whether the image is to blame.
    #[must_use]
    pub const fn is_image(&self) -> bool {
        match self {
            Self::Image => true,
            Self::Node | Self::ApiServer | Self::Neighbour | Self::Unclear => false,
        }
    }

    /// What a reason says of it, and what to do.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::Image => "Fix the image or the node and ask again",
            Self::Node => {
                "The cause is on this node, so the image is not blamed: fix the node and ask again"
            }
            Self::ApiServer => {
                "The cause is the API server or what it holds, so the image is not blamed: fix that and ask again"
            }
            Self::Neighbour => {
                "The cause is outside of this image, so the image is not blamed: fix that and ask again"
            }
            Self::Unclear => {
                "Nothing shows that the image is the cause, so it is not blamed: find the cause and ask again"
            }
        }
    }
}

/// Where the cause is of each check that does not pass, as far as this machine shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// Of the container runtime.
    pub runtime: Cause,
    /// Of the kubelet.
    pub kubelet: Cause,
    /// Of `kubeadm upgrade node`.
    pub kubeadm: Cause,
    /// Of the checks in `required.d`, in their order. A check beyond the end has its cause in the
    /// image.
    pub required: Vec<Cause>,
}
