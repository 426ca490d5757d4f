//! The units of systemd that do not run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use systemd::{Bus, Fallen};
use tokio::time::Instant;
use upgrade::observe::Cause;
use upgrade::serving::{Down, Units};

use crate::health::confined;
use crate::health::crash::is_a_crash;
use crate::health::launched::{self, Launched};
use crate::health::ownership::is_the_images_program;

use super::executable::is_broken;

/// How long a unit that was seen down counts as down. systemd starts one that fails again after
/// 100 ms, so a single look may find it running.
const REMEMBERED: Duration = Duration::from_secs(15);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_secs(2);

/// How often the agent looks before a drain.
const ROUNDS: u32 = 4;

/// How many units the agent keeps: the note is part of the record.
const MOST: usize = 64;

/// Unit files that the image brings.
const IMAGE: [&str; 2] = ["/usr/lib/systemd/", "/lib/systemd/"];

/// Looks at the units now and then.
#[derive(Default)]
pub struct UnitsWatch {
    looked: Option<Instant>,
    down: BTreeMap<String, (Down, Instant)>,
    starting: Option<String>,
    noted: Option<BTreeSet<String>>,
    active: Option<BTreeSet<String>>,
}

impl UnitsWatch {
    /// Looks also whether the noted units are active.
    #[must_use]
    pub fn against(noted: Option<&Units>) -> Self {
        Self {
            noted: noted.and_then(|units| units.active.clone()),
            ..Self::default()
        }
    }

    /// Looks, unless it has just looked. Returns `None` until systemd has answered once.
    pub async fn round(&mut self) -> Option<Units> {
        let now = Instant::now();
        if self.looked.is_none_or(|at| now - at >= PAUSE)
            && let Ok((fallen, starting)) = look().await
        {
            self.take(fallen, starting, now);
            self.active = active_of(self.noted.as_ref()).await;
        }
        self.looked.map(|_| self.units())
    }

    /// The units that are down now and then, for the note before a drain: a unit that systemd
    /// starts again and again may run at a single look. `None` if systemd does not answer.
    pub async fn rounds(mut self) -> Option<Units> {
        let mut units = self.round().await;
        for _ in 1..ROUNDS {
            tokio::time::sleep(PAUSE).await;
            units = self.round().await;
        }
        let active = started_at_boot().await.ok();
        units.map(|units| Units { active, ..units })
    }

    fn take(&mut self, fallen: Vec<Fallen>, starting: Option<String>, now: Instant) {
        self.looked = Some(now);
        self.starting = starting.filter(|job| is_compared(job));
        let fallen = fallen.into_iter().filter(|unit| is_compared(&unit.name));
        let root = Path::new("/");
        for mut down in fallen.filter(has_a_file).map(|unit| down(root, unit)) {
            // systemd forgets the result when it starts the unit again.
            if let (true, Some((before, _))) = (down.why.is_empty(), self.down.get(&down.name)) {
                down.why.clone_from(&before.why);
            }
            self.down.insert(down.name.clone(), (down, now));
        }
        self.down
            .retain(|_, (_, seen)| now.saturating_duration_since(*seen) < REMEMBERED);
    }

    fn units(&self) -> Units {
        let down = self.down.values().take(MOST).map(|(down, _)| down.clone());
        Units {
            starting: self.starting.clone(),
            down: down.collect(),
            active: self.active.clone(),
        }
    }
}

/// Those of the noted units that are active. `None` if nothing is noted, or systemd does not
/// answer.
async fn active_of(noted: Option<&BTreeSet<String>>) -> Option<BTreeSet<String>> {
    let noted = noted?;
    let active = Bus::system().await.ok()?.active().await.ok()?;
    Some(noted.intersection(&active).cloned().collect())
}

async fn started_at_boot() -> systemd::Result<BTreeSet<String>> {
    let started = Bus::system().await?.started_at_boot(is_noted).await?;
    Ok(kept(started))
}

/// The units that the note has room for. Mounts and swaps come first: by default a trial fails
/// without one of them, and a missing service only warns.
fn kept(started: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let is_storage = |name: &String| name.ends_with(".mount") || name.ends_with(".swap");
    let started: BTreeSet<_> = started.into_iter().collect();
    let (storage, services): (Vec<_>, Vec<_>) = started.into_iter().partition(is_storage);
    storage.into_iter().chain(services).take(MOST).collect()
}

/// Mounts of pods and of the runtime come and go with the pods.
fn is_noted(unit: &str) -> bool {
    const OF_PODS: [&str; 5] = [
        "var-lib-kubelet",
        "var-lib-containerd",
        "run-containerd",
        "run-netns",
        "run-user-",
    ];
    is_compared(unit) && !OF_PODS.iter().any(|start| unit.starts_with(start))
}

