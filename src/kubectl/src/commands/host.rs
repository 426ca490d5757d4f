//! `kubectl careen host`.

use kube::ResourceExt;
use serde::Serialize;
use serde_json::{Value, json};

use super::session::Session;
use crate::cli::{Cli, HostToken, HostVerb, Hosts};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hosts::{Endpoint, Host};
use crate::render::{formatted, host as rendered};

/// The annotation of a person's word that a host is off, or an orphan may go (careen-provider's
/// kinds).
const FORCE_RELEASE: &str = "careen.dev/force-release";

/// The annotation of an orphan: the id of the claim that no machine has.
const ORPHAN: &str = "careen.dev/orphan";

/// Runs one of its commands.
///
/// # Errors
/// See [`Failure`].
pub async fn run(
    cli: &Cli,
    asked: &crate::cli::Host,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let namespace = asked.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| session.cluster.namespace().to_owned());
    match &asked.verb {
        HostVerb::List => list(&namespace, session).await,
        HostVerb::Token(asked) => token(cli, &namespace, asked, session).await,
        HostVerb::Approve(hosts) => {
            let change = json!({ "spec": { "approved": true } });
            each(&namespace, hosts, (&change, "approved"), session).await
        }
        HostVerb::Cordon(hosts) => {
            let change = json!({ "spec": { "cordoned": true } });
            each(&namespace, hosts, (&change, "cordoned"), session).await
        }
        HostVerb::Uncordon(hosts) => {
            let change = json!({ "spec": { "cordoned": false } });
            each(&namespace, hosts, (&change, "uncordoned"), session).await
        }
        HostVerb::Release(asked) => release(&namespace, &asked.name, asked.yes, session).await,
    }
}

async fn list(namespace: &str, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let mut hosts = session.cluster.list_hosts(namespace).await?;
    hosts.sort_by_key(ResourceExt::name_any);
    let look = session.console.measure();
    let rows: Vec<rendered::Row> = hosts.iter().map(row).collect();
    let text = formatted(session.format, &rows, |wide| {
        rendered::table(&rows, wide, look)
    })?;
    session.console.print(&text)?;
    Ok(Exit::Done)
}

fn row(host: &Host) -> rendered::Row {
    let status = host.status.clone().unwrap_or_default();
    let claim = host.spec.claim.clone().unwrap_or_default();
    rendered::Row {
        host: host.name_any(),
        phase: status.phase,
        cluster: claim.cluster,
        machine: claim.machine,
        domain: host.spec.failure_domain.clone().unwrap_or_default(),
        version: status.image_version,
        approved: host.spec.approved,
        cordoned: host.spec.cordoned,
        reason: status.reason,
        message: status.message,
    }
}

/// What a new host reads. The names are those of careen-host's settings.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct HostFile {
    server: String,
    namespace: String,
    registration: String,
    token: String,
    certificate_authority: String,
}

async fn token(
    cli: &Cli,
    namespace: &str,
    asked: &HostToken,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let endpoint = Endpoint::of(cli.kubeconfig.as_deref(), cli.context.as_deref())?;
    let server = asked.server.clone().unwrap_or(endpoint.server);
    if !server.starts_with("https://") {
        let why = format!(
            "the kubeconfig names {server}; name a URL that begins with https:// by --server"
        );
        return Err(Failure::Usage(why));
    }
    if endpoint.authorities.is_empty() {
        let why = "the kubeconfig has no certificate-authority; add the one of the API server";
        return Err(Failure::Usage(why.to_owned()));
    }
    let name = &asked.registration;
    let seconds = asked.ttl.0.as_secs();
    let token = session.cluster.registration_token(namespace, name, seconds);
    let token = token
        .await
        .map_err(|failure| no_account(failure, namespace, name))?;
    let file = HostFile {
        server,
        namespace: namespace.to_owned(),
        registration: name.clone(),
        token,
        certificate_authority: endpoint.authorities.iter().map(|der| pem(der)).collect(),
    };
    let text = toml::to_string(&file);
    let text = text.map_err(|error| Failure::Write(std::io::Error::other(error)))?;
    session.console.print(&text)?;
    Ok(Exit::Done)
}

