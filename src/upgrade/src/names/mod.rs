//! Every name that two components must agree on, in one place: who writes it, who reads it, which
//! values it takes.
//!
//! `docs/names.md` is rendered from [`TABLE`] and checked for drift. No name may be in the
//! `node.cluster.x-k8s.io` domain: Cluster API owns it and would overwrite ours.

mod boot;
mod node;
mod origin;
mod paths;
mod refs;
mod row;
mod units;

pub use boot::{GENERATOR, GENERATOR_VARIABLE, INITRAMFS_ARGUMENT, TRIAL_ARGUMENT};
pub use node::{
    ANSWER, CONDITION, CORDONED_BY, DISRUPTION_REFUSED, DISRUPTION_REFUSED_BY, DRAIN_IN_PROGRESS,
    DRAINED, EXCLUDED, EXCLUDED_BY, FAILURE_REASON, HISTORY, IMAGE, KEPT_IMAGE, KUBERNETES_VERSION,
    LIFECYCLE, LIFECYCLE_REASON, MAINTENANCE_IN_PROGRESS, MAINTENANCE_PLANNED, OPT_OUT, PAUSED,
    PLAN, PLAN_RESULT, REMEDIATION_REFUSED, REMEDIATION_REFUSED_BY, REQUEST, REQUEST_NAME,
    REQUEST_SCHEDULED, SCALE_DOWN_REFUSED, SCALE_DOWN_REFUSED_BY, SOAK, STATUS, UPGRADE_ID,
};
pub use origin::{ORIGIN_BLESSING, ORIGIN_GROUP, ORIGIN_KEPT, ORIGIN_PINNED};
pub use paths::{
    AGENT_LOCK, AGENTS_DIR, CARRIED_IMAGES, CLOCK_MARK, CONTROL_FOLDERS, CONTROL_LOCK,
    CRITICAL_FILES, DEADMAN_NOTE, ETC_NOTES, ETCD_SNAPSHOTS, EVIDENCE_NOTE, GRUBENV, HOST_DIR,
    HOST_REACHED, HOST_REQUEST, IMAGE_INFO, INITRAMFS_NOTE, KUBELET_CONF, KUBERNETES, LAST_POLICY,
    MANIFESTS, PASSED_MARK, POD_GENERATOR, POD_UNITS, POLICY_FILE, POST_HOOKS, PRE_HOOKS,
    RECORD_FILES, REQUIRED_CHECKS, RUN_DIR, SETTINGS_NOTE, SHARED_KUBERNETES, SNAPSHOT_FOLDERS,
    SNAPSHOT_LISTS, STATE_DIR, TRIAL_NOTE, UNFINISHED, UNPACKED, VERDICT_NOTES, VOLUMES_NOTE,
    WANTED_CHECKS, ZONES,
};
pub use refs::{IMAGE_REFS, PLAN_REF, TARGET_REF};
pub use row::{Kind, Name};
pub use units::{
    AGENT_UNIT, CHECK_UNIT, DEADMAN_TIMER, DEADMAN_UNIT, DEPLOY_UNITS, FALLBACK_UNIT, GATE_UNIT,
    GUARD_UNIT, INITRD_DEADMAN_TIMER, INITRD_DEADMAN_UNIT, KUBEADM_UNIT, KUBELET_UNIT,
    KUBERNETES_MOUNT, PLAN_UNIT, REPAIR_UNIT, RESTORE_UNIT, RUNTIME_UNIT, VERIFY_UNIT,
};

/// The rows by kind, in the order of the docs.
const PARTS: [&[Name]; 6] = [
    node::ROWS,
    units::ROWS,
    paths::ROWS,
    refs::ROWS,
    origin::ROWS,
    boot::ROWS,
];

/// Rows of the table, in the order of the docs.
pub const TABLE: &[Name] = &joined();

const LENGTH: usize = length();

const fn length() -> usize {
    let (mut length, mut part) = (0, 0);
    while part < PARTS.len() {
        length += PARTS[part].len();
        part += 1;
    }
    length
}

/// All parts in one array. A constant cannot use iterators.
const fn joined() -> [Name; LENGTH] {
    let mut all = [PARTS[0][0]; LENGTH];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            all[at] = PARTS[part][row];
            (at, row) = (at + 1, row + 1);
        }
        part += 1;
    }
    all
}

/// Renders the reference table as Markdown.
#[must_use]
pub fn table() -> String {
    let mut text =
        String::from("| name | kind | writer | reader | values |\n|---|---|---|---|---|\n");
    for row in TABLE {
        text += &format!(
            "| `{}` | {:?} | {} | {} | {} |\n",
            row.name, row.kind, row.writer, row.reader, row.values
        );
    }
    text
}
