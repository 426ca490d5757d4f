//! The calls as systemd receives them: names, types and order of arguments are those of
//! org.freedesktop.systemd1(5). The test plays systemd on a bus of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod played;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use systemd::{ActiveState, Bus, Fallen, Service, Variant};
use zbus::{Connection, Message};

use played::{Answer, on_a_bus_of_its_own, path, play, row};

const SYSTEMD: &str = "org.freedesktop.systemd1";
const AGENT: &str = "careen-agent.service";

#[test]
fn systemd_hears_each_call_as_its_manual_says() {
    on_a_bus_of_its_own("played_a_systemd");
}

#[test]
fn end_waits_until_the_unit_has_ended() {
    on_a_bus_of_its_own("played_a_unit_that_takes_time_to_end");
}

#[tokio::test]
async fn played_a_unit_that_takes_time_to_end() {
    let Some(socket) = played::socket() else {
        return;
    };
    play(SYSTEMD, Heard::default()).await;
    let bus = Bus::at(&socket, Duration::from_secs(10)).await.unwrap();
    assert!(!bus.end(AGENT, Duration::ZERO).await.unwrap());
    assert!(bus.end(AGENT, Duration::from_secs(10)).await.unwrap());
    assert!(!bus.is_alive(AGENT).await.unwrap());
}

#[test]
fn fallen_units_and_the_boot_are_asked_as_the_manual_says() {
    on_a_bus_of_its_own("played_fallen_units");
}

#[tokio::test]
async fn played_fallen_units() {
    let Some(socket) = played::socket() else {
        return;
    };
    let heard = Heard::default();
    play(SYSTEMD, heard.clone()).await;
    let bus = Bus::at(&socket, Duration::from_secs(10)).await.unwrap();
    let fallen = Fallen {
        name: "careen-deploy-u1-fetch.service".to_owned(),
        fragment: "/usr/lib/systemd/system/careen-agent.service".to_owned(),
        drop_ins: vec!["/etc/systemd/system/careen-agent.service.d/x.conf".to_owned()],
        programs: vec!["/usr/bin/careen-agent".to_owned()],
        result: "exit-code".to_owned(),
        exit_status: 217,
        is_timed: false,
    };
    assert_eq!(bus.fallen().await.unwrap(), [fallen]);
    let asked = "ListUnitsByPatterns failed,auto-restart,auto-restart-queued";
    assert_eq!(heard.take()[0], asked);
    let job = bus.starting().await.unwrap();
    assert_eq!(job.as_deref(), Some("raid.service"));
}

#[test]
fn job_of_a_timer_is_told_from_a_unit_of_the_boot() {
    on_a_bus_of_its_own("played_timers_and_targets");
}

#[tokio::test]
async fn played_timers_and_targets() {
    let Some(socket) = played::socket() else {
        return;
    };
    let heard = Heard::default();
    play(SYSTEMD, heard.clone()).await;
    let bus = Bus::at(&socket, Duration::from_secs(10)).await.unwrap();
    for (triggers, wanted, is_timed) in [
        (vec!["x.timer"], vec![], true),
        (vec!["x.timer"], vec!["x.timer"], true),
        (vec!["x.timer"], vec!["multi-user.target"], false),
        (vec!["x.timer", "x.socket"], vec![], false),
        (vec![], vec![], false),
    ] {
        let told = format!("{triggers:?} {wanted:?}");
        *heard.starters.lock().unwrap() = (triggers, wanted);
        assert_eq!(bus.fallen().await.unwrap()[0].is_timed, is_timed, "{told}");
    }
}

#[test]
fn enabled_service_that_runs_or_has_run_is_of_the_boot() {
    on_a_bus_of_its_own("played_services_of_the_boot");
}

