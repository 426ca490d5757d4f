//! The exit codes of our programs, for units and scripts. `docs/exit-codes.md` is rendered from
//! [`TABLE`] and checked for drift. Each program's own tests verify its codes.

/// The program succeeded, or there was nothing to do.
pub const DONE: u8 = 0;
/// The program failed; standard error says why.
pub const FAILED: u8 = 1;
/// The program was called with wrong arguments and changed nothing. clap uses the same code.
pub const USAGE: u8 = 2;
/// `careen-stage --dry-run` would have rebooted.
pub const WOULD_REBOOT: u8 = 3;
/// `careen-agent doctor` or `careen-control survey` found a problem, or another verb of
/// `careen-control` refused. Not [`USAGE`], because a typing error in a script says nothing about
/// the node.
pub const UNFIT: u8 = 3;
/// `careen-agent doctor` found something to check, but no problem. Above [`UNFIT`], which came
/// first and keeps its number. Not [`FAILED`], because a doctor that could not look says nothing
/// about the node.
pub const LOOK: u8 = 4;

/// A check in `required.d` fails for the image (`EX_SOFTWARE`, sysexits.h): it has looked at what
/// the image brings.
pub const CHECK_BLAMES_THE_IMAGE: u8 = 70;
/// A check in `required.d` fails for something outside of this node (`EX_TEMPFAIL`, sysexits.h): a
/// service that it asks is away.
pub const CHECK_BLAMES_A_NEIGHBOUR: u8 = 75;
/// A check in `required.d` fails for this node's own files or hardware (`EX_CONFIG`, sysexits.h).
pub const CHECK_BLAMES_THE_NODE: u8 = 78;

/// One row of the reference table.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// The program, with the verb where that matters, as Markdown.
    pub program: &'static str,
    /// Its exit code.
    pub code: u8,
    /// When the program ends with it, for display.
    pub when: &'static str,
}

