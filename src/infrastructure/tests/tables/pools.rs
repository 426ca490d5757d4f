//! The pool: how many machines, which one goes, and the order of upgrades in place.

use infrastructure::{Member, Pool, PoolAct, PoolShown, PoolWhy, decide_pool};

fn pool(wanted: usize) -> Pool {
    Pool {
        finalizer: true,
        wanted: Some(wanted),
        max_unavailable: 1,
        batch: 10,
        ..Pool::default()
    }
}

/// A machine that serves and runs the wanted image.
fn member(name: &str, made: i64) -> Member {
    Member {
        name: name.to_owned(),
        made,
        machine: true,
        provider_id: Some(format!("careen://fleet/{name}")),
        available: true,
        up_to_date: true,
        ..Member::default()
    }
}

fn old(name: &str, made: i64) -> Member {
    Member {
        up_to_date: false,
        ..member(name, made)
    }
}

/// The decision once the list of ids and the status are written.
fn decide(pool: &Pool, members: &[Member]) -> Result<PoolAct, PoolWhy> {
    let mut pool = pool.clone();
    loop {
        match decide_pool(&pool, members) {
            Ok(PoolAct::ListIds(ids)) => pool.provider_ids = ids,
            Ok(PoolAct::Show(shown)) => pool.shown = shown,
            other => return other,
        }
    }
}

#[test]
fn pool_without_an_owner_or_paused_is_left_alone() {
    let none = Pool {
        wanted: None,
        ..pool(3)
    };
    assert_eq!(decide_pool(&none, &[]), Err(PoolWhy::NoOwner));
    let paused = Pool {
        paused: Some("Cluster c".to_owned()),
        ..pool(3)
    };
    let what = "Cluster c".to_owned();
    let waits = PoolWhy::Paused { what };
    assert_eq!(decide_pool(&paused, &[]), Err(waits.clone()));
    let deleted = Pool {
        deleting: true,
        ..paused
    };
    assert_eq!(decide_pool(&deleted, &[member("a", 1)]), Err(waits));
    let new = Pool {
        finalizer: false,
        ..pool(3)
    };
    assert_eq!(decide_pool(&new, &[]), Ok(PoolAct::AddFinalizer));
}

#[test]
fn pool_makes_what_is_missing_in_bounded_steps() {
    assert_eq!(decide(&pool(3), &[member("a", 1)]), Ok(PoolAct::Create(2)));
    assert_eq!(decide(&pool(300), &[]), Ok(PoolAct::Create(10)));
    let leaves = Member {
        leaving: true,
        ..member("b", 2)
    };
    let members = [member("a", 1), leaves];
    assert_eq!(decide(&pool(2), &members), Ok(PoolAct::Create(1)));
}

#[test]
fn pool_that_grows_starts_slowly() {
    let made = |batch: usize, missing: usize| {
        let pool = Pool {
            batch,
            ..pool(missing)
        };
        decide(&pool, &[])
    };
    for batch in [0, 1] {
        assert_eq!(made(batch, 300), Ok(PoolAct::Create(1)));
    }
    assert_eq!(made(4, 300), Ok(PoolAct::Create(4)));
    assert_eq!(made(4, 3), Ok(PoolAct::Create(3)));
    assert_eq!(made(64, 300), Ok(PoolAct::Create(10)));
}

/// The autoscaler marks a Machine, and then lowers the replicas by one.
#[test]
fn machine_that_the_autoscaler_marks_goes_before_ours() {
    let ours = Member {
        marked_by_us: true,
        ..member("ours", 9)
    };
    let theirs = Member {
        marked: true,
        ..member("theirs", 1)
    };
    let all = [ours.clone(), theirs.clone(), member("c", 5)];
    let name = |name: &str| name.to_owned();
    let goes = decide(&pool(2), &all);
    assert_eq!(goes, Ok(PoolAct::DeleteMachine(name("theirs"))));
    let left = [ours.clone(), member("c", 5)];
    assert_eq!(decide(&pool(2), &left), Ok(PoolAct::Unmark(name("ours"))));
    let goes = decide(&pool(1), &left);
    assert_eq!(goes, Ok(PoolAct::DeleteMachine(name("ours"))));
    let stays = [theirs, member("c", 5)];
    assert_eq!(decide(&pool(2), &stays), Err(PoolWhy::Settled));
}