async fn look() -> systemd::Result<(Vec<Fallen>, Option<String>)> {
    let bus = Bus::system().await?;
    Ok((bus.fallen().await?, bus.starting().await?))
}

/// Careen's own units, the kubelet and its runtime have checks of their own. A session's units
/// belong to a person.
fn is_compared(unit: &str) -> bool {
    const OTHERS: [&str; 6] = [
        "careen-",
        "kubelet.service",
        "containerd.service",
        "session-",
        "user@",
        "user-runtime-dir@",
    ];
    !OTHERS.iter().any(|start| unit.starts_with(start))
}

/// A unit without a file, or with one of this boot only, was started by hand or by another program.
fn has_a_file(unit: &Fallen) -> bool {
    !unit.fragment.is_empty() && !unit.fragment.starts_with("/run/systemd/transient/")
}

fn down(root: &Path, unit: Fallen) -> Down {
    let of_the_image = |path: &String| IMAGE.iter().any(|folder| path.starts_with(folder));
    let image = of_the_image(&unit.fragment)
        && unit.drop_ins.iter().all(of_the_image)
        && confined::by_the_node(root, &[]).is_none();
    let cause = match of_programs(root, &unit) {
        None | Some(Cause::Unclear) if !image => Cause::Node,
        Some(cause) => cause,
        None if shows_a_fault(root, &unit) => Cause::Image,
        None => Cause::Unclear,
    };
    let why = match (unit.result.as_str(), unit.exit_status) {
        ("" | "success", _) => String::new(),
        (result, 0) => result.to_owned(),
        (result, status) => format!("{result}, exit status {status}"),
    };
    Down {
        name: unit.name,
        why,
        cause,
        timed: unit.is_timed,
    }
}

/// Where the cause is if a program of the unit is not the image's. Also a unit of the image may run
/// a program that only the node has, by itself or through a shell. Which of several commands failed
/// is not known.
fn of_programs(root: &Path, unit: &Fallen) -> Option<Cause> {
    let mut programs = unit.programs.iter().map(Path::new);
    if !programs.all(|program| is_the_images_program(root, program)) {
        return Some(Cause::Node);
    }
    let files = [&unit.fragment].into_iter().chain(&unit.drop_ins);
    match launched::beside_the_image(root, files.map(Path::new))? {
        Launched::Node(_) => Some(Cause::Node),
        Launched::Unknown => Some(Cause::Unclear),
    }
}