#[tokio::test]
async fn played_services_of_the_boot() {
    let Some(socket) = played::socket() else {
        return;
    };
    let heard = Heard::default();
    play(SYSTEMD, heard.clone()).await;
    let bus = Bus::at(&socket, Duration::from_secs(10)).await.unwrap();
    for (sub_state, is_of_the_boot) in [("running", true), ("exited", true), ("start", false)] {
        *heard.sub_state.lock().unwrap() = Some(sub_state);
        let started = bus.started_at_boot(|_| true).await.unwrap();
        assert_eq!(!started.is_empty(), is_of_the_boot, "{sub_state}");
    }
}

#[tokio::test]
async fn played_a_systemd() {
    if played::daemon().is_none() {
        return;
    }
    let heard = Heard::default();
    play(SYSTEMD, heard.clone()).await;
    let bus = Bus::system().await.unwrap();
    bus.reload().await.unwrap();
    bus.start(AGENT).await.unwrap();
    bus.restart(AGENT).await.unwrap();
    let alive = bus.alive("careen-deploy-*").await.unwrap();
    assert_eq!(alive, ["careen-deploy-u1-fetch.service"]);
    let calls = [
        "Reload",
        "StartUnit careen-agent.service replace",
        "RestartUnit careen-agent.service replace",
        "ListUnitsByPatterns active,activating,deactivating,reloading careen-deploy-*",
    ];
    assert_eq!(heard.take(), calls);

    let state = bus.state(AGENT).await.unwrap();
    assert_eq!(state, Some(ActiveState::Active));
    let gone = bus.state("careen-deploy-u1-fetch.service").await.unwrap();
    assert_eq!(gone, None);
    let limits = [
        ("LimitNOFILE", u64::MAX),
        ("LimitNOFILESoft", 1024),
        ("LimitMEMLOCK", 8_388_608),
        ("TasksMax", 4915),
    ];
    assert_eq!(bus.limits(AGENT).await.unwrap(), limits);
    assert_eq!(bus.limits("containerd.service").await.unwrap(), []);
    let service = Service {
        fragment: "/usr/lib/systemd/system/careen-agent.service".to_owned(),
        state: ActiveState::Active,
        entered: 1_000_000,
        status: "watching the Node".to_owned(),
    };
    heard.take();
    assert_eq!(bus.service(AGENT).await.unwrap(), service);
    // systemd also loads a unit that has no file.
    assert_eq!(heard.take()[0], format!("LoadUnit {AGENT}"));
    bus.stop(AGENT).await.unwrap();
    assert_eq!(heard.take(), ["StopUnit careen-agent.service replace"]);
    let fed = bus.watchdog_device().await.unwrap();
    assert_eq!(fed, "/dev/watchdog1");
}

/// The received calls. The agent's unit runs until it is stopped, and has ended at the third check
/// after that.
#[derive(Clone, Default)]
struct Heard {
    calls: Arc<Mutex<Vec<String>>>,
    looks_since_stop: Option<u32>,
    /// What triggers a unit, and what wants it.
    starters: Arc<Mutex<(Vec<&'static str>, Vec<&'static str>)>>,
    /// The sub state of the listed unit, if it is not that of one that starts.
    sub_state: Arc<Mutex<Option<&'static str>>>,
}

