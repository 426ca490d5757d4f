use std::net::Ipv4Addr;
use std::process::{Command, ExitStatus};

use super::*;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn device(name: &str, runs: bool, addresses: &[&str]) -> Device {
    Device {
        name: name.to_owned(),
        runs,
        is_hardware: name.starts_with("eth"),
        is_loopback: name == "lo",
        addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
    }
}

fn node(runs: bool, addresses: &[&str]) -> Vec<Device> {
    vec![
        device("lo", true, &["127.0.0.1", "::1"]),
        device("eth0", runs, addresses),
        device("cni0", true, &["10.88.0.1"]),
    ]
}

fn from(source: &str) -> io::Result<IpAddr> {
    Ok(source.parse().unwrap())
}

fn failed(error: Errno) -> io::Result<IpAddr> {
    Err(error.into())
}

fn unreachable() -> io::Result<IpAddr> {
    failed(Errno::ENETUNREACH)
}

fn to() -> String {
    SERVER.to_string()
}

#[test]
fn a_route_from_an_address_of_a_device_with_carrier_is_a_way() {
    let whole = node(true, &["198.51.100.7", "fe80::1"]);
    assert_eq!(judge(SERVER, from("198.51.100.7"), &whole), Ok(()));
    // Nothing more is known of a route whose source is on loopback or in another namespace.
    assert_eq!(judge(SERVER, from("203.0.113.9"), &whole), Ok(()));
    let filtered = failed(Errno::EPERM);
    assert_eq!(judge(SERVER, filtered, &whole), Ok(()));
    let near: IpAddr = "fe80::53".parse().unwrap();
    assert_eq!(judge(near, failed(Errno::EINVAL), &whole), Ok(()));
}

#[test]
fn a_device_without_carrier_is_no_way_though_its_route_stands() {
    let unplugged = node(false, &["198.51.100.7"]);
    let device = "eth0".to_owned();
    let carrier = Err(NoNetwork::Carrier { device });
    assert_eq!(judge(SERVER, from("198.51.100.7"), &unplugged), carrier);
    assert_eq!(judge(SERVER, unreachable(), &unplugged), carrier);
}

#[test]
fn a_tunnel_is_no_way_without_a_device_that_carries_it() {
    let with = |runs, name| {
        let mut devices = node(runs, &["fe80::1"]);
        devices.push(device(name, true, &["198.51.100.9"]));
        judge(SERVER, from("198.51.100.9"), &devices)
    };
    for name in ["wg0", "dummy0"] {
        assert_eq!(with(true, name), Ok(()), "{name}");
        let device = "eth0".to_owned();
        let carrier = Err(NoNetwork::Carrier { device });
        assert_eq!(with(false, name), carrier, "{name}");
    }
    // In a container no device is hardware.
    let container = [
        device("lo", true, &[]),
        device("net1", true, &["198.51.100.9"]),
    ];
    assert_eq!(judge(SERVER, from("198.51.100.9"), &container), Ok(()));
}

#[test]
fn a_renamed_device_has_carrier_and_no_address() {
    let address = Err(NoNetwork::Address { to: to() });
    for own in [&[][..], &["fe80::1"], &["169.254.7.7"]] {
        let renamed = node(true, own);
        assert_eq!(judge(SERVER, unreachable(), &renamed), address, "{own:?}");
        for source in ["0.0.0.0", "169.254.7.7"] {
            assert_eq!(judge(SERVER, from(source), &renamed), address, "{source}");
        }
    }
    let six: IpAddr = "2001:db8::1".parse().unwrap();
    let four_alone = node(true, &["198.51.100.7", "fe80::1"]);
    let to = six.to_string();
    let address = Err(NoNetwork::Address { to });
    assert_eq!(judge(six, from("fe80::1"), &four_alone), address);
    let taken = failed(Errno::EADDRNOTAVAIL);
    assert_eq!(judge(six, taken, &four_alone), address);
}

#[test]
fn a_node_with_an_address_and_no_route_lacks_the_route() {
    let whole = node(true, &["198.51.100.7"]);
    let route = Err(NoNetwork::Route { to: to() });
    assert_eq!(judge(SERVER, unreachable(), &whole), route);
}