fn changed(name: &str, made: i64) -> Member {
    Member {
        changed: true,
        ..member(name, made)
    }
}

#[test]
fn what_no_upgrade_changes_is_replaced_only_if_told() {
    let members = [changed("a", 2), changed("b", 1), member("c", 3)];
    assert_eq!(decide(&pool(3), &members), Err(PoolWhy::Settled));
    let told = Pool {
        replace: true,
        ..pool(3)
    };
    let first = decide(&told, &members);
    assert_eq!(first, Ok(PoolAct::DeleteMachine("b".to_owned())));
    let leaves = Member {
        leaving: true,
        ..changed("b", 1)
    };
    let joins = Member {
        provider_id: None,
        available: false,
        ..member("d", 9)
    };
    let next = [changed("a", 2), leaves.clone(), member("c", 3)];
    assert_eq!(decide(&told, &next), Ok(PoolAct::Create(1)));
    let next = [changed("a", 2), leaves, member("c", 3), joins];
    let waits = PoolWhy::Unavailable {
        away: 1,
        allowed: 1,
        first: String::new(),
    };
    assert_eq!(decide(&told, &next), Err(waits), "its successor is no node");
    let old_image = Member {
        up_to_date: false,
        ..changed("a", 2)
    };
    let found = decide(&told, &[old_image, member("c", 3), member("d", 9)]);
    assert_eq!(found, Ok(PoolAct::DeleteMachine("a".to_owned())));
}

#[test]
fn changed_machine_that_is_no_node_is_replaced_at_once() {
    let joins = |name: &str| Member {
        provider_id: None,
        available: false,
        stale: true,
        ..changed(name, 1)
    };
    let told = Pool {
        replace: true,
        ..pool(2)
    };
    let members = [joins("a"), joins("b")];
    let found = decide(&told, &members);
    assert_eq!(found, Ok(PoolAct::DeleteMachine("a".to_owned())));
    let kept = decide(&pool(2), &members);
    assert_eq!(kept, Ok(PoolAct::SetImage("a".to_owned())));
}

#[test]
fn id_stays_listed_until_its_machine_is_gone() {
    let leaves = Member {
        leaving: true,
        ..member("b", 2)
    };
    let found = decide_pool(&pool(1), &[leaves, member("a", 1)]);
    let ids = ["careen://fleet/a", "careen://fleet/b"].map(str::to_owned);
    assert_eq!(found, Ok(PoolAct::ListIds(ids.into())));
}

#[test]
fn marked_sick_and_old_machines_go_before_others() {
    let sick = Member {
        available: false,
        ..member("sick", 1)
    };
    let marked = Member {
        marked: true,
        ..member("marked", 1)
    };
    let (new, first) = (member("new", 9), member("first", 2));
    let goes = |members: &[Member]| decide(&pool(members.len() - 1), members);
    let name = |name: &str| name.to_owned();
    let all = [
        first.clone(),
        old("old", 1),
        sick.clone(),
        marked,
        new.clone(),
    ];
    assert_eq!(goes(&all), Ok(PoolAct::DeleteMachine(name("marked"))));
    let rest = [first.clone(), old("old", 1), sick, new.clone()];
    assert_eq!(goes(&rest), Ok(PoolAct::Mark(name("sick"))));
    let rest = [first.clone(), old("old", 1), new.clone()];
    assert_eq!(goes(&rest), Ok(PoolAct::Mark(name("old"))));
    assert_eq!(goes(&[first, new]), Ok(PoolAct::Mark(name("new"))));
    let unmade = Member {
        machine: false,
        available: false,
        ..member("unmade", 5)
    };
    let found = goes(&[member("a", 1), unmade]);
    assert_eq!(found, Ok(PoolAct::DeleteMember(name("unmade"))));
}

