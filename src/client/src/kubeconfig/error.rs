//! Why no API server is reachable, in one line that names the file.

use std::env::VarError;

use kube::config::{InClusterError, KubeconfigError};
use thiserror::Error;

use super::address::BadProxy;
use crate::chain;

/// Why no API server is reachable.
#[derive(Debug, Error)]
pub enum Error {
    /// The kubeconfig cannot be used.
    #[error("{}", named(.0))]
    Kubeconfig(KubeconfigError),
    /// The text that should name a proxy does not.
    #[error(transparent)]
    Proxy(#[from] BadProxy),
    /// There is neither a kubeconfig nor a pod's ServiceAccount.
    #[error("{}, and {}", named(.kubeconfig), nowhere(.pod))]
    Nowhere {
        /// The error of the kubeconfig.
        kubeconfig: KubeconfigError,
        /// Why this is not a pod.
        pod: InClusterError,
    },
}

impl From<KubeconfigError> for Error {
    fn from(error: KubeconfigError) -> Self {
        Self::Kubeconfig(error)
    }
}

/// What is wrong with a kubeconfig, in one line and without its path. kube quotes the path twice,
/// and its reader of YAML draws the wrong line below the message.
#[must_use]
pub fn cause(error: &KubeconfigError) -> String {
    if let KubeconfigError::ReadConfig(cause, _) = error {
        return cause.to_string();
    }
    let text = chain(error);
    text.lines().next().unwrap_or_default().to_owned()
}

fn named(error: &KubeconfigError) -> String {
    let cause = cause(error);
    if let KubeconfigError::ReadConfig(_, path) = error {
        return format!("{}: {cause}", path.display());
    }
    cause
}

fn nowhere(pod: &InClusterError) -> String {
    let unset = InClusterError::ReadEnvironmentVariable(VarError::NotPresent);
    let why = pod.to_string();
    if why == unset.to_string() {
        return "this process does not run in a pod".to_owned();
    }
    format!("the ServiceAccount of this pod cannot be used: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::config::Kubeconfig;
    use std::path::Path;

    #[test]
    fn kubeconfig_error_names_the_file_once_in_one_line() {
        let absent = Kubeconfig::read_from(Path::new("/absent/kubeconfig")).unwrap_err();
        let said = Error::from(absent).to_string();
        assert_eq!(
            said,
            "/absent/kubeconfig: No such file or directory (os error 2)"
        );
        let broken = Kubeconfig::from_yaml("x: [").unwrap_err();
        let said = Error::from(broken).to_string();
        assert!(said.contains("line 1") && !said.contains('\n'), "{said:?}");
    }

    #[test]
    fn user_without_any_kubeconfig_is_told_so_without_pod_details() {
        let kubeconfig = Kubeconfig::read_from(Path::new("/absent")).unwrap_err();
        let pod = InClusterError::ReadEnvironmentVariable(VarError::NotPresent);
        let said = Error::Nowhere { kubeconfig, pod }.to_string();
        let end = "os error 2), and this process does not run in a pod";
        assert!(said.ends_with(end), "{said}");
    }
}
