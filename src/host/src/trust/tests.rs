use std::os::unix::fs::{PermissionsExt, chown, symlink};

use super::*;

/// Entries of an ACL, as (kind, permissions, id).
type Entries<'a> = &'a [(u16, u16, u32)];

const NONE: u32 = u32::MAX;
/// The entries of every ACL: the owner, its group and everybody.
const BASE: [(u16, u16, u32); 3] = [(0x01, 7, NONE), (0x04, 5, NONE), (0x20, 5, NONE)];

/// `checks/net`, in a folder that is removed on drop.
fn check() -> (tempfile::TempDir, PathBuf) {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("checks");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("net"), "").unwrap();
    set(&folder, 0o755);
    set(&folder.join("net"), 0o755);
    (top, folder.join("net"))
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn why(path: &Path) -> String {
    fault(path).map_or_else(String::new, |fault| fault.to_string())
}

/// Sets an ACL on a place; `None` if the file system does not support ACLs.
fn with_acl(place: &Path, kind: &str, more: Entries<'_>) -> Option<()> {
    let mut entries = [&BASE, more].concat();
    entries.sort_by_key(|(kind, ..)| *kind);
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (kind, rights, whose) in entries {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(whose.to_le_bytes());
    }
    match xattr::set(place, kind, &bytes) {
        Err(error) if error.raw_os_error() == Some(nix::errno::Errno::ENOTSUP as i32) => {
            eprintln!("not checked: this file system has no ACLs");
            None
        }
        set => {
            set.unwrap();
            Some(())
        }
    }
}

const MASK: (u16, u16, u32) = (0x10, 7, NONE);

#[test]
fn what_root_alone_can_change_is_trusted() {
    let (_top, net) = check();
    assert_eq!(fault(&net), None);
}

#[test]
fn a_file_that_others_may_write_is_named_with_its_mode() {
    let (_top, net) = check();
    set(&net, 0o757);
    let fault = fault(&net).unwrap();
    let why = fault.to_string();
    for part in ["checks/net ", "mode 0757", "everybody"] {
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(fault.fix(), format!("chmod go-w {}", fault.place.display()));
}

#[test]
fn a_fault_of_the_image_is_corrected_in_its_build() {
    let fix = |place| Fault::new(Path::new(place), What::Writer(Writer::Everybody, 0)).fix();
    assert!(fix("/usr/lib/careen/pre.d/a").ends_with("(in the build of the image)"));
    for place in ["/usr/local/bin/sh", "/etc/careen/pre.d/a"] {
        assert_eq!(fix(place), format!("chmod go-w {place}"));
    }
}

#[test]
fn a_sticky_folder_does_not_excuse_where_the_checks_are() {
    for mode in [0o757, 0o775, 0o1777] {
        let (_top, net) = check();
        set(net.parent().unwrap(), mode);
        assert!(why(&net).contains("checks "), "{mode:o}");
    }
}

#[test]
fn a_folder_further_up_in_which_others_may_rename_is_named() {
    let (top, net) = check();
    set(top.path(), 0o757);
    assert!(fault(&net).is_some());
    set(top.path(), 0o1777);
    assert_eq!(fault(&net), None, "as in /tmp");
}

#[test]
fn a_link_is_as_good_as_what_it_leads_to_and_where_that_is() {
    let ((_top, net), (elsewhere, theirs)) = (check(), check());
    fs::remove_file(&net).unwrap();
    symlink(&theirs, &net).unwrap();
    assert_eq!(fault(&net), None);
    for (place, mode) in [(elsewhere.path(), 0o757), (&theirs, 0o757)] {
        set(place, mode);
        assert!(fault(&net).is_some(), "{}", place.display());
        set(place, 0o755);
    }
}

#[test]
fn a_relative_link_through_folders_is_walked() {
    let (top, net) = check();
    let other = top.path().join("other");
    fs::create_dir(&other).unwrap();
    set(&other, 0o777);
    fs::remove_file(&net).unwrap();
    fs::write(top.path().join("real"), "").unwrap();
    symlink("../other/../real", &net).unwrap();
    assert!(why(&net).contains("/other may be"), "{}", why(&net));
    set(&other, 0o755);
    assert_eq!(fault(&net), None);
}

#[test]
fn links_that_lead_in_circles_are_refused() {
    let (_top, net) = check();
    fs::remove_file(&net).unwrap();
    symlink("net", &net).unwrap();
    assert!(why(&net).contains("too many links"), "{}", why(&net));
}

#[test]
fn of_an_absent_file_the_folders_are_judged() {
    let (_top, net) = check();
    let folder = net.parent().unwrap();
    let absent = [folder.join("none"), folder.join("no/such/folder/none")];
    for path in &absent {
        assert_eq!(fault(path), None);
    }
    set(folder, 0o775);
    for path in &absent {
        assert!(why(path).contains("checks may be"), "{}", path.display());
    }
}

#[test]
fn write_for_any_group_is_refused_roots_own_too() {
    let (_top, net) = check();
    set(&net, 0o775);
    let own = fs::metadata(&net).unwrap().gid();
    assert!(
        why(&net).contains(&format!("group {own} (mode 0775)")),
        "{}",
        why(&net)
    );
}

#[test]
fn what_another_user_owns_is_refused_link_and_folder_too() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not checked: who is not root can give nothing away");
        return;
    }
    let (top, net) = check();
    let link = top.path().join("link");
    symlink(&net, &link).unwrap();
    for place in [&net, net.parent().unwrap(), &link] {
        std::os::unix::fs::lchown(place, Some(1), Some(0)).unwrap();
        assert!(
            why(&link).contains("belongs to user 1"),
            "{}",
            place.display()
        );
        std::os::unix::fs::lchown(place, Some(0), Some(0)).unwrap();
    }
    assert_eq!(fault(&link), None);
    chown(&net, Some(0), Some(1)).unwrap();
    assert_eq!(fault(&net), None, "a group that may not write");
}

