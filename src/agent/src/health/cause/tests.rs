use nix::sys::signal::Signal;

use super::*;

const UNIT: &str = "/usr/lib/systemd/system/kubelet.service";
const SETTINGS: &str = "/etc/default/kubelet";
const PATCHES: [&str; 1] = ["/etc/kubernetes/patches"];

fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [("usr/bin/kubelet", ""), (&UNIT[1..], "")]
        .iter()
        .chain(files)
    {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn made() -> Made {
    Made {
        files: vec![
            UNIT.into(),
            SETTINGS.into(),
            "/var/lib/kubelet/kubeadm-flags.env".into(),
        ],
        program: Some("/usr/bin/kubelet".into()),
        signal: None,
    }
}

fn cause(files: &[(&str, &str)], made: &Made) -> Cause {
    let found = judge(root(files).path(), made, &PATCHES);
    found.unwrap_or_else(|| unshown(None)).cause
}

#[test]
fn full_or_broken_disk_under_the_runtime_blames_no_image() {
    let found = unshown(Some("/var has no room".into()));
    assert_eq!(found.cause, Cause::Node);
    let Check::Fail(text) = told(Check::Fail("refused".into()), &found) else {
        panic!()
    };
    assert_eq!(text, "refused; /var has no room");
}

#[test]
fn disk_that_fills_up_under_services_that_answer_is_seen() {
    let mut services = Services::default();
    let mut after = |amiss: Option<&str>| {
        services.look_at_the_disk(amiss.map(str::to_owned));
        services.runtime.cause
    };
    let full = Some("/var has no room");
    assert_eq!(after(None), Cause::Unclear);
    assert_eq!(after(full), Cause::Node);
    assert_eq!(after(None), Cause::Unclear);
    services.runtime = Found::of(Cause::Image);
    services.look_at_the_disk(full.map(str::to_owned));
    assert_eq!(services.runtime.cause, Cause::Image, "it has crashed");
}

#[test]
fn service_that_shows_nothing_is_not_the_images() {
    let killed = Made {
        signal: Some(Signal::SIGKILL as i32),
        ..made()
    };
    assert_eq!(cause(&[], &killed), Cause::Unclear);
    assert_eq!(cause(&[], &made()), Cause::Unclear);
}

#[tokio::test]
async fn program_that_prints_no_version_is_the_images() {
    let failed = || Check::Fail("it does not answer".into());
    let mut services = Services::default();
    for _ in 0..2 {
        services.of_runtime.look(Path::new("/usr/bin/false")).await;
    }
    let (check, cause) = services.of_runtime(failed());
    assert!(matches!(check, Check::Broken(_)), "{check:?}");
    assert_eq!(cause, Cause::Image);
    assert_eq!(services.of_runtime(Check::Pass).0, Check::Pass);
    assert_eq!(services.of_kubelet(failed()).1, Cause::Unclear);
}

#[test]
fn file_that_is_the_images_shows_no_cause() {
    assert_eq!(cause(&[], &made()), Cause::Unclear);
    let same = [
        ("etc/default/kubelet", "A=1"),
        ("usr/etc/default/kubelet", "A=1"),
    ];
    assert_eq!(cause(&same, &made()), Cause::Unclear);
    let flags = [("var/lib/kubelet/kubeadm-flags.env", "x")];
    assert_eq!(
        cause(&flags, &made()),
        Cause::Unclear,
        "the image's kubeadm writes it"
    );
}

#[test]
fn settings_or_programs_of_the_node_are_named() {
    let changed = [
        ("etc/default/kubelet", "A=2"),
        ("usr/etc/default/kubelet", "A=1"),
    ];
    for files in [&changed[..], &changed[..1]] {
        let found = judge(root(files).path(), &made(), &PATCHES).unwrap();
        assert_eq!(
            (found.cause, found.file),
            (Cause::Node, Some(SETTINGS.into()))
        );
    }
    let patches = [(
        "etc/kubernetes/patches/kubeletconfiguration0+merge.yaml",
        "x",
    )];
    assert_eq!(cause(&patches, &made()), Cause::Node);
    let local = Made {
        program: Some("/usr/local/bin/kubelet".into()),
        ..made()
    };
    assert_eq!(cause(&[("usr/local/bin/kubelet", "")], &local), Cause::Node);
    let unit = "/etc/systemd/system/kubelet.service.d/10-site.conf";
    let drop_in = Made {
        files: vec![unit.into()],
        ..made()
    };
    assert_eq!(cause(&[(&unit[1..], "")], &drop_in), Cause::Node);
}

#[test]
fn drop_ins_and_the_policys_patches_are_the_nodes_files() {
    let flags = "KUBELET_EXTRA_ARGS=--config-dir=/var/lib/kubelet/config.d";
    let image = [
        ("etc/default/kubelet", flags),
        ("usr/etc/default/kubelet", flags),
    ];
    assert_eq!(
        cause(&image, &made()),
        Cause::Unclear,
        "no drop-in is there"
    );
    let drop_in = ("var/lib/kubelet/config.d/10-site.conf", "maxPods: x");
    let files = [image[0], image[1], drop_in];
    let found = judge(root(&files).path(), &made(), &PATCHES);
    let file = found.unwrap().file.unwrap();
    assert_eq!(file, Path::new("/var/lib/kubelet/config.d/10-site.conf"));
    let config = "KUBELET_EXTRA_ARGS=--config=/var/lib/kubelet/config.yaml";
    let kubeadms = [
        ("etc/default/kubelet", config),
        ("usr/etc/default/kubelet", config),
        ("var/lib/kubelet/config.yaml", "x"),
    ];
    assert_eq!(cause(&kubeadms, &made()), Cause::Unclear);
    let site = [("etc/site/kubeletconfiguration.yaml", "x")];
    let found = judge(root(&site).path(), &made(), &["/etc/site"]);
    assert_eq!(found.unwrap().cause, Cause::Node);
    let none = judge(root(&site).path(), &made(), &[""]);
    assert_eq!(none, None, "the policy names no folder");
}

#[test]
fn program_that_crashes_or_is_missing_is_the_images() {
    let own = [("etc/default/kubelet", "A=2")];
    let crashed = |signal: Signal| Made {
        signal: Some(signal as i32),
        ..made()
    };
    assert_eq!(cause(&own, &crashed(Signal::SIGSEGV)), Cause::Image);
    assert_eq!(cause(&own, &crashed(Signal::SIGKILL)), Cause::Node);
    let missing = Made {
        program: Some("/usr/bin/no-kubelet".into()),
        ..made()
    };
    assert_eq!(cause(&own, &missing), Cause::Image);
}

#[test]
fn crash_under_a_limit_of_the_node_is_not_the_images() {
    let drop_in = "/etc/systemd/system/kubelet.service.d/20-site.conf";
    let crashed = Made {
        files: vec![UNIT.into(), drop_in.into()],
        signal: Some(Signal::SIGABRT as i32),
        ..made()
    };
    let found = |text: &str| {
        let root = root(&[(&drop_in[1..], text)]);
        judge(root.path(), &crashed, &PATCHES).unwrap()
    };
    for limit in ["TasksMax=10", "LimitAS=1G", "SystemCallFilter=~clone"] {
        let found = found(&format!("[Service]\n{limit}\n"));
        assert_eq!(found, of_the_node(Path::new(drop_in)), "{limit}");
    }
    let proxy = "[Service]\nEnvironment=HTTPS_PROXY=http://10.0.0.1:3128\n";
    assert_eq!(found(proxy).cause, Cause::Image, "it limits nothing");
}

#[test]
fn kubelet_of_the_node_behind_a_shell_of_the_image_is_its_own() {
    let shell = Made {
        program: Some("/bin/sh".into()),
        signal: Some(Signal::SIGSEGV as i32),
        ..made()
    };
    let found = |kubelet: &str| {
        let text = format!("[Service]\nExecStart=/bin/sh -c 'exec {kubelet} $FLAGS'\n");
        let root = root(&[(&UNIT[1..], &text), ("usr/bin/sh", "")]);
        std::os::unix::fs::symlink("usr/bin", root.path().join("bin")).unwrap();
        assert_eq!(asked(root.path(), &shell), None, "sh --version");
        judge(root.path(), &shell, &PATCHES).unwrap()
    };
    let own = "/opt/bin/kubelet";
    assert_eq!(found(own), of_the_node(Path::new(own)));
    assert_eq!(found("/usr/bin/kubelet").cause, Cause::Image);
}

#[test]
fn crash_of_a_program_that_a_variable_names_blames_no_image() {
    let shell = Made {
        program: Some("/bin/sh".into()),
        signal: Some(Signal::SIGSEGV as i32),
        ..made()
    };
    let text = format!("[Service]\nEnvironmentFile={SETTINGS}\nExecStart=/bin/sh -c 'exec $BIN'\n");
    let unit = (&UNIT[1..], text.as_str());
    let own = [unit, ("etc/default/kubelet", "BIN=/usr/bin/kubelet")];
    let found = judge(root(&own).path(), &shell, &PATCHES);
    assert_eq!(found, Some(of_the_node(Path::new(SETTINGS))));
    assert_eq!(cause(&[unit], &shell), Cause::Unclear, "nobody sets it");
}

#[test]
fn library_path_of_the_node_takes_blame_from_the_image() {
    let list = "/etc/ld.so.conf.d/00-site.conf";
    let files = [(&list[1..], "/opt/site/lib\n")];
    let crashed = Made {
        signal: Some(Signal::SIGSEGV as i32),
        ..made()
    };
    for made in [crashed, made()] {
        let found = judge(root(&files).path(), &made, &PATCHES);
        assert_eq!(found, Some(of_the_node(Path::new(list))));
    }
    let (root, made) = (root(&files), made());
    assert!(
        asked(root.path(), &made).is_some(),
        "--version finds the image's"
    );
}

#[test]
fn version_under_a_limit_of_the_node_is_not_asked() {
    let asked = |files: &[(&str, &str)]| {
        let (root, made) = (root(files), made());
        asked(root.path(), &made).map(Path::to_owned)
    };
    assert_eq!(asked(&[]), made().program);
    let drop_in = "etc/systemd/system/careen-agent.service.d/1.conf";
    assert_eq!(asked(&[(drop_in, "[Service]\nTasksMax=5\n")]), None);
    assert_eq!(asked(&[("etc/ld.so.preload", "/opt/site/x.so\n")]), None);
}

#[test]
fn missing_program_that_only_a_drop_in_names_is_the_nodes() {
    let path = "/etc/systemd/system/containerd.service.d/10.conf";
    let of_a_drop_in = |program: &str, text: &str| {
        let missing = Made {
            files: vec![UNIT.into(), path.into()],
            program: Some(program.into()),
            ..made()
        };
        cause(&[(&path[1..], text)], &missing)
    };
    for program in ["/opt/site/wrapper", "/usr/bin/site-wrapper"] {
        let text = format!("[Service]\nExecStart=\nExecStart={program} --x\n");
        assert_eq!(of_a_drop_in(program, &text), Cause::Node, "{program}");
    }
    let proxy = "[Service]\nEnvironment=HTTPS_PROXY=http://10.0.0.1:3128\n";
    let containerd = of_a_drop_in("/usr/bin/containerd", proxy);
    assert_eq!(containerd, Cause::Image, "only the image names it");
}

#[test]
fn missing_program_outside_usr_is_not_the_images() {
    for program in ["/opt/bin/kubelet", "/usr/local/bin/kubelet", "kubelet"] {
        let missing = Made {
            program: Some(program.into()),
            ..made()
        };
        assert_eq!(cause(&[], &missing), Cause::Unclear, "{program}");
    }
}

#[test]
fn a_failed_check_names_the_file_of_the_node() {
    let found = of_the_node(Path::new(SETTINGS));
    let Check::Fail(text) = told(Check::Fail("refused".into()), &found) else {
        panic!()
    };
    assert!(
        text.starts_with("refused; it runs with /etc/default/kubelet"),
        "{text}"
    );
    assert_eq!(told(Check::Pass, &found), Check::Pass);
}