impl Heard {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn state(&mut self) -> &'static str {
        let Some(looks) = &mut self.looks_since_stop else {
            return "active";
        };
        *looks += 1;
        if *looks > 3 {
            "inactive"
        } else {
            "deactivating"
        }
    }

    fn value(&mut self, property: &str) -> Variant<'static> {
        match property {
            "FragmentPath" => Variant::new("/usr/lib/systemd/system/careen-agent.service"),
            "ActiveState" => Variant::new(self.state()),
            "ActiveEnterTimestampMonotonic" => Variant::new(1_000_000_u64),
            "DropInPaths" => {
                Variant::new(vec!["/etc/systemd/system/careen-agent.service.d/x.conf"])
            }
            "TriggeredBy" => Variant::new(self.starters.lock().unwrap().0.clone()),
            "UnitFileState" => Variant::new("enabled"),
            "WantedBy" => Variant::new(self.starters.lock().unwrap().1.clone()),
            "RequiredBy" => Variant::new(Vec::<&str>::new()),
            "ExecStart" => Variant::new(vec![command("/usr/bin/careen-agent")]),
            "LimitNOFILE" => Variant::new(u64::MAX),
            "LimitNOFILESoft" => Variant::new(1024_u64),
            "LimitMEMLOCK" => Variant::new(8_388_608_u64),
            "TasksMax" => Variant::new(4915_u64),
            "Result" => Variant::new("exit-code"),
            "ExecMainStatus" => Variant::new(217_i32),
            "SystemState" => Variant::new("starting"),
            "WatchdogDevice" => Variant::new("/dev/watchdog1"),
            "StatusText" => Variant::new("watching the Node"),
            other => panic!("systemd is asked for {other}"),
        }
    }
}

/// One entry of `ExecStart`: path, arguments, whether a failure is ignored, four times, the process,
/// and how it ended. It is not the type under test, as [`played::Row`].
type Command = (String, Vec<String>, bool, u64, u64, u64, u64, u32, i32, i32);

fn command(program: &str) -> Command {
    let arguments = vec![program.to_owned()];
    (program.to_owned(), arguments, false, 0, 0, 0, 0, 7, 1, 217)
}

impl Answer for Heard {
    async fn to(&mut self, systemd: &Connection, call: &Message) -> zbus::Result<()> {
        let (member, asked) = read(call);
        let heard = format!("{member} {asked}").trim_end().to_owned();
        self.calls.lock().unwrap().push(heard);
        let header = call.header();
        match (member.as_str(), asked.as_str()) {
            ("GetUnit", name) if name != AGENT => {
                let error = "org.freedesktop.systemd1.NoSuchUnit";
                systemd.reply_error(&header, error, &"not loaded").await
            }
            ("Reload", _) => systemd.reply(&header, &()).await,
            ("ListUnitsByPatterns", _) => {
                let mut row = row("careen-deploy-u1-fetch.service".to_owned());
                if let Some(sub_state) = *self.sub_state.lock().unwrap() {
                    row.4 = sub_state.to_owned();
                }
                systemd.reply(&header, &vec![row]).await
            }
            ("ListJobs", _) => {
                let job = |id: u32, unit: &str, state: &str| {
                    let text = |text: &str| text.to_owned();
                    (id, text(unit), text("start"), text(state), path(), path())
                };
                let jobs = vec![
                    job(1, "multi-user.target", "waiting"),
                    job(2, "raid.service", "running"),
                ];
                systemd.reply(&header, &jobs).await
            }
            ("Get", property) => systemd.reply(&header, &self.value(property)).await,
            ("StopUnit", _) => {
                self.looks_since_stop.get_or_insert(0);
                systemd.reply(&header, &path()).await
            }
            _ => systemd.reply(&header, &path()).await,
        }
    }
}

/// A call's name and its arguments.
fn read(call: &Message) -> (String, String) {
    let (header, body) = (call.header(), call.body());
    let member = header.member().unwrap().to_string();
    let said = match member.as_str() {
        "GetUnit" | "LoadUnit" => body.deserialize().unwrap(),
        "StartUnit" | "StopUnit" | "RestartUnit" => {
            let (name, mode): (String, String) = body.deserialize().unwrap();
            format!("{name} {mode}")
        }
        "ListUnitsByPatterns" => {
            let asked: (Vec<String>, Vec<String>) = body.deserialize().unwrap();
            format!("{} {}", asked.0.join(","), asked.1.join(","))
        }
        "Get" => {
            let (_, property): (String, String) = body.deserialize().unwrap();
            property
        }
        "Reload" | "ListJobs" => String::new(),
        other => panic!("systemd is told to {other}"),
    };
    (member, said)
}