/// Whether its program crashes or cannot be executed. A service that fails may lack a server of the
/// network, a user of the node, or time.
fn shows_a_fault(root: &Path, unit: &Fallen) -> bool {
    match unit.result.as_str() {
        "core-dump" | "signal" => is_a_crash(unit.exit_status),
        // systemd.exec(5), EXIT_EXEC.
        "exit-code" if unit.exit_status == 203 => {
            let mut programs = unit.programs.iter();
            programs.any(|program| is_broken(root, program))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn fallen(name: &str, fragment: &str) -> Fallen {
        Fallen {
            name: name.to_owned(),
            fragment: fragment.to_owned(),
            drop_ins: Vec::new(),
            programs: vec!["/usr/bin/x".to_owned()],
            result: "exit-code".to_owned(),
            exit_status: 217,
            is_timed: false,
        }
    }

    fn seen(units: Vec<Fallen>) -> Units {
        let mut watch = UnitsWatch::default();
        watch.take(units, None, Instant::now());
        watch.units()
    }

    #[test]
    fn failed_unit_of_the_image_is_told_with_its_status() {
        let found = seen(vec![fallen(
            "x.service",
            "/usr/lib/systemd/system/x.service",
        )]);
        let [told] = &found.down[..] else {
            panic!("{found:?}");
        };
        let why = "exit-code, exit status 217";
        assert_eq!((&*told.name, &*told.why), ("x.service", why));
        let unit = fallen("x.service", "/usr/lib/systemd/system/x.service");
        assert_eq!(cause(unit), Cause::Unclear);
    }

    #[test]
    fn unit_that_only_a_timer_starts_is_marked() {
        let mut unit = fallen("x.service", "/usr/lib/systemd/system/x.service");
        unit.is_timed = true;
        assert!(seen(vec![unit]).down[0].timed);
    }

    fn cause(unit: Fallen) -> Cause {
        cause_with(&[], unit)
    }

    /// On a system with these files.
    fn cause_with(files: &[(&str, &str)], unit: Fallen) -> Cause {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        down(root.path(), unit).cause
    }

    #[test]
    fn crash_under_a_limit_of_the_node_for_all_units_is_its_own() {
        let mut crashed = fallen("x.service", "/usr/lib/systemd/system/x.service");
        (crashed.result, crashed.exit_status) = ("core-dump".to_owned(), 6);
        assert_eq!(cause(crashed.clone()), Cause::Image);
        let limit = (
            "etc/systemd/system.conf.d/1.conf",
            "[Manager]\nDefaultLimitAS=1G\n",
        );
        assert_eq!(cause_with(&[limit], crashed.clone()), Cause::Node);
        let libraries = ("etc/ld.so.conf.d/00-site.conf", "/opt/site/lib\n");
        assert_eq!(cause_with(&[libraries], crashed), Cause::Node);
    }

    #[test]
    fn unit_that_the_node_changes_does_not_blame_the_image() {
        let own = fallen("x.service", "/etc/systemd/system/x.service");
        assert_eq!(cause(own), Cause::Node);
        let mut changed = fallen("x.service", "/usr/lib/systemd/system/x.service");
        let drop_in = "/etc/systemd/system/x.service.d/10-ours.conf";
        changed.drop_ins = vec![drop_in.to_owned()];
        (changed.result, changed.exit_status) = ("core-dump".to_owned(), 6);
        assert_eq!(cause(changed), Cause::Node);
    }

    #[test]
    fn unit_that_runs_a_program_of_the_node_blames_no_image() {
        let runs = |programs: &[&str]| {
            let mut unit = fallen("x.service", "/usr/lib/systemd/system/x.service");
            unit.programs = programs.iter().map(|&path| path.to_owned()).collect();
            (unit.result, unit.exit_status) = ("signal".to_owned(), 11);
            cause(unit)
        };
        assert_eq!(runs(&["/usr/sbin/x"]), Cause::Image);
        assert_eq!(runs(&["x-of-the-image"]), Cause::Image);
        for program in ["/opt/vendor/x", "/usr/local/bin/x", "/var/lib/vendor/x"] {
            assert_eq!(runs(&[program]), Cause::Node, "{program}");
            assert_eq!(runs(&["/usr/bin/mkdir", program]), Cause::Node, "a oneshot");
        }
    }

    #[test]
    fn nodes_program_that_a_shell_starts_blames_no_image() {
        let starts = |command: &str| {
            let mut unit = fallen("x.service", "/usr/lib/systemd/system/x.service");
            unit.programs = vec!["/usr/bin/sh".to_owned()];
            (unit.result, unit.exit_status) = ("core-dump".to_owned(), 11);
            let text = format!("[Service]\nExecStart={command}\n");
            cause_with(&[("usr/lib/systemd/system/x.service", &text)], unit)
        };
        assert_eq!(starts("/usr/bin/sh -c /usr/libexec/x"), Cause::Image);
        for own in ["/opt/x", "'cd /; exec /usr/local/bin/x'", "/var/lib/x/y"] {
            assert_eq!(starts(&format!("/usr/bin/sh -c {own}")), Cause::Node);
        }
    }

    #[test]
    fn program_of_the_node_beside_the_main_one_blames_no_image() {
        let starts = |lines: &str| {
            let mut unit = fallen("x.service", "/usr/lib/systemd/system/x.service");
            (unit.result, unit.exit_status) = ("core-dump".to_owned(), 11);
            let text = format!("[Service]\nExecStart=/usr/bin/x\n{lines}\n");
            cause_with(&[("usr/lib/systemd/system/x.service", &text)], unit)
        };
        assert_eq!(starts("ExecStartPre=/usr/libexec/y"), Cause::Image);
        assert_eq!(starts("ExecStartPre=-/opt/x"), Cause::Node);
        assert_eq!(starts("ExecStartPost=/usr/bin/sh -c /opt/x"), Cause::Node);
    }

    #[test]
    fn program_in_a_variable_of_the_node_blames_no_image() {
        let with = |file: (&str, &str)| {
            let mut unit = fallen("x.service", "/usr/lib/systemd/system/x.service");
            unit.programs = vec!["/usr/bin/sh".to_owned()];
            (unit.result, unit.exit_status) = ("core-dump".to_owned(), 11);
            let text =
                "[Service]\nEnvironmentFile=-/etc/default/x\nExecStart=/usr/bin/sh -c 'exec $X'\n";
            cause_with(&[("usr/lib/systemd/system/x.service", text), file], unit)
        };
        assert_eq!(with(("etc/default/x", "X=/usr/bin/x\n")), Cause::Node);
        assert_eq!(
            with(("etc/default/y", "")),
            Cause::Unclear,
            "it is not known"
        );
        let mut direct = fallen("x.service", "/usr/lib/systemd/system/x.service");
        (direct.programs, direct.exit_status) = (vec!["${X}".to_owned()], 203);
        let text = "[Service]\nExecStart=${X}\n";
        let files = [("usr/lib/systemd/system/x.service", text)];
        assert_eq!(cause_with(&files, direct), Cause::Unclear);
    }

    #[test]
    fn only_a_crash_or_a_missing_program_blames_the_image() {
        for (result, exit_status, expected) in [
            ("core-dump", 6, Cause::Image),
            ("core-dump", 7, Cause::Unclear),
            ("signal", 11, Cause::Image),
            ("exit-code", 203, Cause::Image),
            ("signal", 9, Cause::Unclear),
            ("exit-code", 1, Cause::Unclear),
            ("timeout", 0, Cause::Unclear),
        ] {
            let unit = Fallen {
                result: result.to_owned(),
                exit_status,
                ..fallen("x.service", "/usr/lib/systemd/system/x.service")
            };
            assert_eq!(cause(unit), expected, "{result} {exit_status}");
        }
    }

    #[test]
    fn program_that_is_there_and_cannot_be_executed_is_unclear() {
        let root = tempfile::tempdir().unwrap();
        let mut unit = fallen("x.service", "/usr/lib/systemd/system/x.service");
        unit.exit_status = 203;
        let cause = || down(root.path(), unit.clone()).cause;
        assert_eq!(cause(), Cause::Image, "it is missing");
        let program = root.path().join("usr/bin/x");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "#!/usr/bin/x\n").unwrap();
        assert_eq!(cause(), Cause::Image, "it is not executable");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(cause(), Cause::Unclear, "as for a disk error");
    }

    #[test]
    fn own_transient_and_session_units_are_not_compared() {
        let file = "/usr/lib/systemd/system/x.service";
        let none = seen(vec![
            fallen("careen-kubeadm.service", file),
            fallen("kubelet.service", file),
            fallen("user@1000.service", file),
            fallen("run-u7.service", "/run/systemd/transient/run-u7.service"),
            fallen("var-x.mount", ""),
        ]);
        assert_eq!(none.down, []);
    }

    #[test]
    fn unit_that_restarts_stays_down_for_a_while() {
        let (mut watch, start) = (UnitsWatch::default(), Instant::now());
        let unit = fallen("x.service", "/usr/lib/systemd/system/x.service");
        watch.take(vec![unit], None, start);
        watch.take(Vec::new(), None, start + REMEMBERED / 2);
        assert_eq!(watch.units().down.len(), 1, "it may only run for a moment");
        watch.take(Vec::new(), None, start + REMEMBERED);
        assert_eq!(watch.units().down, []);
    }

    #[test]
    fn unit_that_starts_again_keeps_its_last_result() {
        let (mut watch, start) = (UnitsWatch::default(), Instant::now());
        let unit = fallen("x.service", "/usr/lib/systemd/system/x.service");
        let starts = Fallen {
            result: "success".to_owned(),
            exit_status: 0,
            ..unit.clone()
        };
        watch.take(vec![unit], None, start);
        watch.take(vec![starts], None, start + PAUSE);
        assert_eq!(watch.units().down[0].why, "exit-code, exit status 217");
    }

    #[test]
    fn services_take_no_place_of_a_mount_or_swap_in_the_note() {
        let services = (0..70).map(|number| format!("a{number}.service"));
        let storage = ["srv-data.mount", "swapfile.swap"].map(str::to_owned);
        let noted = kept(services.chain(storage.clone()));
        assert_eq!(noted.len(), MOST);
        assert!(storage.iter().all(|unit| noted.contains(unit)), "{noted:?}");
    }

    #[test]
    fn mounts_of_pods_and_sessions_are_not_noted() {
        for unit in ["srv-data.mount", "dev-sda2.swap", "chrony.service"] {
            assert!(is_noted(unit), "{unit}");
        }
        for unit in [
            "var-lib-kubelet-pods-x-volumes.mount",
            "run-containerd-io.containerd.x.mount",
            "run-user-1000.mount",
            "user@1000.service",
            "containerd.service",
        ] {
            assert!(!is_noted(unit), "{unit}");
        }
    }

    #[test]
    fn boot_that_waits_for_our_own_unit_is_not_compared() {
        let starting = |job: &str| {
            let mut watch = UnitsWatch::default();
            watch.take(Vec::new(), Some(job.to_owned()), Instant::now());
            watch.units().starting
        };
        assert_eq!(starting("careen-kubeadm.service"), None);
        assert_eq!(starting("raid.service"), Some("raid.service".to_owned()));
    }
}
