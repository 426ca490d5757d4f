use super::*;

/// What Debian's 00_header (the same in 2.06 and 2.12) and libostree's 15_ostree write.
const STOCK: &str = include_str!("../stock-grub.cfg");
const SECOND: &str = "/ostree/boot.1/debian/bb/0";

fn nothing_saved(_: &str) -> Option<String> {
    None
}

fn saved(name: &'static str, value: &'static str) -> impl Fn(&str) -> Option<String> {
    move |asked| (asked == name).then(|| value.to_owned())
}

fn following_the_saved_entry() -> String {
    STOCK.replace("set default=\"0\"", "set default=\"${saved_entry}\"")
}

#[test]
fn debians_own_configuration_honours_a_one_shot() {
    assert!(Script::read(STOCK).honours_one_shot());
}

#[test]
fn one_that_does_not_save_the_emptied_variable_does_not() {
    let text = STOCK.replace("   save_env next_entry\n", "");
    assert!(!Script::read(&text).honours_one_shot());
    assert!(!Script::read("").honours_one_shot());
}

/// Like bootupd's static configuration: it loads and saves other variables, and reads the boot
/// entries itself.
const READS_ENTRIES: &str = "load_env\nif [ \"${menu_show_once_timeout}\" ]; then\n  \
    set timeout=\"${menu_show_once_timeout}\"\n  unset menu_show_once_timeout\n  \
    save_env menu_show_once_timeout\nfi\nblscfg\n";

#[test]
fn one_that_reads_the_entries_itself_does_not_honour_a_one_shot() {
    assert!(!Script::read(READS_ENTRIES).honours_one_shot());
}

#[test]
fn only_an_entry_with_the_argument_makes_a_trial() {
    assert!(!Script::read(STOCK).makes_a_trial(1));
    let text = STOCK.replace("bb/0 rw", "bb/0 rw careen.trial=1");
    let one = Script::read(&text);
    assert!(one.makes_a_trial(1) && !one.makes_a_trial(0));
}

#[test]
fn a_deployment_is_found_by_its_kernel_line() {
    let script = Script::read(STOCK);
    assert_eq!(script.position_of(SECOND), Some(1));
    assert_eq!(script.position_of("/ostree/boot.1/debian/cc/0"), None);
}

/// The fuzzer found this: a kernel path with a space in it, followed by `ostree=`.
#[test]
fn what_only_the_kernels_path_says_is_no_argument() {
    let path = "/a ostree=/x";
    let text = STOCK.replace("linux ", &format!("linux '{path}' "));
    assert_eq!(Script::read(&text).position_of("/x"), None);
}

#[test]
fn entries_of_a_submenu_do_not_count_and_the_submenu_does() {
    let others = "submenu 'Others' $menuentry_id_option 'others' {\n\tmenuentry 'x' {\n\t\tlinux /x\n\t}\n}\n";
    let at = STOCK.find("menuentry").unwrap();
    let at = STOCK[at..].find("menuentry 'Debian").unwrap() + at;
    let text = format!("{}{others}{}", &STOCK[..at], &STOCK[at..]);
    assert_eq!(Script::read(&text).position_of(SECOND), Some(2));
}

#[test]
fn conditional_entry_makes_its_own_position_uncertain() {
    let script = Script::read(STOCK);
    let certain: Vec<_> = (0..3).map(|position| script.is_certain(position)).collect();
    assert_eq!(certain, [true, true, false]);
}

#[test]
fn the_first_entry_is_the_default_unless_another_is_saved() {
    assert_eq!(Script::read(STOCK).default_position(nothing_saved), Ok(0));
    let text = following_the_saved_entry();
    let script = Script::read(&text);
    for (name, value, position) in [
        ("saved_entry", "", 0),
        ("saved_entry", "1", 1),
        ("saved_entry", "7", 0),
        ("saved_entry", "Debian 2 (ostree:1)", 1),
        ("saved_entry", "Debian 9 (ostree:1)", 0),
        ("saved_entry", "uefi-firmware", 2),
        ("prev_saved_entry", "1", 1),
    ] {
        let found = script.default_position(saved(name, value));
        assert_eq!(found, Ok(position), "{name}={value}");
    }
    assert!(
        script
            .default_position(saved("saved_entry", "others>x"))
            .is_err()
    );
}

#[test]
fn our_own_header_boots_the_first_entry() {
    let text =
        crate::loader::grub::generate::render(&[], "/grub/grubenv", crate::loader::TRIAL_ARGUMENTS);
    let script = Script::read(&text);
    assert_eq!(script.default_position(saved("next_entry", "1")), Ok(0));
    assert!(script.honours_one_shot());
}
