//! The addresses at which a component listens, from its command line.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The ports of components without `--secure-port`.
const PORTS: [(&str, u16); 3] = [
    ("kube-apiserver", 6443),
    ("kube-controller-manager", 10257),
    ("kube-scheduler", 10259),
];

/// All addresses at which the program with this command line listens, each once.
///
/// # Errors
///
/// Fails when an address is no address. The message has the flag.
pub fn listens(name: &str, arguments: &[String]) -> Result<Vec<SocketAddr>, String> {
    let mut all = urls(arguments)?;
    if let Some((_, port)) = PORTS.iter().find(|(known, _)| *known == name) {
        let port = match value(arguments, "--secure-port") {
            Some(text) => parsed("--secure-port", text)?,
            None => *port,
        };
        let address = match value(arguments, "--bind-address") {
            Some(text) => parsed("--bind-address", text)?,
            None => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        };
        all.push(SocketAddr::new(address, port));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// etcd's flags `--listen-…-urls`, each with a list.
fn urls(arguments: &[String]) -> Result<Vec<SocketAddr>, String> {
    let mut all = Vec::new();
    for argument in arguments {
        let Some((flag, list)) = argument.split_once('=') else {
            continue;
        };
        if flag.starts_with("--listen-") && flag.ends_with("-urls") {
            for url in list.split(',') {
                let address = url.split_once("://").map_or(url, |(_, rest)| rest);
                all.push(parsed(flag, address)?);
            }
        }
    }
    Ok(all)
}

/// kubeadm writes each flag as one word with its value. Of several, the last counts.
fn value<'a>(arguments: &'a [String], flag: &str) -> Option<&'a str> {
    arguments.iter().rev().find_map(|argument| {
        let (name, value) = argument.split_once('=')?;
        (name == flag).then_some(value)
    })
}

fn parsed<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T, String> {
    let wrong = |_| format!("{flag} has {text:?}");
    text.parse().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Vec<String>, String> {
        let mut words = line.split(' ').map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let arguments: Vec<_> = words.collect();
        let all = listens(&name, &arguments)?;
        Ok(all.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn addresses_are_those_of_kubeadms_manifests() {
        let api = "kube-apiserver --advertise-address=10.0.2.15 --secure-port=6443";
        assert_eq!(of(api).unwrap(), ["0.0.0.0:6443"]);
        let scheduler = "kube-scheduler --bind-address=127.0.0.1 --leader-elect=true";
        assert_eq!(of(scheduler).unwrap(), ["127.0.0.1:10259"]);
        let etcd = "etcd --advertise-client-urls=https://10.0.2.15:2379 \
                    --listen-client-urls=https://127.0.0.1:2379,https://10.0.2.15:2379 \
                    --listen-metrics-urls=http://127.0.0.1:2381 \
                    --listen-peer-urls=https://10.0.2.15:2380 --name=node1";
        let all = [
            "10.0.2.15:2379",
            "10.0.2.15:2380",
            "127.0.0.1:2379",
            "127.0.0.1:2381",
        ];
        assert_eq!(of(etcd).unwrap(), all);
    }

    #[test]
    fn a_program_without_a_port_listens_nowhere() {
        assert!(of("pause").unwrap().is_empty());
        assert!(of("kube-apiserver --secure-port=many").is_err());
    }
}
