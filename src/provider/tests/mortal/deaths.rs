//! It dies when a write of its own is in and before it hears so; whoever comes next finishes. Once for every write that there is.

use provider::names;

use crate::agent::Manner;
use crate::scene::{NEW, Scene};

/// One way from a beginning to an end.
struct Way {
    manner: Manner,
    begin: fn(&Scene),
    /// Done over and over meanwhile, by somebody else.
    meanwhile: fn(&Scene),
    is_over: fn(&Scene) -> bool,
}

impl Way {
    /// Dies at this write. Whether it came to that.
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

    /// Dies at each write that there is; returns how many there are.
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

/// Whoever asked changes their mind as soon as the Node is asked.
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
