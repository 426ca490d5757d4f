//! Every image of the rig in one table: its parts, and its fault.

use super::base::Base;
use super::initramfs::Initramfs;
use super::ours::Ours;
use super::signing::Signer;

/// One image.
#[derive(Debug)]
pub struct Recipe {
    /// Its name and its ref.
    pub name: &'static str,
    /// The base tree.
    pub base: Base,
    /// The initramfs; `None` leaves kernel and initramfs out.
    pub initramfs: Option<Initramfs>,
    /// The Careen files in the root. The initramfs has its own.
    pub ours: Ours,
    /// The version in `image.json`, if it is not the base's.
    pub says: Option<&'static str>,
    /// The architecture in `image.json`.
    pub architecture: &'static str,
    /// The signer.
    pub signer: Signer,
    /// The day of January 2026 that the commit gives as its date.
    pub day: u32,
    /// The files on top.
    pub extra: &'static [Extra],
}

/// A file on top of an image.
#[derive(Debug)]
pub enum Extra {
    /// Path and content.
    File(&'static str, &'static str),
    /// Path of a file of the base, and lines after its own.
    Append(&'static str, &'static str),
    /// Path and shell script.
    Program(&'static str, &'static str),
    /// Path and target.
    Link(&'static str, &'static str),
    /// Path, and the arguments of `kube/build.sh` for the program.
    Built(&'static str, &'static [&'static str]),
    /// Path, in the folder of the kernel's modules, of a file of the base that the image lacks.
    NoModule(&'static str),
}
use Extra::{Append, Built, File, Link, NoModule, Program};

const V2: Recipe = Recipe {
    name: "v2",
    base: Base::Second,
    initramfs: Some(Initramfs::Whole),
    ours: Ours::Whole,
    says: None,
    architecture: "x86_64",
    signer: Signer::Rig,
    day: 2,
    extra: &[],
};

/// An image for nodes that get their agent from a DaemonSet.
const GUARD_ALONE: Recipe = Recipe {
    name: "guard-alone",
    ours: Ours::Nothing,
    ..V2
};

const fn bad(name: &'static str, extra: &'static [Extra]) -> Recipe {
    Recipe { name, extra, ..V2 }
}

/// An image that fails before its kubelet starts. It has the node's own Kubernetes, which is most of
/// what a node would fetch.
const fn early(name: &'static str, extra: &'static [Extra]) -> Recipe {
    Recipe {
        base: Base::First,
        ..bad(name, extra)
    }
}

/// The images. The good ones come first, then the others by the moment at which they fail.
pub const RECIPES: &[Recipe] = &[
    Recipe {
        name: "v1",
        base: Base::First,
        day: 1,
        ..V2
    },
    // The same Kubernetes as v1.
    Recipe {
        name: "v1-later",
        base: Base::First,
        extra: &[File("usr/share/careen-rig/generation", "1, later\n")],
        ..V2
    },
    V2,
    Recipe {
        name: "v2-same-kernel",
        base: Base::SecondOnFirstKernel,
        ..V2
    },
    Recipe {
        name: "new-users",
        base: Base::SecondOnFirstKernel,
        extra: NEW_USERS,
        ..V2
    },
    Recipe {
        name: "v3",
        day: 3,
        extra: &[File("usr/share/careen-rig/generation", "3\n")],
        ..V2
    },
    Recipe {
        name: "v4",
        day: 4,
        extra: &[File("usr/share/careen-rig/generation", "4\n")],
        ..V2
    },
    // As good as the others, but its containerd writes state in a later format.
    Recipe {
        name: "newer-containerd",
        extra: &[
            Built("usr/bin/containerd", &["containerd"]),
            Built("usr/bin/containerd-shim-runc-v2", &["containerd", "shim"]),
        ],
        ..V2
    },
    GUARD_ALONE,
    // Refused before anything is deployed.
    Recipe {
        name: "unsigned",
        signer: Signer::Nobody,
        ..bad("", MARKED)
    },
    Recipe {
        name: "wrong-key",
        signer: Signer::Stranger,
        ..bad("", MARKED_TOO)
    },
    Recipe {
        name: "no-stage",
        initramfs: Some(Initramfs::WithoutStage),
        ..V2
    },
    // Masked where nothing that the node keeps in /etc can enable it.
    bad(
        "no-deadman",
        &[Link(
            "usr/lib/systemd/system/careen-deadman.timer",
            "/dev/null",
        )],
    ),
    Recipe {
        name: "no-kernel",
        initramfs: None,
        ..V2
    },
    Recipe {
        name: "other-arch",
        architecture: "aarch64",
        ..V2
    },
    Recipe {
        name: "downgrade",
        says: Some("v1.34.0"),
        ..V2
    },
    Recipe {
        name: "too-new",
        says: Some("v1.37.0"),
        ..V2
    },
    // Bad in the trial.
    Recipe {
        name: "version-lies",
        base: Base::First,
        says: Some("v1.36.3"),
        ..V2
    },
    Recipe {
        name: "no-root",
        base: Base::First,
        initramfs: Some(Initramfs::WithoutDisk),
        ..V2
    },
    Recipe {
        name: "no-prepare-root",
        base: Base::First,
        initramfs: Some(Initramfs::WithoutPrepareRoot),
        ..V2
    },
    Recipe {
        name: "initramfs-hangs",
        base: Base::First,
        initramfs: Some(Initramfs::Hanging),
        ..V2
    },
    early(
        "panic",
        &[
            File(
                "usr/lib/systemd/system/rig-panic.service",
                "[Unit]\nDefaultDependencies=no\nBefore=sysinit.target\n[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo c >/proc/sysrq-trigger'\n",
            ),
            Link(
                "usr/lib/systemd/system/sysinit.target.wants/rig-panic.service",
                "../rig-panic.service",
            ),
        ],
    ),
    early(
        "hang",
        &[
            File(
                "usr/lib/systemd/system/rig-hang.service",
                "[Unit]\nDefaultDependencies=no\nBefore=sysinit.target\n[Service]\nType=oneshot\nTimeoutStartSec=infinity\nExecStart=/bin/sleep infinity\n",
            ),
            Link(
                "usr/lib/systemd/system/sysinit.target.wants/rig-hang.service",
                "../rig-hang.service",
            ),
        ],
    ),
    // Nothing of lower priority, including systemd, can run any more on the only processor. Neither
    // the throttling of real-time work nor, from Linux 6.12 on, the server that keeps a share for
    // the rest prevents it.
    early(
        "deaf",
        &[
            Program(
                "usr/libexec/careen-rig/deaf",
                "sleep 5\nmount -t debugfs none /sys/kernel/debug\nfor share in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 >\"$share\"; done\necho -1 >/proc/sys/kernel/sched_rt_runtime_us\nexec chrt --fifo 99 sh -c 'while :; do :; done'\n",
            ),
            File(
                "usr/lib/systemd/system/rig-deaf.service",
                "[Unit]\nDefaultDependencies=no\nAfter=systemd-remount-fs.service\n[Service]\nExecStart=/usr/libexec/careen-rig/deaf\n",
            ),
            Link(
                "usr/lib/systemd/system/sysinit.target.wants/rig-deaf.service",
                "../rig-deaf.service",
            ),
        ],
    ),
    bad(
        "kubeadm-fails",
        &[Program(
            "usr/bin/kubeadm",
            "echo 'kubeadm: broken on purpose' >&2\nexit 1\n",
        )],
    ),
    bad("kubelet-crash", KUBELET_CRASHES),
    Recipe {
        name: "guard-alone-kubelet-crash",
        day: 4,
        extra: KUBELET_CRASHES,
        ..GUARD_ALONE
    },
    bad(
        "no-pause",
        &[File(
            "usr/etc/containerd/config.toml",
            CONTAINERD_WITHOUT_PAUSE,
        )],
    ),
    // modules.dep still names it.
    bad("no-vxlan", &[NoModule("drivers/net/vxlan/vxlan.ko.xz")]),
    bad(
        "check-fails",
        &[Program(
            "usr/lib/careen/required.d/50-rig",
            "echo 'the rig says no'\nexit 1\n",
        )],
    ),
    // systemd starts it again and again, so it is never in the state `failed`. Its user is missing:
    // /etc/passwd is the node's.
    bad(
        "service-dies",
        &[
            File(
                "usr/lib/systemd/system/rig-dies.service",
                "[Unit]\nStartLimitIntervalSec=0\n[Service]\nUser=rig-nobody-has-me\nExecStart=/bin/sleep infinity\nRestart=always\nRestartSec=1\n",
            ),
            Link(
                "usr/lib/systemd/system/multi-user.target.wants/rig-dies.service",
                "../rig-dies.service",
            ),
        ],
    ),
    bad(
        "no-network",
        &[
            File(
                "usr/etc/systemd/network/20-wired.network",
                "[Match]\nType=ether\n[Link]\nUnmanaged=yes\n",
            ),
            // Without this it would wait two minutes for a network that never comes, and the
            // kubelet with it.
            File(
                "usr/lib/systemd/system/systemd-networkd-wait-online.service.d/rig.conf",
                "[Service]\nTimeoutStartSec=5\n",
            ),
        ],
    ),
    bad(
        "no-agent",
        &[Program("usr/libexec/careen/careen-agent", "exit 1\n")],
    ),
];

/// Two services with users of their own: one in /etc with the id that `useradd -r` takes first on a
/// node, one that systemd creates.
const NEW_USERS: &[Extra] = &[
    Append("usr/etc/passwd", "rig-etc:x:999:999::/:/usr/sbin/nologin\n"),
    Append("usr/etc/group", "rig-etc:x:999:\n"),
    File("usr/lib/sysusers.d/rig.conf", "u rig-sysusers -\n"),
    File(
        "usr/lib/systemd/system/rig-user@.service",
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nUser=rig-%i\nExecStart=/bin/true\n",
    ),
    Link(
        "usr/lib/systemd/system/multi-user.target.wants/rig-user@etc.service",
        "../rig-user@.service",
    ),
    Link(
        "usr/lib/systemd/system/multi-user.target.wants/rig-user@sysusers.service",
        "../rig-user@.service",
    ),
    Program(
        "usr/lib/careen/required.d/50-users",
        "systemctl is-active rig-user@etc && systemctl is-active rig-user@sysusers\n",
    ),
];

/// As the base's configuration, with a sandbox image that no registry has.
const CONTAINERD_WITHOUT_PAUSE: &str = r#"version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.example.com/pause:9.9"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
"#;

const KUBELET_CRASHES: &[Extra] = &[Program(
    "usr/bin/kubelet",
    "echo 'kubelet: broken on purpose' >&2\nexit 1\n",
)];

/// Signatures belong to a commit, so no good image may share these two commits.
const MARKED: &[Extra] = &[File("usr/share/careen-rig/generation", "unsigned\n")];
const MARKED_TOO: &[Extra] = &[File("usr/share/careen-rig/generation", "wrong key\n")];

/// The image of that name.
pub fn find(name: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.name == name)
}

impl Recipe {
    /// What `image.json` says, with or without what a control plane needs.
    pub fn image_json(&self, carries_control: bool) -> String {
        let kubernetes = self.says.unwrap_or_else(|| self.base.kubernetes());
        let stage = if self.initramfs == Some(Initramfs::WithoutStage) {
            ""
        } else {
            r#","stage":1"#
        };
        let control = if carries_control {
            r#","control":1"#
        } else {
            ""
        };
        format!(
            "{{\"format\":1,\"kubernetes\":\"{kubernetes}\",\"architecture\":\"{}\"{stage}{control}}}\n",
            self.architecture
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_one_image() {
        for (index, recipe) in RECIPES.iter().enumerate() {
            assert!(
                RECIPES[index + 1..]
                    .iter()
                    .all(|other| other.name != recipe.name),
                "{}",
                recipe.name
            );
        }
    }

    #[test]
    fn an_image_without_the_stage_does_not_claim_it() {
        let json = find("no-stage").map(|image| image.image_json(false));
        assert_eq!(
            json.as_deref(),
            Some("{\"format\":1,\"kubernetes\":\"v1.36.3\",\"architecture\":\"x86_64\"}\n")
        );
    }

    #[test]
    fn an_image_with_all_programs_declares_control_and_no_other() {
        for recipe in RECIPES {
            let json = recipe.image_json(true);
            assert!(json.ends_with(",\"control\":1}\n"), "{json}");
            let json = recipe.image_json(false);
            assert!(!json.contains("control"), "{json}");
        }
    }

    #[test]
    fn image_without_an_agent_still_declares_its_initramfs_guard() {
        let those = RECIPES.iter().filter(|it| it.ours == Ours::Nothing);
        for recipe in those {
            let json = recipe.image_json(false);
            assert!(json.contains("\"stage\":1"), "{}: {json}", recipe.name);
        }
    }
}
