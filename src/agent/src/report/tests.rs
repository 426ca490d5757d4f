use super::*;
use crate::cluster::SILENCE;
use client::Node;
use serde_json::json;

fn reporter() -> Reporter {
    let cluster = Cluster::new("/nowhere".as_ref(), SILENCE);
    Reporter::start(Arc::new(cluster))
}

fn something_to_tell() -> ToReport {
    let node = json!({ "metadata": { "name": "n", "uid": "u" } });
    let node: Node = serde_json::from_value(node).unwrap();
    let report = Report {
        answer: Some(Answer::InProgress),
        ..Report::default()
    };
    ToReport {
        report: Some(report),
        node: Some(Arc::new(node.into())),
        listing: 1,
        reached: true,
        hurry: true,
    }
}

/// A writer that has written nothing and does not run.
fn writer() -> Writer {
    Writer {
        cluster: Arc::new(Cluster::new("/nowhere".as_ref(), SILENCE)),
        wanted: watch::channel(ToReport::default()).1,
        settle: watch::Sender::new(true),
        owe: watch::Sender::new(false),
        written: None,
    }
}

/// An upgrade has ended.
fn an_answer() -> ToReport {
    let mut wanted = something_to_tell();
    wanted.report = wanted.report.map(|report| Report {
        answer: Some(Answer::Upgraded),
        ..report
    });
    wanted
}

#[tokio::test]
async fn answer_is_owed_until_written_even_when_the_server_is_away() {
    let mut writer = writer();
    for reached in [true, false] {
        let wanted = ToReport {
            reached,
            ..an_answer()
        };
        assert!(writer.owes(&wanted), "reached: {reached}");
    }
    let told = an_answer();
    let (report, node) = (told.report.as_ref().unwrap(), told.node.as_ref().unwrap());
    writer.remember(&told, report, node);
    let away = ToReport {
        reached: false,
        ..told.clone()
    };
    assert!(!writer.owes(&told));
    assert!(!writer.owes(&away), "a shutdown does not wait for it");
}

#[tokio::test]
async fn nothing_is_owed_for_unfinished_upgrades_or_a_deleted_node() {
    let writer = writer();
    assert!(
        !writer.owes(&something_to_tell()),
        "the next agent tells it"
    );
    let gone = ToReport {
        node: None,
        ..an_answer()
    };
    assert!(!writer.owes(&gone));
    assert!(!writer.owes(&ToReport::default()));
}

#[tokio::test]
async fn answer_is_owed_as_soon_as_it_is_handed_to_the_reporter() {
    let reporter = reporter();
    tokio::task::yield_now().await;
    assert!(!*reporter.owed().borrow());
    reporter.tell(an_answer());
    assert!(*reporter.owed().borrow());
}

#[tokio::test]
async fn what_has_just_been_left_to_tell_is_not_settled() {
    let reporter = reporter();
    // The writer runs, and finds nothing to do.
    tokio::task::yield_now().await;
    let settled = reporter.settled();
    assert!(*settled.borrow());
    reporter.tell(something_to_tell());
    assert!(!*settled.borrow(), "before the writer had a chance to run");
}

#[tokio::test]
async fn report_is_due_again_when_a_returned_server_has_lost_it() {
    let told = something_to_tell();
    let (report, node) = (told.report.as_ref().unwrap(), told.node.as_ref().unwrap());
    let mut writer = writer();
    writer.remember(&told, report, node);
    assert_eq!(writer.due(&told), None, "the watch may be behind our write");
    let back = ToReport {
        listing: told.listing + 1,
        ..told.clone()
    };
    assert!(writer.due(&back).is_some(), "this Node says nothing");
}

#[tokio::test]
async fn what_cannot_be_told_to_anybody_holds_nobody_up() {
    let reporter = reporter();
    reporter.tell(ToReport {
        reached: false,
        ..something_to_tell()
    });
    let mut settled = reporter.settled();
    settled.wait_for(|settled| *settled).await.unwrap();
}

/// The Node as the API server has it after an accepted write.
fn with(report: &Report, bare: &Node) -> NodeSeen {
    let bare: NodeSeen = bare.clone().into();
    let mut node = patch::body(report, &bare, Timestamp::UNIX_EPOCH);
    if let Some(annotations) = node["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|_, value| !value.is_null());
    }
    node["metadata"]["name"] = json!(bare.name);
    node["metadata"]["uid"] = json!(bare.uid);
    serde_json::from_value::<Node>(node).unwrap().into()
}

#[tokio::test]
async fn lost_report_is_repeated_later_without_delaying_a_reboot() {
    let mut wanted = something_to_tell();
    wanted.hurry = false;
    let report = wanted.report.clone().unwrap();
    let bare = json!({ "metadata": { "name": "n", "uid": "u" } });
    let bare: Node = serde_json::from_value(bare).unwrap();
    let mut writer = writer();
    let at = Instant::now();
    let uid = "u".to_owned();
    writer.written = Some(Written {
        report: report.clone(),
        at,
        uid,
        listing: wanted.listing,
    });
    wanted.node = Some(Arc::new(with(&report, &bare)));
    assert_eq!(writer.due_again(&wanted), None, "it stands there");
    wanted.node = Some(Arc::new(bare.into()));
    assert_eq!(writer.due_again(&wanted), Some(at + LOST));
    assert_eq!(writer.due(&wanted), None, "which a reboot would wait for");
    wanted.hurry = true;
    assert_eq!(writer.due_again(&wanted), None);
}
