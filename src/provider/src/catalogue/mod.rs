//! Which image carries which Kubernetes version, as operators write it into ImageCatalogue objects.

mod choose;
mod crd;
mod status;

use std::sync::{Arc, PoisonError, RwLock};

use kube::api::Api;
use kube::{Client, ResourceExt};
use tracing::warn;

use crate::watch::{self, Filter, News};
pub use choose::{For, choose};
pub use crd::{
    Condition, Entry, EntryStatus, ImageCatalogue, ImageCatalogueSpec, ImageCatalogueStatus,
    Selector, manifest,
};
pub use status::status;

/// All catalogues as last seen. Clones share them.
#[derive(Clone, Default)]
pub struct Catalogues(Arc<RwLock<State>>);

#[derive(Default)]
struct State {
    synced: bool,
    all: Vec<ImageCatalogue>,
}

impl Catalogues {
    fn write(&self, act: impl FnOnce(&mut State)) {
        act(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// All catalogues, by name.
    #[must_use]
    pub fn all(&self) -> Vec<ImageCatalogue> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .all
            .clone()
    }

    /// Reads all catalogues without a copy.
    pub fn look<T>(&self, look: impl FnOnce(&[ImageCatalogue]) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner).all)
    }

    /// Whether the catalogues were listed once.
    #[must_use]
    pub fn synced(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).synced
    }

    /// Replaces all catalogues.
    pub fn replace(&self, mut all: Vec<ImageCatalogue>) {
        all.sort_by_key(ResourceExt::name_any);
        self.write(|state| *state = State { synced: true, all });
    }

    fn put(&self, one: ImageCatalogue) {
        let mut all = self.all();
        all.retain(|other| other.name_any() != one.name_any());
        all.push(one);
        self.replace(all);
    }

    fn remove(&self, name: &str) {
        self.write(|state| state.all.retain(|one| one.name_any() != name));
    }
}

/// Watches for ever. Calls `changed` after each change.
pub async fn run(client: Client, catalogues: Catalogues, changed: impl Fn()) {
    let api: Api<ImageCatalogue> = Api::all(client);
    let tell = |news| {
        match news {
            News::All(all) => catalogues.replace(all),
            News::Changed(one) => catalogues.put(one),
            News::Gone(one) => catalogues.remove(&one.name_any()),
        }
        changed();
    };
    watch::forever(api, Filter::default(), tell, |error| {
        warn!("the watch of ImageCatalogues failed: {error}. Check that the CRD is installed; the watch is retried.");
        std::future::ready(())
    })
    .await;
}
