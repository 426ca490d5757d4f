//! The network devices of this node.

use std::collections::{BTreeMap, BTreeSet};
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
    /// It is up and has carrier, and so has hardware below it, if there is any. A bridge has
    /// carrier as long as one of its ports has, and that port may lead to a pod.
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
            name,
            ..Device::default()
        });
        device.runs = found
            .flags
            .contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING);
        device.is_loopback = found.flags.contains(InterfaceFlags::IFF_LOOPBACK);
        device.addresses.extend(address(&found));
    }
    Ok(over_hardware(
        Path::new(CLASS),
        devices.into_values().collect(),
    ))
}

/// The devices with what the kernel says of their hardware.
fn over_hardware(class: &Path, mut devices: Vec<Device>) -> Vec<Device> {
    let stopped = devices.iter().filter(|one| !one.runs);
    let stopped: BTreeSet<String> = stopped.map(|one| one.name.clone()).collect();
    for device in &mut devices {
        let hardware = hardware(class, &device.name, DEPTH);
        device.is_hardware = !hardware.is_empty();
        device.runs &= !device.is_hardware || hardware.iter().any(|one| !stopped.contains(one));
    }
    devices
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

/// Whether one of those runs.
pub fn carry(devices: &[Device]) -> bool {
    outward(devices).iter().any(|one| one.runs)
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

/// The hardware that the device is, or is built on. Bridges, bonds and VLANs name the devices below
/// them.
fn hardware(class: &Path, name: &str, depth: u8) -> Vec<String> {
    let folder = class.join(name);
    if folder.join("device").exists() {
        return vec![name.to_owned()];
    }
    let Some(depth) = depth.checked_sub(1) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let lower = names.filter_map(|entry| entry.strip_prefix("lower_").map(str::to_owned));
    lower
        .flat_map(|lower| hardware(class, &lower, depth))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bridge over a bond, a bridge to pods, and devices without hardware.
    fn class() -> tempfile::TempDir {
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
        class
    }

    /// The devices, of which those with these names have no carrier.
    fn devices(stopped: &[&str]) -> Vec<Device> {
        let device = |name: &str| Device {
            name: name.to_owned(),
            runs: !stopped.contains(&name),
            ..Device::default()
        };
        let names = ["eth0", "bond0", "br0", "vnet1", "cni0", "loop0", "nowhere"];
        over_hardware(class().path(), names.map(device).to_vec())
    }

    fn names(devices: &[Device], is: impl Fn(&Device) -> bool) -> Vec<&str> {
        let found = devices.iter().filter(|one| is(one));
        found.map(|one| one.name.as_str()).collect()
    }

    #[test]
    fn bridge_to_pods_alone_does_not_lead_out() {
        let hardware = devices(&[]);
        let hardware = names(&hardware, |one| one.is_hardware);
        assert_eq!(hardware, ["eth0", "bond0", "br0"]);
    }

    #[test]
    fn bridge_with_a_pod_needs_the_carrier_of_its_hardware() {
        let dead = devices(&["eth0"]);
        let running = names(&dead, |one| one.runs);
        assert_eq!(running, ["vnet1", "cni0", "loop0", "nowhere"]);
        assert!(
            devices(&["vnet1"])
                .iter()
                .any(|one| one.name == "br0" && one.runs)
        );
    }
}
