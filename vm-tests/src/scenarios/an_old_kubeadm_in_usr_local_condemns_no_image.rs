//! /usr/local outlives every image. An old kubeadm there, which fails, does not run instead of the
//! image's own. A required check that looks at the kernel's modules sees them under the agent. The
//! image is good, and it is blessed.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "an-old-kubeadm-in-usr-local-condemns-no-image",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2-same-kernel"],
    run: |rig| Box::pin(run(rig)),
};

/// Programs that careen-agent and careen-deploy start, placed in the first folder of systemd's own
/// PATH. Each leaves a note.
const OLD: &str = "umask 022; mkdir -p /var/usrlocal/bin; for name in kubeadm setpriv skopeo; do \
    printf '%s\\n' '#!/bin/sh' 'echo \"$0\" >>/var/lib/ran-from-local' 'exit 1' >/usr/local/bin/$name; \
    chmod 755 /usr/local/bin/$name; done";
/// A check that passes in any root shell.
const CHECK: &str = "umask 022; mkdir -p /etc/careen/required.d; file=/etc/careen/required.d/40-modules; \
    printf '%s\\n' '#!/bin/sh' 'set -e' 'modinfo overlay >/dev/null' 'test -s /usr/lib/modules/$(uname -r)/modules.dep' \
    'touch /var/lib/modules-were-seen' >$file; chmod 755 $file; $file && rm /var/lib/modules-were-seen";
const SEEN: &str =
    "test -e /var/lib/modules-were-seen && test ! -e /var/lib/ran-from-local && echo well";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2-same-kernel")?;
    rig.policy("trials = 1").await?;
    rig.guest.run(OLD).await?;
    rig.guest.run(CHECK).await?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.expect_upgraded(&before, &image).await?;
    let seen = rig.guest.run(SEEN).await.unwrap_or_default();
    ensure!(
        seen.trim() == "well",
        "the check did not see the modules, or a program of /usr/local was run"
    );
    Ok(())
}