#[test]
fn an_acl_that_lets_somebody_write_is_refused() {
    for (entry, who) in [
        ((0x02, 7, 1234), "user 1234"),
        ((0x08, 2, 1234), "group 1234"),
        ((0x08, 7, 0), "group 0"),
    ] {
        let (_top, net) = check();
        for place in [net.as_path(), net.parent().unwrap()] {
            if with_acl(place, acl::ACCESS, &[entry, MASK]).is_none() {
                return;
            }
            let fault = fault(&net).unwrap();
            assert!(fault.to_string().contains(who), "{fault}");
            assert_eq!(fault.place, place.canonicalize().unwrap());
            set(place, 0o755);
            assert_eq!(super::fault(&net), None, "chmod go-w corrects it");
        }
    }
}

#[test]
fn an_acl_that_lets_nobody_else_write_is_no_fault() {
    for more in [
        &[(0x02, 5, 1234), MASK][..],
        &[(0x02, 7, 0), MASK],
        &[(0x02, 7, 1234), (0x10, 5, NONE)],
    ] {
        let (_top, net) = check();
        if with_acl(&net, acl::ACCESS, more).is_some() {
            assert_eq!(fault(&net), None, "{more:?}");
        }
    }
}

#[test]
fn a_default_acl_that_lets_somebody_write_is_refused() {
    let (top, net) = check();
    for folder in [net.parent().unwrap(), top.path()] {
        if with_acl(folder, acl::DEFAULT, &[(0x02, 7, 1234), MASK]).is_none() {
            return;
        }
        let fault = fault(&net).unwrap();
        assert!(fault.to_string().contains("default ACL"), "{fault}");
        assert!(fault.fix().starts_with("setfacl -k /"), "{}", fault.fix());
        xattr::remove(folder, acl::DEFAULT).unwrap();
    }
    assert_eq!(fault(&net), None);
}

#[test]
fn an_acl_of_another_version_is_not_trusted() {
    assert_eq!(
        acl::entries(&[3, 0, 0, 0]).map(|entries| entries.len()),
        None
    );
    assert_eq!(
        acl::entries(&[2, 0, 0, 0, 1]).map(|entries| entries.len()),
        None
    );
    assert_eq!(
        acl::entries(&[2, 0, 0, 0]).map(|entries| entries.len()),
        Some(0)
    );
}

