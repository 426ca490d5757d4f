//! Why bootstrap data are refused. No text here repeats a value of the data.

use thiserror::Error;

/// The part that is refused, and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum Refused {
    #[error("they are longer than {limit} bytes. Use shorter data.")]
    TooLong { limit: usize },
    #[error("their format is {found}. Use a cloud-config, which begins with `#cloud-config`.")]
    Format { found: &'static str },
    #[error("line {line}: the template is not valid. Use the syntax of Jinja.")]
    Template { line: usize },
    #[error("the template uses {name}, which this host does not know. Use {known}.")]
    Variable { name: String, known: String },
    #[error("line {line}, column {column}: the text is not valid YAML. Correct it.")]
    Yaml { line: u64, column: u64 },
    #[error(
        "line {line}, column {column}: the value does not have the form that cloud-init gives to write_files, bootcmd and runcmd. Correct it."
    )]
    Form { line: u64, column: u64 },
    #[error(
        "the key {name} is not supported. Use write_files, bootcmd and runcmd; prepare the rest in the image, or pass over the key with `ignore` in host.toml."
    )]
    Key { name: String },
    #[error(
        "write_files[{at}] has the field {field}. Use path, content, encoding, owner, permissions, append and defer."
    )]
    Field { at: usize, field: String },
    #[error("write_files[{at}] has no path. Add one.")]
    NoPath { at: usize },
    #[error(
        "write_files: the path {path:?} {wrong}. Use an absolute path below /etc, /var, /run, /opt or /root."
    )]
    Path { path: String, wrong: &'static str },
    #[error("write_files: the {field} of {path} is not valid. Use {accepted}.")]
    Value {
        path: String,
        field: &'static str,
        accepted: &'static str,
    },
    #[error(
        "no file has an InitConfiguration or a JoinConfiguration of kubeadm, so the Node would have no providerID. Use the data of the kubeadm bootstrap provider."
    )]
    NoKubeadm,
    #[error("{path}: the kubeadm configuration is not valid YAML. Correct it.")]
    KubeadmYaml { path: String },
    #[error(
        "{path}: {kind} has an apiVersion that is not supported. Use kubeadm.k8s.io/v1beta3 or v1beta4."
    )]
    KubeadmVersion { path: String, kind: String },
    #[error("{path}: {field} of {kind} does not have the form of its apiVersion. Correct it.")]
    KubeadmForm {
        path: String,
        kind: String,
        field: &'static str,
    },
    #[error(
        "{path}: {kind} sets the kubelet's {argument} to another value than this host must have. Remove it: careen-host sets it."
    )]
    Argument {
        path: String,
        kind: String,
        argument: &'static str,
    },
    #[error(
        "the failure domain of this host is not a valid label value. Use at most 63 of a-z A-Z 0-9 . _ -."
    )]
    FailureDomain,
}
