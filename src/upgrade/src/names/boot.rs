//! Names for the boot loader and the kernel.

use super::row::{Kind, Name, row};

/// Our generator of grub.cfg, if the image has it.
pub const GENERATOR: &str = "/usr/libexec/careen/careen-grub";
/// In the environment of libostree: the generator that it runs instead of grub-mkconfig.
pub const GENERATOR_VARIABLE: &str = "OSTREE_GRUB2_EXEC";
/// On the kernel command line of a trial, and only there.
pub const TRIAL_ARGUMENT: &str = "careen.trial=1";

/// On the kernel command line of a trial: when the deadman of the initramfs ends it, in seconds
/// since boot. Without it, 180.
pub const INITRAMFS_ARGUMENT: &str = "careen.initramfs-seconds=";

/// Their rows of the table.
pub(super) const ROWS: &[Name] = &[
    row(
        TRIAL_ARGUMENT,
        Kind::KernelArgument,
        "careen-grub",
        "agent, stage, units",
        "",
    ),
    row(
        INITRAMFS_ARGUMENT,
        Kind::KernelArgument,
        "careen-grub, careen-deploy",
        "stage",
        "a number of seconds, if the initramfs has more time than the default",
    ),
];
