//! The scenarios, one file each; the name of the file is the name of the scenario.

use crate::scenario::Scenario;

mod a_daemonset_brings_the_first_agent;
mod a_daemonset_rolls_out_in_the_middle_of_an_upgrade;
mod a_person_reboots_in_between;
mod agent_dead_in_the_trial;
mod agent_killed_in_every_phase_resumes;
mod api_away_for_longer_than_the_hold;
mod api_away_until_after_the_deadline;
mod bad_image_is_tried_then_refused;
mod bad_requests_are_refused;
mod boot_full_is_refused;
mod boot_on_lvm_is_refused;
mod clock_jumps_during_the_drain;
mod cluster_api_holds_at_a_bad_image_and_heals;
mod cluster_api_upgrades_a_node;
mod deploy_killed_while_frozen_does_not_hang;
mod foreign_cordon_stays;
mod goes_back_to_what_it_has_kept;
mod inhibitor_held_up_then_a_full_reboot;
mod initramfs_without_its_root_falls_back;
mod kernel_panic_falls_back;
mod kubelet_crash_loop_falls_back;
mod logind_hangs_and_comes_back;
mod new_system_without_network_falls_back;
mod node_never_ready_falls_back;
mod pdb_never_allows_aborts;
mod power_cut_between_bless_and_report;
mod power_cut_in_the_initramfs;
mod power_cut_in_trial;
mod power_cut_while_armed;
mod power_cut_while_deploying;
mod prelude;
mod required_check_fails_falls_back;
mod stock_grub_mkconfig_falls_back_and_upgrades;
mod tampered_file_is_refused_by_the_stage;
mod three_upgrades_in_a_row;
mod uefi_fallback;
mod uefi_upgrade;
mod upgrade_with_a_new_kernel;
mod upgrade_with_the_same_kernel;
mod upgrades_from_a_container_registry;
mod userspace_hang_falls_back;
mod version_lies_falls_back;
mod withdrawn_while_draining;
mod withdrawn_while_fetching;

/// All of them in the order in which `all` runs them: the core first, its longest first, so that two lanes end together.
pub const ALL: &[Scenario] = &[
    api_away_until_after_the_deadline::SCENARIO,
    power_cut_in_trial::SCENARIO,
    kubelet_crash_loop_falls_back::SCENARIO,
    upgrade_with_a_new_kernel::SCENARIO,
    pdb_never_allows_aborts::SCENARIO,
    inhibitor_held_up_then_a_full_reboot::SCENARIO,
    logind_hangs_and_comes_back::SCENARIO,
    clock_jumps_during_the_drain::SCENARIO,
    a_daemonset_brings_the_first_agent::SCENARIO,
    a_daemonset_rolls_out_in_the_middle_of_an_upgrade::SCENARIO,
    a_person_reboots_in_between::SCENARIO,
    agent_dead_in_the_trial::SCENARIO,
    agent_killed_in_every_phase_resumes::SCENARIO,
    api_away_for_longer_than_the_hold::SCENARIO,
    bad_image_is_tried_then_refused::SCENARIO,
    bad_requests_are_refused::SCENARIO,
    boot_full_is_refused::SCENARIO,
    boot_on_lvm_is_refused::SCENARIO,
    cluster_api_holds_at_a_bad_image_and_heals::SCENARIO,
    cluster_api_upgrades_a_node::SCENARIO,
    deploy_killed_while_frozen_does_not_hang::SCENARIO,
    foreign_cordon_stays::SCENARIO,
    goes_back_to_what_it_has_kept::SCENARIO,
    initramfs_without_its_root_falls_back::SCENARIO,
    kernel_panic_falls_back::SCENARIO,
    new_system_without_network_falls_back::SCENARIO,
    node_never_ready_falls_back::SCENARIO,
    power_cut_between_bless_and_report::SCENARIO,
    power_cut_in_the_initramfs::SCENARIO,
    power_cut_while_armed::SCENARIO,
    power_cut_while_deploying::SCENARIO,
    required_check_fails_falls_back::SCENARIO,
    stock_grub_mkconfig_falls_back_and_upgrades::SCENARIO,
    tampered_file_is_refused_by_the_stage::SCENARIO,
    three_upgrades_in_a_row::SCENARIO,
    uefi_fallback::SCENARIO,
    uefi_upgrade::SCENARIO,
    upgrade_with_the_same_kernel::SCENARIO,
    upgrades_from_a_container_registry::SCENARIO,
    userspace_hang_falls_back::SCENARIO,
    version_lies_falls_back::SCENARIO,
    withdrawn_while_draining::SCENARIO,
    withdrawn_while_fetching::SCENARIO,
];

/// Whether a scenario wants the managers of Cluster API, which must be built before it begins: in a lane there is no network.
#[must_use]
pub fn is_on_cluster_api(name: &str) -> bool {
    let those = [
        cluster_api_holds_at_a_bad_image_and_heals::SCENARIO,
        cluster_api_upgrades_a_node::SCENARIO,
    ];
    those.iter().any(|that| that.name == name)
}

/// Whether a scenario wants a registry, whose programs must be there before it begins: in a lane there is no network.
#[must_use]
pub fn wants_a_registry(name: &str) -> bool {
    let those = [
        a_daemonset_brings_the_first_agent::SCENARIO,
        a_daemonset_rolls_out_in_the_middle_of_an_upgrade::SCENARIO,
        upgrades_from_a_container_registry::SCENARIO,
    ];
    those.iter().any(|that| that.name == name)
}
