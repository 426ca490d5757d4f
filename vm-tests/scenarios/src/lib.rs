//! The scenarios, one file each. The name of the file is the name of the scenario. Those that
//! differ only by a bad image are rows of `bad_images.rs`.

mod a_daemonset_changes_while_an_upgrade_waits;
mod a_daemonset_rolls_out_in_the_middle_of_an_upgrade;
mod a_daemonset_serves_images_without_an_agent;
mod a_damaged_old_kernel_starts_no_unproven_system;
mod a_disk_that_answers_no_more_ends_the_trial;
mod a_failed_check_gives_back_state_and_pods;
mod a_killed_deploy_and_power_cuts_lose_nothing;
mod a_moved_default_on_stock_grub_does_not_loop;
mod a_node_health_operator_resets_the_trial;
mod a_node_without_its_module_and_huge_pages_falls_back;
mod a_person_boots_the_old_system_of_a_blessed_node;
mod a_person_reboots_at_every_step;
mod a_prepared_host_joins_and_is_given_back;
mod a_site_without_a_steady_api_server;
mod a_system_without_a_network_is_not_blessed_alone;
mod a_volume_that_detaches_late_delays_the_reboot;
mod an_archive_on_the_node_upgrades_it;
mod an_image_without_guard_or_zone_wants_the_policys_word;
mod an_operators_policy_is_kept_on_the_way;
mod an_unreadable_kernel_falls_back;
mod api_away_until_after_the_deadline;
mod bad_image_is_tried_then_refused;
mod bad_images;
mod bad_requests_are_refused;
mod boot_full_is_refused;
mod boot_on_lvm_is_refused;
mod careen_of_two_ages_on_one_node;
mod clock_jumps_and_an_inhibitor_only_delay_the_reboot;
mod clock_wrong_over_a_trial;
mod cluster_api_holds_at_a_bad_image_and_heals;
mod cluster_api_upgrades_a_node;
mod control_plane_node_is_upgraded_in_place;
mod damaged_grubenv_boots_the_old_system;
mod dripping_remote_is_given_up;
mod four_upgrades_in_a_row;
mod hours_by_a_clock_nobody_has_set;
mod initramfs_hangs_falls_back;
mod initramfs_without_its_root_falls_back;
mod kills_and_reboots_on_the_way_back_lose_nothing;
mod kubeadm_fails_falls_back;
mod kubectl_careen_takes_a_node_there_and_back;
mod one_kubernetes_folder_for_all_deployments;
mod others_cannot_take_what_a_trial_falls_back_to;
mod pdb_never_allows_aborts;
mod power_cut_in_trial;
mod power_cuts_around_the_trial;
mod power_cuts_before_the_trial;
mod power_cuts_on_the_way_back;
mod prelude;
mod programs_killed_in_every_phase_come_back;
mod scenario;
mod short_memory_automount_and_kexec_stop_no_upgrade;
mod somebody_stages_another_system_before_the_reboot;
mod stock_grub_mkconfig_falls_back_and_upgrades;
mod tampered_file_is_refused_by_the_stage;
mod the_metrics_proxy_as_a_pod;
mod uefi_falls_back_and_upgrades;
mod unsigned_zstd_image_leaves_nothing;
mod upgrade_with_a_new_kernel;
mod upgrades_from_a_container_registry;
mod what_a_node_has_of_its_own_spoils_no_upgrade;
mod what_a_node_waits_for_is_told_and_the_upgrade_goes_on;
mod withdrawn_while_fetching;

pub use scenario::Scenario;

