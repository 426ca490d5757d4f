//! The credential, the clock and the watchdog.

use std::fs;

use super::super::{Verdict, examine};
use super::node::{Node, write};

#[test]
fn a_credential_that_ran_out_or_is_no_node_s_is_bad() {
    let node = Node::sound();
    node.credential("kubernetes-admin", 2027);
    node.is_bad("credential", "kubernetes-admin");
    node.credential("system:node:n1", 2026);
    node.is_bad("credential", "expired");
    fs::remove_file(node.patient().kubeconfig).unwrap();
    node.is_bad("credential", "kubelet.conf");
}

#[test]
fn a_certificate_within_kubelet_conf_is_read_too() {
    use base64::Engine as _;
    let node = Node::sound();
    let pem = fs::read(node.root().join("var/kubelet.pem")).unwrap();
    let data = base64::engine::general_purpose::STANDARD.encode(pem);
    let text = format!("users: [{{ name: u, user: {{ client-certificate-data: {data} }} }}]\n");
    write(&node.patient().kubeconfig, text);
    let found = node.found("credential");
    assert!(found.found.starts_with("system:node:n1"), "{found:?}");
}

#[test]
fn without_the_watchdog_that_the_policy_demands_it_is_bad() {
    let node = Node::sound();
    write(&node.patient().policy, "require-watchdog = true\n");
    assert_eq!(node.found("watchdog").verdict, Verdict::Ok);
    let stops = "sys/module/watchdog/parameters/stop_on_reboot";
    write(&node.kernel.path().join(stops), "1\n");
    node.is_bad("watchdog", "stopped at each reboot");
    fs::remove_dir_all(node.kernel.path().join("sys/class")).unwrap();
    node.is_bad("watchdog", "none");
}

#[test]
fn without_a_watchdog_or_a_clock_in_step_it_is_worth_a_look() {
    let node = Node::sound();
    fs::remove_dir_all(node.kernel.path().join("sys/class")).unwrap();
    assert_eq!(node.found("watchdog").verdict, Verdict::Warn);
    let mut patient = node.patient();
    patient.clock.in_step = Some(false);
    let found = examine(&patient);
    let clock = found
        .iter()
        .find(|finding| finding.name == "clock")
        .unwrap();
    assert_eq!(clock.verdict, Verdict::Warn);
}
