use super::*;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::MakeWriter;
use upgrade::report::{Answer, Status};

#[test]
fn libraries_log_nothing_unless_a_person_asks_for_more() {
    let (usual, more) = (targets(LevelFilter::INFO), targets(LevelFilter::DEBUG));
    for name in [
        "kube_client::client::builder",
        "hyper_util::client",
        "kube_runtime",
    ] {
        assert!(!usual.would_enable(name, &tracing::Level::ERROR), "{name}");
        assert!(more.would_enable(name, &tracing::Level::ERROR), "{name}");
    }
    assert!(usual.would_enable("careen_agent::node_state", &tracing::Level::INFO));
    assert!(!usual.would_enable("careen_agent::node_state", &tracing::Level::DEBUG));
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn report(phase: &str, code: Option<&str>) -> Report {
    Report {
        answer: Some(Answer::InProgress),
        status: Status {
            id: "u1".parse().ok(),
            phase: phase.to_owned(),
            code: code.map(str::to_owned),
            ..Status::default()
        },
        ..Report::default()
    }
}

/// What is logged while `act` runs.
fn written(act: impl FnOnce()) -> String {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .without_time()
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, act);
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn tell(reports: &[Report]) {
    let mut chronicle = Chronicle::default();
    for report in reports {
        chronicle.tell(report, Some("worker-1"));
    }
}

fn told(reports: &[Report]) -> String {
    written(|| tell(reports))
}

fn fetch() -> StepStory {
    StepStory {
        node: Some("worker-1".to_owned()),
        id: "u1".parse().ok(),
        step: "Fetch",
    }
}

fn failed() -> Outcome {
    Outcome::Failed(upgrade::Reason::ApiAway {
        detail: "refused".to_owned(),
    })
}

/// The fields of every entry, as the journal names them.
#[derive(Clone, Default)]
struct Fields(Arc<Mutex<BTreeSet<String>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Fields {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        let names = event.fields().map(|field| field.name().to_uppercase());
        let beside = names.filter(|name| name != "MESSAGE");
        self.0.lock().unwrap().extend(beside);
    }
}

#[test]
fn begin_and_end_of_a_step_say_whose_it_is_and_a_failed_one_why() {
    let text = written(|| {
        fetch().begins();
        fetch().ends(&Outcome::Cancelled);
        fetch().ends(&failed());
    });
    assert_eq!(text.lines().count(), 3, "{text}");
    for line in text.lines() {
        for field in ["node=\"worker-1\"", "upgrade_id=\"u1\"", "step=\"Fetch\""] {
            assert!(line.contains(field), "{field}: {line}");
        }
    }
    assert_eq!(text.matches("reason=\"ApiAway\"").count(), 1, "{text}");
}

#[test]
fn the_fields_that_the_docs_name_are_those_that_are_written() {
    let fields = Fields::default();
    let subscriber = tracing_subscriber::registry().with(fields.clone());
    tracing::subscriber::with_default(subscriber, || {
        fetch().begins();
        fetch().ends(&failed());
        tell(&[report("Accepted", Some("RemoteAway"))]);
    });
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let page = std::path::Path::new(&here).join("../../docs/monitoring.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## In the journal\n").unwrap();
    let cells = section.lines().filter_map(|row| row.strip_prefix("| `"));
    let documented = cells.map(|cell| cell.split('`').next().unwrap().to_owned());
    assert_eq!(
        documented.collect::<BTreeSet<_>>(),
        *fields.0.lock().unwrap()
    );
}

#[test]
fn a_phase_and_a_reason_are_told_once_with_their_fields() {
    let reports = [
        report("Accepted", None),
        report("Accepted", None),
        report("Accepted", Some("RemoteAway")),
        report("Fetched", None),
    ];
    let text = told(&reports);
    assert_eq!(text.lines().count(), 3, "{text}");
    for field in [
        "node=\"worker-1\"",
        "upgrade_id=\"u1\"",
        "phase=\"Accepted\"",
        "reason=\"RemoteAway\"",
    ] {
        assert!(text.contains(field), "{field}: {text}");
    }
}

#[test]
fn an_upgrade_that_nothing_guarded_is_told_as_such() {
    let mut upgraded = report("Upgraded", None);
    upgraded.status.unguarded = true;
    let text = told(&[upgraded]);
    let said = "Upgraded: the new system does not have a guard in its initramfs";
    assert!(text.contains(said), "{text}");
}

#[test]
fn only_the_stream_that_systemd_names_is_the_journal() {
    let file = tempfile::tempfile().unwrap();
    let meta = file.metadata().unwrap();
    let (device, inode) = (meta.dev(), meta.ino());
    assert!(is_journal(Some(&format!("{device}:{inode}")), &file));
    assert!(!is_journal(Some(&format!("{device}:{}", inode + 1)), &file));
    assert!(!is_journal(Some("journal"), &file));
    assert!(!is_journal(None, &file));
}