#[test]
fn a_script_is_as_good_as_its_interpreter() {
    let ((_top, net), (_elsewhere, shell)) = (check(), check());
    fs::write(&net, format!("#! {} -e\necho\n", shell.display())).unwrap();
    assert_eq!(fault_of_program(&net), None);
    set(&shell, 0o757);
    assert!(fault(&net).is_none() && fault_of_program(&net).is_some());
    fs::write(&net, "#!/nowhere\n").unwrap();
    assert_eq!(fault_of_program(&net), None, "it cannot be run");
    fs::write(&net, format!("#!{}\n", net.display())).unwrap();
    let why = fault_of_program(&net).unwrap().to_string();
    assert!(why.contains("scripts interpret each other"), "{why}");
}

#[test]
fn a_folder_that_others_may_write_is_left_out_of_path() {
    let top = tempfile::tempdir().unwrap();
    let [safe, open] = ["safe", "open"].map(|name| top.path().join(name));
    for (folder, mode) in [(&safe, 0o755), (&open, 0o775)] {
        fs::create_dir(folder).unwrap();
        set(folder, mode);
    }
    let path = format!("{}:{}", open.display(), safe.display());
    assert_eq!(safe_folders(&path), safe.display().to_string());
}

/// Why a check with this first line does not run.
fn fault_of_line(line: &str) -> Option<String> {
    let (_top, net) = check();
    fs::write(&net, format!("#!{line}\n")).unwrap();
    fault_of_program(&net).map(|fault| fault.with_its_fix())
}

#[test]
fn program_after_an_option_with_an_argument_is_judged() {
    let (_top, tool) = check();
    let tool = tool.display();
    let lines = [
        format!("{tool}"),
        format!("-S {tool} -x"),
        format!("-S -u PYTHONPATH {tool}"),
        format!("-S -uPYTHONPATH {tool}"),
        format!("-S --unset PYTHONPATH {tool}"),
        format!("-S --unset=PYTHONPATH {tool} \"x y\""),
        format!("-S -C / --argv0 check {tool}"),
        format!("-S --chdir / -a check {tool}"),
        format!("-S --block-signal --ignore-signal=INT {tool}"),
        format!("-iS -v -- A=1 {tool}"),
        format!("-vS - A=1 B=2 {tool}"),
        format!("-S{tool}"),
        format!("--split-string=-u A {tool}"),
    ];
    for line in &lines {
        assert_eq!(
            fault_of_line(&format!("/usr/bin/env {line}")),
            None,
            "{line}"
        );
    }
    set(Path::new(&tool.to_string()), 0o757);
    for line in &lines {
        let why = fault_of_line(&format!("/usr/bin/env {line}")).unwrap_or_default();
        assert!(why.contains("may be written by everybody"), "{line}: {why}");
    }
}

#[test]
fn program_of_env_that_cannot_be_told_is_a_fault() {
    for (line, detail) in [
        ("-S -X sh", "the option -X of env"),
        ("-S --uns A sh", "the option --uns of env"),
        ("--split=sh", "the option --split=sh of env"),
        ("-S 'sh'", "env changes the word"),
        ("-S A=\"1 2\" sh", "env changes the word"),
        ("-S ${TOOL}", "env changes the word"),
        ("-S \\_sh", "env changes the word"),
        ("-S #sh", "env changes the word"),
        ("-S PATH=/tmp sh", "it sets PATH"),
        ("-S -u", "-u has no argument"),
        ("-S tools/check", "tools/check is relative"),
        ("no-such-program-anywhere", "env finds no program"),
        ("sh -e", "env finds no program"),
    ] {
        let why = fault_of_line(&format!("/usr/bin/env {line}")).unwrap_or_default();
        assert!(
            why.contains("cannot tell which program runs"),
            "{line}: {why}"
        );
        assert!(why.contains(detail), "{line}: {why}");
        assert!(
            why.contains("; name the program by its path"),
            "{line}: {why}"
        );
    }
}

#[test]
fn program_that_env_runs_is_found_as_execvp_finds_it() {
    let found = |line: &str| env::program(line.as_bytes(), &operators_path()).unwrap();
    let sh = ["/usr/sbin/sh", "/usr/bin/sh"].map(PathBuf::from);
    for line in ["sh", "-S A=1 sh -e"] {
        assert!(found(line).is_some_and(|path| sh.contains(&path)), "{line}");
    }
    for line in ["-S -i sh", "-S -u PATH sh", "-iS sh"] {
        assert_eq!(found(line), Some(PathBuf::from("/bin/sh")), "{line}");
    }
    for line in ["", "A=1", "-S -i"] {
        assert_eq!(found(line), None, "the script itself: {line}");
    }
}
