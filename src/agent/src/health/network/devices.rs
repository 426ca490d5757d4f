//! The network devices of this node.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;

/// Where the kernel shows the components of a device.
const CLASS: &str = "/sys/class/net";

/// How many levels of devices there are at most: an address on a bridge over a VLAN over a bond
/// over ports, and one more.
const DEPTH: u8 = 5;

/// One device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// It is up and has carrier.
    pub runs: bool,
    /// It leads only to this node itself.
    pub is_loopback: bool,
    /// It is hardware, or is built on hardware: not a bridge that only leads to pods.
    pub is_hardware: bool,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

/// All devices.
///
/// # Errors
/// The kernel does not list them.
pub fn all() -> nix::Result<Vec<Device>> {
    let mut devices = BTreeMap::<String, Device>::new();
    for found in getifaddrs()? {
        let name = found.interface_name.clone();
        let device = devices.entry(name.clone()).or_insert_with(|| Device {
            is_hardware: is_hardware(Path::new(CLASS), &name, DEPTH),
            name,
            ..Device::default()
        });
        device.runs = found
            .flags
            .contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING);
        device.is_loopback = found.flags.contains(InterfaceFlags::IFF_LOOPBACK);
        device.addresses.extend(address(&found));
    }
    Ok(devices.into_values().collect())
}

fn address(found: &InterfaceAddress) -> Option<IpAddr> {
    let address = found.address.as_ref()?;
    let four = address.as_sockaddr_in().map(|four| four.ip().into());
    four.or_else(|| address.as_sockaddr_in6().map(|six| six.ip().into()))
}

/// The devices that lead out of this node: hardware, or all but loopback if there is none (in a
/// container).
pub fn outward(devices: &[Device]) -> Vec<&Device> {
    let others = devices.iter().filter(|one| !one.is_loopback);
    let hardware: Vec<_> = others.clone().filter(|one| one.is_hardware).collect();
    if hardware.is_empty() {
        others.collect()
    } else {
        hardware
    }
}

/// Whether one of those runs and has an address that is valid beyond its link.
pub fn leads_out(devices: &[Device]) -> bool {
    let mut running = outward(devices).into_iter().filter(|one| one.runs);
    running.any(|one| one.addresses.iter().any(|own| !is_of_the_link(own)))
}

/// Whether the address is valid only on its link.
pub const fn is_of_the_link(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six.is_unicast_link_local(),
    }
}

/// Bridges, bonds and VLANs name the devices below them.
fn is_hardware(class: &Path, name: &str, depth: u8) -> bool {
    let folder = class.join(name);
    if folder.join("device").exists() {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|entry| {
        let lower = entry.strip_prefix("lower_");
        lower.is_some_and(|lower| is_hardware(class, lower, depth))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_to_pods_alone_does_not_lead_out() {
        let class = tempfile::tempdir().unwrap();
        for path in [
            "eth0/device",
            "bond0/lower_eth0",
            "br0/lower_bond0",
            "br0/lower_vnet1",
            "vnet1",
            "cni0/lower_veth1",
            "veth1",
            "loop0/lower_loop0",
        ] {
            std::fs::create_dir_all(class.path().join(path)).unwrap();
        }
        let leads = |name| is_hardware(class.path(), name, DEPTH);
        assert!(leads("eth0") && leads("bond0") && leads("br0"));
        for virtual_alone in ["cni0", "vnet1", "loop0", "nowhere"] {
            assert!(!leads(virtual_alone), "{virtual_alone}");
        }
    }
}