#[test]
fn a_route_that_refuses_is_no_route() {
    let whole = node(true, &["198.51.100.7"]);
    let route = Err(NoNetwork::Route { to: to() });
    for error in [
        Errno::EINVAL,
        Errno::EACCES,
        Errno::EHOSTUNREACH,
        Errno::ENETDOWN,
    ] {
        assert_eq!(judge(SERVER, failed(error), &whole), route, "{error}");
    }
}

#[test]
fn a_node_without_a_driver_has_no_address() {
    let bare = [device("lo", true, &["127.0.0.1"])];
    let address = Err(NoNetwork::Address { to: to() });
    assert_eq!(judge(SERVER, unreachable(), &bare), address);
}

#[test]
fn a_load_balancer_on_the_node_is_judged_by_the_way_out_of_it() {
    for server in ["127.0.0.1", "::1", "10.88.0.1"] {
        let server: IpAddr = server.parse().unwrap();
        let own = || Ok(server);
        let whole = node(true, &["198.51.100.7"]);
        assert_eq!(judge(server, own(), &whole), Ok(()), "{server}");
        let unplugged = node(false, &["198.51.100.7"]);
        let carrier = judge(server, own(), &unplugged);
        assert!(
            matches!(carrier, Err(NoNetwork::Carrier { .. })),
            "{server}"
        );
        // The bridge to pods has one.
        let renamed = judge(server, own(), &node(true, &["fe80::1"]));
        assert!(renamed.is_err(), "{server}: {renamed:?}");
    }
}

#[test]
fn one_way_of_many_is_enough() {
    let lack = |to: &str| Err(NoNetwork::Route { to: to.to_owned() });
    assert_eq!(any([lack("a"), Ok(()), lack("b")].into_iter()), Ok(()));
    assert_eq!(any([lack("a"), lack("b")].into_iter()), lack("a"));
}

fn kubeconfig(server: &str) -> tempfile::NamedTempFile {
    let content = serde_json::json!({
        "current-context": "x",
        "contexts": [{ "name": "x", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": server } }],
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content.to_string()).unwrap();
    file
}

/// A thread with its own network, in which nothing is set up but this route, or `None` where that
/// is not allowed.
fn without_a_network(server: &str, route: Option<&str>) -> Option<Result<(), NoNetwork>> {
    let file = kubeconfig(server);
    let route = route.map(str::to_owned);
    let cut_off = std::thread::spawn(move || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).ok()?;
        if let Some(route) = route {
            set_up(&route)?;
        }
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        Some(runtime.block_on(look(file.path())))
    });
    cut_off.join().unwrap()
}

#[test]
fn the_kernel_says_that_there_is_no_way_out_of_an_empty_network() {
    for server in [
        "https://192.0.2.1:6443",
        "https://[2001:db8::1]",
        "https://127.0.0.1:6443",
    ] {
        if let Some(found) = without_a_network(server, None) {
            let address = matches!(found, Err(NoNetwork::Address { .. }));
            assert!(address, "{server}: {found:?}");
        }
    }
}

/// Loopback, and a default route of this kind.
fn set_up(route: &str) -> Option<()> {
    for line in ["link set lo up", &format!("route add {route} default")] {
        let status = Command::new("ip").args(line.split(' ')).status();
        status.ok().filter(ExitStatus::success)?;
    }
    Some(())
}

#[test]
fn the_kernel_says_that_a_route_that_refuses_is_none() {
    for route in ["blackhole", "prohibit", "unreachable", "throw"] {
        if let Some(found) = without_a_network("https://192.0.2.1:6443", Some(route)) {
            let address = matches!(found, Err(NoNetwork::Address { .. }));
            assert!(address, "{route}: {found:?}");
        }
    }
}

#[tokio::test]
async fn a_kubeconfig_that_cannot_be_read_says_nothing_of_the_network() {
    assert_eq!(look(Path::new("/nowhere/kubelet.conf")).await, Ok(()));
}
