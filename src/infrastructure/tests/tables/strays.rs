//! The mark of a Node that no machine has.

use infrastructure::{HostNode, NodeAct, Policy, look_at_node};

#[test]
fn node_that_no_machine_has_is_marked_and_unmarked() {
    let node = |claimed, marked, seconds| HostNode {
        claimed,
        marked,
        seconds,
        paused: false,
    };
    let policy = Policy::default();
    for (what, node, act) in [
        ("has a machine", node(true, false, 9999), None),
        ("for a while", node(false, false, 1199), None),
        ("for long", node(false, false, 1200), Some(NodeAct::Mark)),
        ("marked", node(false, true, 9999), None),
        ("back", node(true, true, 0), Some(NodeAct::Unmark)),
    ] {
        assert_eq!(look_at_node(node, &policy), act, "{what}");
        let paused = HostNode {
            paused: true,
            ..node
        };
        assert_eq!(look_at_node(paused, &policy), None, "{what}, paused");
    }
}
