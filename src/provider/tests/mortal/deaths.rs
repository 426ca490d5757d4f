//! The provider dies after one of its writes is stored and before it gets the answer, and the
//! successor finishes. The test repeats this for every write.

use provider::names;

use crate::agent::Manner;
use crate::scene::{NEW, Scene};

/// One path from a start to an end.
struct Way {
    manner: Manner,
    begin: fn(&Scene),
    /// Somebody else does this over and over meanwhile.
    meanwhile: fn(&Scene),
    is_over: fn(&Scene) -> bool,
}

impl Way {
    /// Dies at this write. Returns whether there was such a write.
    async fn dies_at(&self, write: usize) -> bool {
        let scene = Scene::new(self.manner).await;
        scene.small.dies_at(write);
        (self.begin)(&scene);
        let life = scene.provider();
        let over = |scene: &Scene| {
            (self.meanwhile)(scene);
            (self.is_over)(scene)
        };
        let died = tokio::select! {
            biased;
            () = scene.small.until_dead() => true,
            () = scene.until("over", over) => false,
        };
        drop(life);
        scene.small.lives_on();
        let _successor = scene.provider();
        let what = format!("over after it died at write {write}");
        scene.until(&what, over).await;
        assert_eq!(scene.small.taken().len(), 1, "write {write}: asked once");
        died
    }

    /// Dies at each write. Returns the number of writes.
    async fn at_every_write(&self) -> usize {
        let mut write = 1;
        while self.dies_at(write).await {
            write += 1;
        }
        write - 1
    }
}

fn nothing(_: &Scene) {}

fn has_arrived(scene: &Scene) -> bool {
    scene.is_left_alone() && scene.condition(names::CONDITION)["status"] == "True"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn core_update_survives_a_provider_death_at_any_write() {
    let way = Way {
        manner: Manner::Upgrades,
        begin: Scene::update,
        meanwhile: nothing,
        is_over: has_arrived,
    };
    let writes = way.at_every_write().await;
    assert!(writes >= 4, "mark, request, condition, mark: {writes}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn annotated_update_survives_a_provider_death_at_any_write() {
    let way = Way {
        manner: Manner::Upgrades,
        begin: Scene::annotate,
        meanwhile: nothing,
        is_over: |scene| {
            let is_ready = scene.condition(names::READY)["status"] == "True";
            has_arrived(scene) && is_ready && scene.version() == NEW
        },
    };
    let writes = way.at_every_write().await;
    assert!(
        writes >= 5,
        "mark, condition, request, condition, mark, annotation: {writes}"
    );
}

/// The requester withdraws as soon as the Node has the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn withdrawal_cleans_up_after_a_provider_death_at_any_write() {
    let way = Way {
        manner: Manner::Dawdles,
        begin: Scene::annotate,
        meanwhile: |scene| {
            if !scene.small.taken().is_empty() && !scene.is_withdrawn() {
                scene.withdraw();
            }
        },
        is_over: |scene| {
            let is_told = scene.condition(names::CONDITION)["reason"] == "Withdrawn";
            let is_ready = scene.condition(names::READY)["status"] != "False";
            scene.is_left_alone() && !scene.node_is_asked() && is_told && is_ready
        },
    };
    let writes = way.at_every_write().await;
    assert!(
        writes >= 5,
        "mark, condition, request, withdrawal, condition, mark: {writes}"
    );
}
