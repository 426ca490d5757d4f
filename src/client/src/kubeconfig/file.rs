//! Reads a kubeconfig as kube does, with less code.
//!
//! `Kubeconfig::read_from` compiles a reader of YAML for each type of a kubeconfig. These are
//! 250 KiB of program, which an idle agent would keep in memory. Here YAML becomes a value first.

use std::path::Path;

use kube::config::{AuthInfo, Kubeconfig, KubeconfigError};
use serde::de::Error as _;
use serde_json::Value;

/// The content of a kubeconfig. Paths in it are relative to its folder.
///
/// # Errors
/// The file cannot be read, or is not a kubeconfig.
pub fn read(path: &Path) -> Result<Kubeconfig, KubeconfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| KubeconfigError::ReadConfig(error, path.to_owned()))?;
    let mut content = parse(&text)?;
    if let Some(folder) = path.parent() {
        files(&mut content).for_each(|file| *file = folder.join(&*file).display().to_string());
    }
    Ok(content)
}

fn parse(text: &str) -> Result<Kubeconfig, KubeconfigError> {
    let wrong = |error| KubeconfigError::Parse(Box::new(error));
    let documents = serde_saphyr::from_multiple::<Value>(text).map_err(wrong)?;
    let mut whole = Kubeconfig::default();
    for document in documents {
        let part = serde_json::from_value(with_texts(document));
        let part = part.map_err(|error| wrong(serde_saphyr::Error::custom(error)))?;
        whole = whole.merge(part)?;
    }
    Ok(whole)
}

/// A kubeconfig has no numbers. One without quotes, for example as a name, is a text for client-go.
fn with_texts(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        Value::Array(items) => items.into_iter().map(with_texts).collect(),
        Value::Object(fields) => {
            let texts = fields
                .into_iter()
                .map(|(name, field)| (name, with_texts(field)));
            Value::Object(texts.collect())
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

fn files(content: &mut Kubeconfig) -> impl Iterator<Item = &mut String> {
    let clusters = content.clusters.iter_mut();
    let authorities = clusters.filter_map(|named| {
        let cluster = named.cluster.as_mut()?;
        cluster.certificate_authority.as_mut()
    });
    let users = content.auth_infos.iter_mut();
    let own = users.filter_map(|named| named.auth_info.as_mut());
    authorities.chain(own.flat_map(files_of))
}

/// A program without a slash is looked up in PATH.
fn files_of(user: &mut AuthInfo) -> impl Iterator<Item = &mut String> {
    let program = user.exec.as_mut().and_then(|exec| exec.command.as_mut());
    let program = program.filter(|program| program.contains('/'));
    let own = [
        &mut user.client_certificate,
        &mut user.client_key,
        &mut user.token_file,
    ];
    own.into_iter().flatten().chain(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELATIVE: &str = "
apiVersion: v1
kind: Config
current-context: 12
clusters: [{name: c, cluster: {server: 'https://x', certificate-authority: ca.crt,
  insecure-skip-tls-verify: false}}]
contexts: [{name: 12, context: {cluster: c, user: u}}]
users:
- {name: u, user: {client-certificate: pki/own.pem, client-key: /pki/own.key, tokenFile: token}}
- {name: v, user: {exec: {apiVersion: v1, command: bin/log-in, args: null}}}
- {name: w, user: {exec: {command: log-in, env: [{name: A, value: b}]}, token: secret}}
";

    #[test]
    fn kubeconfig_is_read_as_kube_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let two = format!("{RELATIVE}---\n{}", RELATIVE.replace("name: c", "name: d"));
        for text in ["{}", "current-context: x", RELATIVE, &two] {
            std::fs::write(&path, text).unwrap();
            let shown = |content: &Kubeconfig| serde_json::to_value(content).unwrap();
            let ours = read(&path).unwrap();
            let theirs = Kubeconfig::read_from(&path).unwrap();
            assert_eq!(shown(&ours), shown(&theirs), "{text}");
        }
    }

    #[test]
    fn file_that_is_no_kubeconfig_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        assert!(matches!(
            read(&path),
            Err(KubeconfigError::ReadConfig(_, named)) if named == path
        ));
        for text in ["x: [", "[]", "clusters: 7", "contexts: [{context: {}}]"] {
            std::fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err();
            assert!(
                matches!(error, KubeconfigError::Parse(_)),
                "{text}: {error}"
            );
        }
    }
}