/// All scenarios in the order in which `all` runs them: the core first, starting with its longest,
/// so that two lanes end together.
pub const ALL: &[Scenario] = &[
    api_away_until_after_the_deadline::SCENARIO,
    power_cut_in_trial::SCENARIO,
    bad_image_is_tried_then_refused::SCENARIO,
    unsigned_zstd_image_leaves_nothing::SCENARIO,
    upgrade_with_a_new_kernel::SCENARIO,
    others_cannot_take_what_a_trial_falls_back_to::SCENARIO,
    pdb_never_allows_aborts::SCENARIO,
    a_daemonset_changes_while_an_upgrade_waits::SCENARIO,
    a_daemonset_rolls_out_in_the_middle_of_an_upgrade::SCENARIO,
    a_daemonset_serves_images_without_an_agent::SCENARIO,
    a_damaged_old_kernel_starts_no_unproven_system::SCENARIO,
    a_disk_that_answers_no_more_ends_the_trial::SCENARIO,
    a_failed_check_gives_back_state_and_pods::SCENARIO,
    a_killed_deploy_and_power_cuts_lose_nothing::SCENARIO,
    a_moved_default_on_stock_grub_does_not_loop::SCENARIO,
    a_person_boots_the_old_system_of_a_blessed_node::SCENARIO,
    a_person_reboots_at_every_step::SCENARIO,
    a_prepared_host_joins_and_is_given_back::SCENARIO,
    bad_images::SERVICE_DIES,
    a_site_without_a_steady_api_server::SCENARIO,
    a_system_without_a_network_is_not_blessed_alone::SCENARIO,
    a_volume_that_detaches_late_delays_the_reboot::SCENARIO,
    an_archive_on_the_node_upgrades_it::SCENARIO,
    a_node_health_operator_resets_the_trial::SCENARIO,
    a_node_without_its_module_and_huge_pages_falls_back::SCENARIO,
    an_image_without_guard_or_zone_wants_the_policys_word::SCENARIO,
    hours_by_a_clock_nobody_has_set::SCENARIO,
    an_operators_policy_is_kept_on_the_way::SCENARIO,
    an_unreadable_kernel_falls_back::SCENARIO,
    bad_requests_are_refused::SCENARIO,
    boot_full_is_refused::SCENARIO,
    boot_on_lvm_is_refused::SCENARIO,
    careen_of_two_ages_on_one_node::SCENARIO,
    clock_jumps_and_an_inhibitor_only_delay_the_reboot::SCENARIO,
    clock_wrong_over_a_trial::SCENARIO,
    cluster_api_holds_at_a_bad_image_and_heals::SCENARIO,
    cluster_api_upgrades_a_node::SCENARIO,
    control_plane_node_is_upgraded_in_place::SCENARIO,
    damaged_grubenv_boots_the_old_system::SCENARIO,
    dripping_remote_is_given_up::SCENARIO,
    four_upgrades_in_a_row::SCENARIO,
    one_kubernetes_folder_for_all_deployments::SCENARIO,
    initramfs_hangs_falls_back::SCENARIO,
    initramfs_without_its_root_falls_back::SCENARIO,
    bad_images::KERNEL_PANIC,
    kills_and_reboots_on_the_way_back_lose_nothing::SCENARIO,
    kubeadm_fails_falls_back::SCENARIO,
    kubectl_careen_takes_a_node_there_and_back::SCENARIO,
    power_cuts_around_the_trial::SCENARIO,
    power_cuts_before_the_trial::SCENARIO,
    power_cuts_on_the_way_back::SCENARIO,
    programs_killed_in_every_phase_come_back::SCENARIO,
    bad_images::NO_PAUSE_IMAGE,
    short_memory_automount_and_kexec_stop_no_upgrade::SCENARIO,
    somebody_stages_another_system_before_the_reboot::SCENARIO,
    stock_grub_mkconfig_falls_back_and_upgrades::SCENARIO,
    tampered_file_is_refused_by_the_stage::SCENARIO,
    the_metrics_proxy_as_a_pod::SCENARIO,
    uefi_falls_back_and_upgrades::SCENARIO,
    upgrades_from_a_container_registry::SCENARIO,
    bad_images::USERSPACE_HANGS,
    bad_images::VERSION_LIES,
    bad_images::DEAF,
    what_a_node_has_of_its_own_spoils_no_upgrade::SCENARIO,
    what_a_node_waits_for_is_told_and_the_upgrade_goes_on::SCENARIO,
    withdrawn_while_fetching::SCENARIO,
];

/// Whether a scenario needs the Cluster API managers. They must be built before it starts, because
/// a lane has no network.
#[must_use]
pub fn is_on_cluster_api(name: &str) -> bool {
    let those = [
        a_prepared_host_joins_and_is_given_back::SCENARIO,
        cluster_api_holds_at_a_bad_image_and_heals::SCENARIO,
        cluster_api_upgrades_a_node::SCENARIO,
    ];
    those.iter().any(|that| that.name == name)
}

/// Whether a scenario runs careen-host. It must be built before the scenario starts, as well.
#[must_use]
pub fn wants_a_prepared_host(name: &str) -> bool {
    name == a_prepared_host_joins_and_is_given_back::SCENARIO.name
}

/// Whether a scenario runs `kubectl careen`. The rig builds it before the scenario starts, so that
/// the build takes no time from the node.
#[must_use]
pub fn types_kubectl_careen(name: &str) -> bool {
    let those = [
        a_prepared_host_joins_and_is_given_back::SCENARIO,
        kubectl_careen_takes_a_node_there_and_back::SCENARIO,
    ];
    those.iter().any(|that| that.name == name)
}

/// Whether a scenario needs a registry. Its programs must be there before it starts, because a lane
/// has no network.
#[must_use]
pub fn wants_a_registry(name: &str) -> bool {
    let those = [
        a_daemonset_changes_while_an_upgrade_waits::SCENARIO,
        a_daemonset_rolls_out_in_the_middle_of_an_upgrade::SCENARIO,
        a_daemonset_serves_images_without_an_agent::SCENARIO,
        the_metrics_proxy_as_a_pod::SCENARIO,
        unsigned_zstd_image_leaves_nothing::SCENARIO,
        upgrades_from_a_container_registry::SCENARIO,
    ];
    those.iter().any(|that| that.name == name)
}

/// Whether a scenario needs the CSI driver. It must be built before the scenario starts, because a
/// lane has no network for its modules.
#[must_use]
pub fn wants_a_csi_driver(name: &str) -> bool {
    name == a_volume_that_detaches_late_delays_the_reboot::SCENARIO.name
}

/// Whether a scenario makes the node a control plane. Its programs must be built before the scenario
/// starts, because a lane has no network for their modules.
#[must_use]
pub fn wants_a_control_plane(name: &str) -> bool {
    name == control_plane_node_is_upgraded_in_place::SCENARIO.name
}

/// The samples of power cuts, four cuts each. Every commit runs one of them. The cuts lose what the
/// disk had not flushed, so the rig logs all disk requests from the start.
pub const POWER_CUTS: [&str; 3] = [
    power_cuts_before_the_trial::SCENARIO.name,
    power_cuts_around_the_trial::SCENARIO.name,
    power_cuts_on_the_way_back::SCENARIO.name,
];

/// Whether a scenario's power cuts lose what the disk had not flushed.
#[must_use]
pub fn loses_writes(name: &str) -> bool {
    POWER_CUTS.contains(&name)
}

/// The scenario that a sample replaces. It also cuts the power in the trial.
pub const POWER_CUT: &str = power_cut_in_trial::SCENARIO.name;
