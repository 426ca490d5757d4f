//! Whether kube-proxy writes the rules of services. kubeadm gives its pod no readiness probe
//! (kubernetes, cmd/kubeadm/app/phases/addons/proxy/manifests.go), so the pod is Ready also where
//! the kernel lacks what the rules need (kubernetes/kops#18734). Then no pod reaches a service.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use upgrade::reason::cut;

/// kube-proxy's default for healthzBindAddress. One that listens elsewhere is not compared.
const ADDRESS: &str = "127.0.0.1:10256";

/// The page that tells of the rules alone. `/healthz` also tells whether somebody deletes the Node.
const REQUEST: &[u8] = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

const ANSWER: Duration = Duration::from_secs(2);

/// The most that is read of an answer, in bytes.
const MOST: u64 = 8192;

/// The answer (kubernetes, pkg/proxy/healthcheck/proxy_health.go, `ProxyHealth`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Livez {
    /// By address family. A family whose rules were never written since kube-proxy started is not
    /// among them, whatever the status code is.
    status: BTreeMap<String, Family>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Family {
    healthy: bool,
}

/// The address families whose rules kube-proxy has written since its start. Empty without an
/// answer.
pub(super) async fn written() -> BTreeSet<String> {
    written_at(ADDRESS).await
}

async fn written_at(address: &str) -> BTreeSet<String> {
    match tokio::time::timeout(ANSWER, ask(address)).await {
        Ok(Ok(answer)) => families(&answer),
        Ok(Err(_)) | Err(_) => BTreeSet::new(),
    }
}

async fn ask(address: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(REQUEST).await?;
    let mut answer = Vec::new();
    stream.take(MOST).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn families(answer: &str) -> BTreeSet<String> {
    let json = answer.find('{').zip(answer.rfind('}'));
    let json = json.and_then(|(begin, end)| answer.get(begin..=end));
    let livez = json.and_then(|json| serde_json::from_str::<Livez>(json).ok());
    let status = livez.unwrap_or_default().status.into_iter();
    let healthy = status.filter(|(_, family)| family.healthy);
    healthy.map(|(name, _)| cut(&name)).take(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";

    fn found(body: &str) -> Vec<String> {
        families(&format!("{HEAD}{body}")).into_iter().collect()
    }

    #[test]
    fn only_families_whose_rules_were_written_count() {
        let both =
            r#"{"lastUpdated":"x","status":{"IPv4":{"healthy":true},"IPv6":{"healthy":true}}}"#;
        assert_eq!(found(both), ["IPv4", "IPv6"]);
        let late = r#"{"status":{"IPv4":{"healthy":false},"IPv6":{"healthy":true}}}"#;
        assert_eq!(found(late), ["IPv6"]);
        let never = r#"{"lastUpdated":"x","currentTime":"x","status":{}}"#;
        assert_eq!(found(never), [""; 0]);
        for other in ["", "ok", "{", "}{", "[]"] {
            assert_eq!(found(other), [""; 0], "{other}");
        }
    }

    #[tokio::test]
    async fn kube_proxy_is_asked_and_one_that_is_away_has_written_nothing() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 256];
            let read = stream.read(&mut request).await.unwrap();
            assert!(request[..read].starts_with(b"GET /livez "));
            let body = r#"{"status":{"IPv4":{"healthy":true}}}"#;
            let answer = format!("{HEAD}{body}");
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        let (found, ()) = tokio::join!(written_at(&address), serve);
        assert_eq!(found, BTreeSet::from(["IPv4".to_owned()]));
        drop(listener);
        assert_eq!(written_at(&address).await, BTreeSet::new());
    }
}