#[test]
fn no_more_machines_are_away_than_may_be() {
    let two = Pool {
        max_unavailable: 2,
        ..pool(4)
    };
    let down = Member {
        available: false,
        ..member("down", 1)
    };
    let members = [down.clone(), old("b", 3), old("c", 2), old("d", 4)];
    assert_eq!(decide(&two, &members), Ok(PoolAct::Upgrade("c".to_owned())));
    let under_way = Member {
        upgrading: true,
        available: false,
        says: Some("InProgress".to_owned()),
        ..old("c", 2)
    };
    let members = [down, old("b", 3), under_way.clone(), old("d", 4)];
    let waits = PoolWhy::Unavailable {
        away: 2,
        allowed: 2,
        first: " (c: InProgress)".to_owned(),
    };
    assert_eq!(decide(&two, &members), Err(waits));
    let one = PoolWhy::Unavailable {
        away: 1,
        allowed: 1,
        first: " (c: InProgress)".to_owned(),
    };
    let members = [under_way.clone(), old("b", 3)];
    assert_eq!(decide(&pool(2), &members), Err(one));
    let last = PoolWhy::Upgrading {
        machines: 1,
        first: " (c: InProgress)".to_owned(),
    };
    let members = [under_way, member("b", 3)];
    assert_eq!(decide(&pool(2), &members), Err(last));
}

#[test]
fn one_failure_stops_the_pool() {
    let failed = Member {
        failed: Some("the kubelet is not Ready".to_owned()),
        ..old("a", 1)
    };
    let why = PoolWhy::UpgradeFailed {
        name: "a".to_owned(),
        detail: "the kubelet is not Ready".to_owned(),
    };
    assert_eq!(decide(&pool(2), &[failed, old("b", 2)]), Err(why));
}

#[test]
fn sick_machine_is_upgraded_when_no_other_may_be() {
    let sick = Member {
        available: false,
        ..old("sick", 1)
    };
    let members = [sick.clone(), old("b", 2)];
    let two = Pool {
        max_unavailable: 2,
        ..pool(2)
    };
    assert_eq!(decide(&two, &members), Ok(PoolAct::Upgrade("b".to_owned())));
    let found = decide(&pool(2), &members);
    assert_eq!(found, Ok(PoolAct::Upgrade("sick".to_owned())));
    let too_many = [sick.clone(), Member { made: 2, ..sick }];
    let waits = PoolWhy::Unavailable {
        away: 2,
        allowed: 1,
        first: String::new(),
    };
    assert_eq!(decide(&pool(2), &too_many), Err(waits));
}

#[test]
fn deleted_pool_goes_after_its_machines() {
    let gone = Pool {
        deleting: true,
        wanted: None,
        ..pool(2)
    };
    let leaves = Member {
        leaving: true,
        ..member("a", 1)
    };
    let unmade = Member {
        machine: false,
        ..member("b", 2)
    };
    let found = decide_pool(&gone, &[leaves.clone(), unmade]);
    assert_eq!(found, Ok(PoolAct::DeleteMember("b".to_owned())));
    assert_eq!(
        decide_pool(&gone, &[leaves]),
        Err(PoolWhy::Leaving { left: 1 })
    );
    assert_eq!(decide_pool(&gone, &[]), Ok(PoolAct::RemoveFinalizer));
}

#[test]
fn status_counts_what_stays() {
    let joins = Member {
        provider_id: None,
        available: false,
        says: Some("NoHost".to_owned()),
        ..member("b", 2)
    };
    let ids = vec!["careen://fleet/a".to_owned()];
    let listed = Pool {
        provider_ids: ids,
        ..pool(2)
    };
    let shown = PoolShown {
        ready: false,
        replicas: 2,
        up_to_date: 2,
    };
    let members = [member("a", 1), joins];
    assert_eq!(decide_pool(&listed, &members), Ok(PoolAct::Show(shown)));
    let why = PoolWhy::Joining {
        nodes: 1,
        wanted: 2,
        first: " (b: NoHost)".to_owned(),
    };
    assert_eq!(decide(&pool(2), &members), Err(why));
    let done = [member("a", 1), member("b", 2)];
    assert_eq!(decide(&pool(2), &done), Err(PoolWhy::Settled));
}

#[test]
fn pool_that_was_ready_stays_ready_while_it_grows() {
    let ready = |nodes: usize, wanted: usize, before: bool| {
        let mut pool = pool(wanted);
        pool.shown.ready = before;
        let joined = |at: usize| Member {
            provider_id: (at < nodes).then(|| format!("careen://fleet/{at}")),
            ..member(&at.to_string(), 1)
        };
        let members: Vec<_> = (0..wanted).map(joined).collect();
        pool.provider_ids = members
            .iter()
            .flat_map(|one| one.provider_id.clone())
            .collect();
        match decide_pool(&pool, &members) {
            Ok(PoolAct::Show(shown)) => shown.ready,
            other => panic!("{other:?}"),
        }
    };
    assert!(!ready(1, 2, false));
    assert!(ready(2, 2, false));
    assert!(ready(2, 3, true));
}