/// Rows of the table, in the order of the docs.
pub const TABLE: &[Exit] = &[
    row("`careen-agent`", DONE, "it was asked to stop (SIGTERM)"),
    row("`careen-agent`", FAILED, "it could not start"),
    row(
        "`careen-agent record`",
        DONE,
        "the record is on standard output, also that of a node without any request",
    ),
    row("`careen-agent record`", FAILED, "the record cannot be read"),
    row("`careen-agent doctor`", DONE, "all checks are ok"),
    row("`careen-agent doctor`", FAILED, "it could not begin"),
    row(
        "`careen-agent doctor`",
        UNFIT,
        "something is bad: an upgrade would be refused, or could not be trusted",
    ),
    row(
        "`careen-agent doctor`",
        LOOK,
        "nothing is bad, and something needs a check: an upgrade works",
    ),
    row(
        "`careen-installer`",
        DONE,
        "it was asked to stop; for `ready`: the node runs what this pod wants, and it is healthy",
    ),
    row(
        "`careen-installer`",
        FAILED,
        "it could not begin; for `ready`: it is not ready, and standard output says why",
    ),
    row(
        "`careen-agent metrics`",
        DONE,
        "the metrics are on standard output",
    ),
    row(
        "`careen-agent metrics`",
        FAILED,
        "it cannot read this system's state",
    ),
    row(
        "`careen-agent kubeadm-upgrade`",
        DONE,
        "also when kubeadm failed: the kubelet must start either way, and the agent evaluates the trial",
    ),
    row(
        "`careen-deploy`",
        DONE,
        "the last line on standard output is `done`; for `thaw`, which prints none: no run of careen-deploy left /boot or / frozen",
    ),
    row(
        "`careen-deploy`",
        FAILED,
        "the last line is `failed`, with the reason; for `thaw`: a place could not be thawed",
    ),
    row(
        "`careen-stage`",
        DONE,
        "this boot continues; for `gate`: it counts as good; for `restore`: the kubelet's state is as it must be; for `repair`: each manifest is there",
    ),
    row(
        "`careen-stage`",
        FAILED,
        "the due reboot was refused; for `gate`: this boot could not be evaluated; for `restore` and `repair`: that could not be done, and the boot continues",
    ),
    row(
        "`careen-stage`",
        WOULD_REBOOT,
        "with `--dry-run` alone: it would have rebooted",
    ),
    row("`careen-grub`", DONE, "grub.cfg is written"),
    row("`careen-grub`", FAILED, "grub.cfg is unchanged"),
    row(
        "`careen-image`",
        DONE,
        "the image is pushed; standard output has the value for careen.dev/image",
    ),
    row(
        "`careen-image`",
        FAILED,
        "no such commit, or it could not be pushed; standard error says why",
    ),
    row(
        "`careen-control survey`",
        DONE,
        "nothing is in the way of an upgrade of this control plane",
    ),
    row(
        "`careen-control survey`",
        FAILED,
        "this node runs no control plane of kubeadm's, or the survey could not begin",
    ),
    row(
        "`careen-control survey`",
        UNFIT,
        "a finding is `refuse` or `wait`",
    ),
    row(
        "`careen-control survey`",
        LOOK,
        "no finding is worse than `warn`",
    ),
    row(
        "`careen-control lock`",
        DONE,
        "this upgrade holds the lock of the control plane; it was read back",
    ),
    row(
        "`careen-control lock`",
        FAILED,
        "this node runs no control plane of kubeadm's, or the lock could not be read or written",
    ),
    row(
        "`careen-control lock`",
        UNFIT,
        "another upgrade or a person holds the lock",
    ),
    row(
        "`careen-control unlock`",
        DONE,
        "this upgrade does not hold the lock: it released it now, or had none",
    ),
    row(
        "`careen-control unlock`",
        FAILED,
        "this node runs no control plane of kubeadm's, or the lock could not be read or removed",
    ),
    row(
        "`careen-control save`",
        DONE,
        "the snapshot of etcd is verified and on the disk",
    ),
    row(
        "`careen-control save`",
        FAILED,
        "there is no new snapshot: this node runs no control plane of kubeadm's, etcd broke off, or the disk refused",
    ),
    row(
        "`careen-control save`",
        UNFIT,
        "no snapshot was begun: etcd's data may be old or wrong, there is too little room, or etcd is not here",
    ),
    row(
        "`careen-control yield`",
        DONE,
        "also when nothing was moved: the answer says what was done, or why not",
    ),
    row(
        "`careen-control yield`",
        FAILED,
        "this node runs no control plane of kubeadm's",
    ),
    row(
        "`careen-control raise`",
        DONE,
        "this node's control plane is at the version on standard output, and serves",
    ),
    row(
        "`careen-control raise`",
        FAILED,
        "it is not; standard output has the phase and the cause as JSON",
    ),
    row(
        "`careen-control give-up`",
        DONE,
        "the raise is over, and no repair changes a manifest",
    ),
    row(
        "`careen-control give-up`",
        FAILED,
        "a raise runs, or a manifest could not be repaired: the raise is still under way",
    ),
    row(
        "`careen-provider`",
        DONE,
        "it was asked to stop, or the manifests are written",
    ),
    row(
        "`careen-provider`",
        FAILED,
        "it could not begin, or one of its tasks ended",
    ),
    row(
        "a check in `required.d`",
        CHECK_BLAMES_THE_IMAGE,
        "it fails for what the image brings; the image is remembered as bad",
    ),
    row(
        "a check in `required.d`",
        CHECK_BLAMES_A_NEIGHBOUR,
        "it fails for something outside of this node; the image is not remembered as bad",
    ),
    row(
        "a check in `required.d`",
        CHECK_BLAMES_THE_NODE,
        "it fails for this node's own files or hardware; the image is not remembered as bad",
    ),
    row(
        "each of them",
        USAGE,
        "it was called wrongly; nothing was changed",
    ),
];

const fn row(program: &'static str, code: u8, when: &'static str) -> Exit {
    Exit {
        program,
        code,
        when,
    }
}

/// Renders the reference table as Markdown.
#[must_use]
pub fn table() -> String {
    let rows = TABLE
        .iter()
        .map(|exit| format!("| {} | {} | {} |\n", exit.program, exit.code, exit.when));
    format!(
        "| program | code | when |\n|---|---|---|\n{}",
        rows.collect::<String>()
    )
}
