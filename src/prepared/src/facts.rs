//! What a host says of itself, besides what it does.

use std::fs;

use nix::ifaddrs::getifaddrs;
use serde_json::{Value, json};
use upgrade::phase::Class;

use crate::paths::Paths;

/// Where the kernel shows the host name.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";

/// The host name.
#[must_use]
pub fn hostname(paths: &Paths) -> String {
    let name = fs::read_to_string(paths.below(HOSTNAME)).unwrap_or_default();
    name.trim().to_owned()
}

/// The facts, as fields of a CareenHost's status.
#[must_use]
pub fn facts(paths: &Paths) -> Value {
    let read = |path: &str| fs::read_to_string(paths.below(path)).unwrap_or_default();
    let image = host::image_info::read(&paths.places.root).ok();
    let image_version = image.map(|image| image.kubernetes.to_string());
    json!({
        "hostname": hostname(paths),
        "machineID": read("/etc/machine-id").trim(),
        "bootID": read(host::os::BOOT_ID).trim(),
        "addresses": addresses(paths),
        "architecture": architecture(),
        "capacity": {
            "cpu": std::thread::available_parallelism().map_or(1, usize::from).to_string(),
            "memory": memory(&read("/proc/meminfo")),
        },
        "image": running(paths).unwrap_or_default(),
        "loader": loader(paths),
        "imageVersion": image_version.unwrap_or_default(),
        "agent": { "version": upgrade::release::THIS },
    })
}

/// The longest text in the status of a CareenHost for the boot loader.
const LOADER_LETTERS: usize = 256;

/// The image that runs, as it was asked for. A host that no upgrade has brought to its image does
/// not know a name for the image.
fn running(paths: &Paths) -> Option<String> {
    let places = &paths.places;
    let record = host::record::Store::new(&places.sysroot).read().ok()?;
    let last = record.upgrade?;
    let (booted, _) = host::boot::booted(&places.sysroot, &places.root).ok()?;
    let is_done = match last.phase.class() {
        Class::Upgraded => true,
        Class::Preparing
        | Class::Trying { .. }
        | Class::Blessed
        | Class::Reverting { .. }
        | Class::Failed { .. }
        | Class::Halted { .. } => false,
    };
    (is_done && last.to == Some(booted)).then(|| last.request.image.unwrap_or_default())
}

/// `ok`, or why this host cannot change its image.
fn loader(paths: &Paths) -> String {
    let places = &paths.places;
    match host::loader::fitness(places, &places.root) {
        Ok(()) => "ok".to_owned(),
        Err(why) => why.to_string().chars().take(LOADER_LETTERS).collect(),
    }
}

/// As Kubernetes names architectures.
fn architecture() -> String {
    let machine = host::os::machine().unwrap_or_default();
    match machine.as_str() {
        "x86_64" => "amd64".to_owned(),
        "aarch64" => "arm64".to_owned(),
        _ => machine,
    }
}

fn memory(meminfo: &str) -> String {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB"));
    kibibytes.map_or_else(|| "0".to_owned(), |number| format!("{}Ki", number.trim()))
}

/// The addresses that other machines can reach, apart from those of a network plugin.
fn addresses(paths: &Paths) -> Vec<Value> {
    let mut all = vec![json!({ "type": "Hostname", "address": hostname(paths) })];
    let Ok(found) = getifaddrs() else {
        return all;
    };
    for one in found.filter(|one| one.interface_name != "lo") {
        let address = one.address.as_ref();
        let four = address.and_then(|address| address.as_sockaddr_in().map(|a| a.ip().to_string()));
        let six = address.and_then(|address| address.as_sockaddr_in6().map(|a| a.ip()));
        let six = six
            .filter(|ip| !ip.is_unicast_link_local())
            .map(|ip| ip.to_string());
        let ip = four.or(six);
        all.extend(ip.map(|ip| json!({ "type": "InternalIP", "address": ip })));
    }
    all.truncate(32);
    all
}