fn no_account(failure: Failure, namespace: &str, name: &str) -> Failure {
    if !matches!(failure, Failure::Missing(_)) {
        return failure;
    }
    Failure::Missing(format!(
        "the HostRegistration {name} in {namespace} has no account; create it, and run careen-provider with --infrastructure"
    ))
}

fn pem(der: &[u8]) -> String {
    pem::encode(&pem::Pem::new("CERTIFICATE", der)).replace("\r\n", "\n")
}

/// Changes each host, and says so. The first failure ends the command.
async fn each(
    namespace: &str,
    hosts: &Hosts,
    (change, done): (&Value, &str),
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    for name in &hosts.names {
        session.cluster.change_host(namespace, name, change).await?;
        session.console.print(&format!("{name}: {done}\n"))?;
    }
    Ok(Exit::Done)
}

/// What a person's word is about. The annotation names the claim, so that it counts for this claim
/// only.
struct Word {
    claim: String,
    warning: String,
    question: String,
    done: &'static str,
}

/// Only a person can know that a host is off, or that an orphan may go.
fn word(name: &str, host: &Host) -> Option<Word> {
    let claim = host.spec.claim.as_ref();
    let orphan = host.annotations().get(ORPHAN);
    let orphan = orphan.filter(|id| claim.is_none_or(|claim| claim.id == **id));
    if let Some(id) = orphan {
        return Some(Word {
            claim: id.clone(),
            warning: format!(
                "No CareenMachine has the claim of {name}. Its node is not drained first."
            ),
            question: format!("Release {name} from its cluster?"),
            done: "released; it leaves when it answers",
        });
    }
    claim.map(|claim| Word {
        claim: claim.id.clone(),
        warning: format!(
            "{name} serves the Machine {} of {}. If the computer runs, its pods run on beside their replacements.",
            claim.machine, claim.cluster
        ),
        question: format!("Confirm that {name} is switched off. Give it up?"),
        done: "given up when its Machine is deleted and it does not answer",
    })
}

async fn release(
    namespace: &str,
    name: &str,
    yes: bool,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let host = session.cluster.host(namespace, name).await?;
    let Some(word) = word(name, &host) else {
        let why = format!("{name} has no claim: there is nothing to release");
        return Err(Failure::Refused(why));
    };
    if !yes {
        session.console.say(&word.warning);
        session.console.consent_in_full(&word.question)?;
    }
    let change = json!({
        "metadata": {
            "annotations": { FORCE_RELEASE: word.claim },
            "resourceVersion": host.resource_version(),
        },
    });
    session
        .cluster
        .change_host(namespace, name, &change)
        .await?;
    session.console.print(&format!("{name}: {}\n", word.done))?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn host(claim: Option<&str>, orphan: Option<&str>) -> Host {
        let claim = claim.map(|id| json!({ "id": id, "machine": "m-1", "cluster": "north" }));
        let notes = orphan.map(|id| json!({ ORPHAN: id }));
        let host = json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost",
            "metadata": { "name": "n-1", "annotations": notes },
            "spec": { "claim": claim },
        });
        serde_json::from_value(host).unwrap()
    }

    #[test]
    fn word_about_an_orphan_is_another_one_than_about_a_host_in_use() {
        let said = |claim, orphan| {
            let word = word("n-1", &host(claim, orphan))?;
            Some((word.claim.clone(), word.question.contains("switched off")))
        };
        assert_eq!(said(Some("a"), None), Some(("a".into(), true)));
        assert_eq!(said(Some("a"), Some("a")), Some(("a".into(), false)));
        assert_eq!(said(None, Some("a")), Some(("a".into(), false)));
        assert_eq!(said(Some("b"), Some("a")), Some(("b".into(), true)));
        assert_eq!(said(None, None), None);
    }
}