#[test]
fn machine_whose_member_is_gone_is_deleted() {
    let left = Pool {
        dangling: vec!["c".to_owned()],
        ..pool(1)
    };
    let goes = PoolAct::DeleteMachine("c".to_owned());
    assert_eq!(decide(&left, &[member("a", 1)]), Ok(goes.clone()));
    let deleted = Pool {
        deleting: true,
        ..left
    };
    assert_eq!(decide_pool(&deleted, &[]), Ok(goes));
}

#[test]
fn member_that_has_not_joined_takes_the_new_image() {
    let stale = |provider_id: Option<&str>| Member {
        provider_id: provider_id.map(str::to_owned),
        stale: true,
        available: false,
        ..old("b", 2)
    };
    let members = [member("a", 1), stale(None)];
    let act = PoolAct::SetImage("b".to_owned());
    assert_eq!(decide(&pool(2), &members), Ok(act));
    let act = PoolAct::Upgrade("b".to_owned());
    let members = [member("a", 1), stale(Some("careen://fleet/b"))];
    assert_eq!(decide(&pool(2), &members), Ok(act));
}

#[test]
fn pool_without_a_known_image_upgrades_nothing() {
    let unknown = Pool {
        no_image: Some("no catalogue".to_owned()),
        ..pool(1)
    };
    let why = PoolWhy::NoImage {
        detail: "no catalogue".to_owned(),
    };
    assert_eq!(decide(&unknown, &[old("a", 1)]), Err(why));
    assert_eq!(decide(&unknown, &[]), Ok(PoolAct::Create(1)));
}

fn paused(one: Member) -> Member {
    Member {
        paused: Some("Machine a".to_owned()),
        ..one
    }
}

#[test]
fn nothing_begins_with_a_machine_that_a_person_has_paused() {
    let waits = Err(PoolWhy::MachinePaused {
        what: "Machine a".to_owned(),
    });
    let upgraded = |name: &str| Ok(PoolAct::Upgrade(name.to_owned()));
    let members = [paused(old("a", 1)), old("b", 2)];
    assert_eq!(decide(&pool(2), &members), upgraded("b"));
    let last = [paused(old("a", 1)), member("b", 2)];
    assert_eq!(decide(&pool(2), &last), waits);
    let done = [paused(member("a", 1)), member("b", 2)];
    assert_eq!(decide(&pool(2), &done), Err(PoolWhy::Settled));
    let told = Pool {
        replace: true,
        ..pool(1)
    };
    assert_eq!(decide(&told, &[paused(changed("a", 1))]), waits);
    let stale = Member {
        provider_id: None,
        stale: true,
        ..paused(member("a", 1))
    };
    let first = decide(&pool(1), &[stale]);
    assert_eq!(first.unwrap_err().code(), "Joining");
}

#[test]
fn pool_shrinks_around_a_paused_machine_unless_marked() {
    let goes = |name: &str| Ok(PoolAct::Mark(name.to_owned()));
    let newest = [member("a", 1), paused(member("b", 9))];
    assert_eq!(decide(&pool(1), &newest), goes("a"));
    let both = [paused(member("a", 1)), paused(member("b", 9))];
    assert_eq!(decide(&pool(1), &both).unwrap_err().code(), "MachinePaused");
    let marked = Member {
        marked: true,
        ..paused(member("b", 9))
    };
    let marked = decide(&pool(1), &[member("a", 1), marked]);
    assert_eq!(marked, Ok(PoolAct::DeleteMachine("b".to_owned())));
}

#[test]
fn no_machine_waits_for_one_that_a_person_left_out() {
    let left_out = |one: Member| Member {
        left_out: true,
        ..one
    };
    let gone = Member {
        available: false,
        failed: Some("no reason".to_owned()),
        ..left_out(old("a", 1))
    };
    let upgrade = decide(&pool(2), &[gone.clone(), old("b", 2)]);
    assert_eq!(upgrade, Ok(PoolAct::Upgrade("b".to_owned())));
    let rest = decide(&pool(2), &[gone, member("b", 2)]);
    assert_eq!(rest, Err(PoolWhy::LeftOut { machines: 1 }));
}
