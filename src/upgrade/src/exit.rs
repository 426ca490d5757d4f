//! How our programs end, for units and scripts. `docs/exit-codes.md` is rendered from [`TABLE`] and checked for drift; each
//! program's own tests see it end so.

/// It is done, or there was nothing to do.
pub const DONE: u8 = 0;
/// It could not be done; standard error says why.
pub const FAILED: u8 = 1;
/// It was called wrongly and has touched nothing. What clap ends with too.
pub const USAGE: u8 = 2;
/// `careen-stage --dry-run` would have rebooted.
pub const WOULD_REBOOT: u8 = 3;
/// `careen-agent doctor` has found something bad. Not [`USAGE`]: a script's slip of the pen says nothing of the node.
pub const UNFIT: u8 = 3;
/// `careen-agent doctor` has found something to look at, and nothing bad. Above [`UNFIT`], which was there first and keeps its number;
/// not [`FAILED`]: a doctor that could not look says nothing of the node.
pub const LOOK: u8 = 4;

/// One row of the reference table.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// The program, with the verb where that matters, as Markdown.
    pub program: &'static str,
    /// What it ends with.
    pub code: u8,
    /// When, for a person.
    pub when: &'static str,
}

/// Rows of the table, in the order in which they are documented.
pub const TABLE: &[Exit] = &[
    row("`careen-agent`", DONE, "it was told to stop (SIGTERM)"),
    row("`careen-agent`", FAILED, "it could not start"),
    row(
        "`careen-agent record`",
        DONE,
        "the record is on standard output; that of a node that was never asked is there too",
    ),
    row("`careen-agent record`", FAILED, "the record cannot be read"),
    row("`careen-agent doctor`", DONE, "all is well"),
    row("`careen-agent doctor`", FAILED, "it could not begin"),
    row(
        "`careen-agent doctor`",
        UNFIT,
        "something is bad: an upgrade would be refused, or could not be trusted",
    ),
    row(
        "`careen-agent doctor`",
        LOOK,
        "nothing is bad, and something is to be looked at: an upgrade works",
    ),
    row(
        "`careen-installer`",
        DONE,
        "it was told to stop; for `ready`: what runs on the node is what this pod wants, and is well",
    ),
    row(
        "`careen-installer`",
        FAILED,
        "it could not begin; for `ready`: not so, and standard output says why",
    ),
    row(
        "`careen-agent metrics`",
        DONE,
        "the metrics are on standard output",
    ),
    row(
        "`careen-agent metrics`",
        FAILED,
        "this system cannot be looked at",
    ),
    row(
        "`careen-agent kubeadm-upgrade`",
        DONE,
        "also when kubeadm failed: the kubelet must start either way, and the agent judges",
    ),
    row(
        "`careen-deploy`",
        DONE,
        "the last line on standard output is `done`; for `thaw`, which prints none: no run of ours has left /boot or / frozen",
    ),
    row(
        "`careen-deploy`",
        FAILED,
        "the last line is `failed`, with the reason; for `thaw`: a place could not be thawed",
    ),
    row(
        "`careen-stage`",
        DONE,
        "this boot goes on; for `gate`: it counts as good; for `restore`: the kubelet's state is what it must be",
    ),
    row(
        "`careen-stage`",
        FAILED,
        "the reboot that is due was refused; for `gate`: this boot cannot be judged; for `restore`: the state could not be put back, and the boot goes on",
    ),
    row(
        "`careen-stage`",
        WOULD_REBOOT,
        "with `--dry-run` alone: it would have rebooted",
    ),
    row("`careen-grub`", DONE, "grub.cfg is written"),
    row("`careen-grub`", FAILED, "grub.cfg is left as it was"),
    row(
        "`careen-image`",
        DONE,
        "the image is where it was to go; what careen.dev/image takes is on standard output",
    ),
    row(
        "`careen-image`",
        FAILED,
        "no such commit, or it could not be pushed; standard error says why",
    ),
    row(
        "`careen-provider`",
        DONE,
        "it was told to stop, or `manifests` are written",
    ),
    row(
        "`careen-provider`",
        FAILED,
        "it could not begin, or a part of it has ended that has no end",
    ),
    row(
        "each of them",
        USAGE,
        "it was called wrongly; nothing was touched",
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
