//! A network between the nodes of one lane. In QEMU's user network each guest is alone and has the
//! same address, so a node gets a second card here: a tap of a bridge in the lane's namespace, where
//! the rig has an address too.
//!
//! QEMU resumes a frozen node on the very hardware that it had, so the card is there from the next
//! power-on.

use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The rig's own address, where the load balancer of the API servers listens.
pub const RIG: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 1);

/// Makes the network for so many nodes.
///
/// # Errors
///
/// Fails outside of a lane, whose network would be changed, and without root.
pub fn make(nodes: u8) -> Result<()> {
    ensure!(
        cards()? == ["lo"],
        "this network has more than loopback, so it is no lane. Run this by its command in vm-tests."
    );
    let mut ip = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run ip; install iproute2")?;
    if let Some(mut stdin) = ip.stdin.take() {
        stdin.write_all(commands(nodes).as_bytes())?;
    }
    let output = ip.wait_with_output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip: {complaint}");
    Ok(())
}

/// The network cards of this thread's namespace. /sys has those of the namespace that mounted it.
fn cards() -> Result<Vec<String>> {
    let text = fs::read_to_string("/proc/thread-self/net/dev")?;
    let names = text.lines().filter_map(|line| line.split_once(':'));
    Ok(names.map(|(name, _)| name.trim().to_owned()).collect())
}

fn commands(nodes: u8) -> String {
    let taps = (1..=nodes).map(|number| {
        format!(
            "tuntap add lan{number} mode tap\nlink set lan{number} master lan\n\
             link set lan{number} up\n"
        )
    });
    let bridge = format!(
        "link add lan type bridge forward_delay 0\naddress add {RIG}/24 dev lan\nlink set lan up\n"
    );
    bridge + &taps.collect::<String>()
}

/// The address of a node.
#[must_use]
pub fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 3, 10 + number)
}

/// The name of a node.
#[must_use]
pub fn name(number: u8) -> String {
    format!("node{number}")
}

/// QEMU's arguments for the card of a node.
#[must_use]
pub fn card(number: u8) -> Vec<String> {
    let mac = mac(number);
    let words = [
        "-netdev".to_owned(),
        format!("tap,id=lan,ifname=lan{number},script=no,downscript=no"),
        "-device".to_owned(),
        format!("virtio-net-pci,netdev=lan,mac={mac}"),
    ];
    words.to_vec()
}

/// What the guest runs to have its name and its address from the next boot on. `10-` comes before
/// the file of the image, which matches each card.
#[must_use]
pub fn settle(number: u8) -> String {
    let (name, address, mac) = (name(number), address(number), mac(number));
    format!(
        "echo {name} >/etc/hostname
sed -i '/ node1$/d' /etc/hosts
echo {address} {name} >>/etc/hosts
mkdir -p /etc/systemd/network
printf '[Match]\\nMACAddress={mac}\\n\\n[Network]\\nAddress={address}/24\\nDHCP=no\\n\
LinkLocalAddressing=no\\nIPv6AcceptRA=no\\n' >/etc/systemd/network/10-lan.network
sync"
    )
}

fn mac(number: u8) -> String {
    format!("52:54:00:00:03:{:02x}", 10 + number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_a_card_and_an_address_of_its_own() {
        assert_eq!(address(2).to_string(), "10.0.3.12");
        assert_eq!(name(3), "node3");
        let card = card(1).join(" ");
        assert!(
            card.contains("ifname=lan1") && card.contains("52:54:00:00:03:0b"),
            "{card}"
        );
        let script = settle(1);
        assert!(script.contains("MACAddress=52:54:00:00:03:0b"), "{script}");
        assert!(
            script.contains("echo 10.0.3.11 node1 >>/etc/hosts"),
            "{script}"
        );
    }

    #[test]
    fn network_of_this_machine_is_not_changed() {
        if cards().unwrap().len() > 1 {
            let refused = make(1).unwrap_err().to_string();
            assert!(refused.contains("it is no lane"), "{refused}");
        }
    }

    /// In a namespace of its own, as a lane has it.
    #[test]
    fn taps_of_all_nodes_are_on_one_bridge() {
        let script = "ip link set lo up && ip -batch - && ip -o link show master lan && ip -o addr";
        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "--", "sh", "-ec", script]);
        unshare.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = unshare.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(commands(3).as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for tap in ["lan1", "lan2", "lan3"] {
            assert!(text.contains(&format!("{tap}: ")), "{text}");
        }
        assert!(text.contains("10.0.3.1/24"), "{text}");
    }
}
