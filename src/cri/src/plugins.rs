//! Whether the programs of the network plugins run, by what a runtime says when it refuses a
//! network.

/// What libcni says of a program that it does not find (containernetworking/cni,
/// pkg/invoke/find.go), what Go says of one that the kernel does not execute (`os/exec`), and what
/// the linker says of one that lacks libraries (ld.so(8)). A plugin that runs and refuses has words
/// of its own.
const DOES_NOT_RUN: [&str; 5] = [
    "failed to find plugin",
    "fork/exec /",
    "executable file not found in $PATH",
    "error while loading shared libraries",
    "not found (required by",
];

/// Whether a network was refused because a program is missing or cannot be executed. A runtime has
/// one status for every refusal of a plugin, so only its message tells.
#[must_use]
pub fn lacks_a_plugin(refusal: &str) -> bool {
    DOES_NOT_RUN.iter().any(|words| refusal.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_that_does_not_run_is_told_from_one_that_refuses() {
        let failed = |why: &str| format!("failed to setup network for sandbox \"0a1b\": {why}");
        for why in [
            r#"failed to find plugin "calico" in path [/usr/libexec/cni]"#,
            "netplugin failed with no error message: fork/exec /opt/cni/bin/calico: exec format error",
            "netplugin failed with no error message: fork/exec /opt/cni/bin/calico: permission denied",
            r#"netplugin failed: "/opt/cni/bin/host-local: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /opt/cni/bin/host-local)""#,
        ] {
            assert!(lacks_a_plugin(&failed(why)), "{why}");
        }
        for why in [
            r#"plugin type="calico" failed (add): error getting pod: pods "careen-probe" not found"#,
            "netplugin failed with no error message: signal: killed",
            "NetworkPluginNotReady: cni plugin not initialized",
        ] {
            assert!(!lacks_a_plugin(&failed(why)), "{why}");
        }
    }
}
