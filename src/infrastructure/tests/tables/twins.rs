//! Hosts with one host name.

use infrastructure::{AWAITS_DATA, Data, Host, Phase, Wanted};

use crate::scene::{OTHER, Scene, check, claim, host};

/// A claim before that of the scene.
const LOWER: &str = "0000000000000001";

/// Two machines chose two hosts of one host name at the same moment. One kubelet registers.
#[test]
fn of_two_hosts_with_one_name_one_gets_the_data() {
    let twin = |other: &str, change: fn(&mut Host)| {
        let mut host = host("twin");
        (host.hostname, host.claim) = ("h".to_owned(), Some(claim(other)));
        change(&mut host);
        Scene::at(Phase::Joining).with(|s| {
            s.host_mut().step = Some(AWAITS_DATA.to_owned());
            s.data = Data::Hash("f".to_owned());
            s.hosts.push(host);
        })
    };
    let told = |host: &mut Host| host.claim.as_mut().unwrap().bootstrap_hash = Some("e".into());
    let leaves = |host: &mut Host| host.claim.as_mut().unwrap().wanted = Wanted::Released;
    let elsewhere = |host: &mut Host| host.claim.as_mut().unwrap().cluster = "d".to_owned();
    let committed = |mut scene: Scene| {
        scene.machine.host.as_mut().unwrap().committed = true;
        scene
    };
    check(vec![
        (
            "the other is second",
            twin(OTHER, |_| {}),
            "Commit",
            "Moving",
        ),
        (
            "the other is second, and was told of its data",
            twin(OTHER, told),
            "Release",
            "NodeNameTaken",
        ),
        (
            "the other is first",
            twin(LOWER, |_| {}),
            "Release",
            "NodeNameTaken",
        ),
        (
            "the other is first, and this one is committed",
            committed(twin(LOWER, |_| {})),
            "-",
            "NodeNameTaken",
        ),
        ("the other leaves", twin(LOWER, leaves), "Commit", "Moving"),
        (
            "the other is in another cluster",
            twin(LOWER, elsewhere),
            "Commit",
            "Moving",
        ),
        (
            "the other has another name",
            twin(LOWER, |host| host.hostname = "twin".to_owned()),
            "Commit",
            "Moving",
        ),
    ]);
}
