//! The layers of an image to fetch: how many of how many, in bytes as transferred.

use std::collections::HashSet;

use ostree_ext::container::store::{
    ImportProgress, LayerProgress, ManifestLayerState, PreparedImport,
};
use ostree_ext::containers_image_proxy::oci_spec::image::Descriptor;
use ostree_ext::gio;
use ostree_ext::ostree::{ObjectType, Repo, RepoCommitState};

use crate::report::Report;

const NEVER: Option<&gio::Cancellable> = None;
/// What is left for putting the layers together.
const ALL_HERE: u64 = 95;

/// Those that are missing.
pub struct Missing {
    layers: Vec<Layer>,
    /// The layer that is being fetched, and how much of it has arrived.
    now: Option<(usize, u64)>,
    /// Of those that have come whole.
    pub bytes: u64,
    done: usize,
}

struct Layer {
    digest: String,
    /// The ref by which ostree-ext records that it is here.
    reference: String,
    size: u64,
}

/// A layer that is here.
pub struct Here {
    /// Where ostree-ext notes so.
    pub reference: String,
    /// What it notes.
    pub commit: String,
}

/// The layers of an image that are here.
pub fn here(prepared: &PreparedImport) -> Vec<Here> {
    let here = prepared.all_layers().filter_map(|layer| {
        Some(Here {
            reference: layer.ostree_ref.clone(),
            commit: layer.commit.clone()?,
        })
    });
    here.collect()
}

/// Discards the record of layers that may not match their digests.
///
/// The commit's own layer says what the image is. ostree-ext records it when its archive ends:
/// before skopeo has seen the last byte and knows whether the digest matches (ostree-ext,
/// container/store.rs, `unencapsulate_base`). A run that is killed in between leaves the record,
/// and nothing else would detect a false commit if no signature is required. So that layer is
/// fetched each time. The other layers contain only files, each under its own checksum
/// (tar/import.rs, `import_object`). Of their records, those that lack an object are discarded, as
/// after `verify` has found damage and removed it.
pub fn forget_unsure(repo: &Repo, prepared: &mut PreparedImport) {
    forget_it(repo, &mut prepared.ostree_commit_layer);
    for layer in &mut prepared.ostree_layers {
        let broken = |commit: &String| !is_whole(repo, commit);
        if layer.commit.as_ref().is_some_and(broken) {
            forget_it(repo, layer);
        }
    }
}

fn forget_it(repo: &Repo, layer: &mut ManifestLayerState) {
    if layer.commit.take().is_some() {
        forget(repo, &layer.ostree_ref);
    }
}

/// Discards all of them, so that the next run fetches each again.
pub fn forget_all<'a>(repo: &Repo, references: impl IntoIterator<Item = &'a String>) {
    for reference in references {
        forget(repo, reference);
    }
}

/// This is only a hint for the next run, which checks on its own.
fn forget(repo: &Repo, reference: &str) {
    let _ = repo.set_ref_immediate(None, reference, None, NEVER);
}

/// Whether every object of a commit is here. libostree does not list the missing folders of a
/// commit that is marked partial.
pub fn is_whole(repo: &Repo, commit: &str) -> bool {
    let marked = repo.load_commit(commit);
    if marked.is_ok_and(|(_, state)| state.contains(RepoCommitState::PARTIAL)) {
        return false;
    }
    let here = |kind: ObjectType, name: &str| repo.has_object(kind, name, NEVER).unwrap_or(false);
    let objects = repo.traverse_commit(commit, 0, NEVER);
    objects.is_ok_and(|objects| {
        objects
            .iter()
            .all(|object| here(object.object_type(), object.checksum()))
    })
}

/// A file that a layer contains and the commit does not. The first layer is recorded as the commit
/// itself, and nothing holds what else ostree-ext took from it.
pub fn stranger(repo: &Repo, commit: &str, references: &[String]) -> Option<String> {
    let own: HashSet<_> = files(repo, commit).into_iter().collect();
    let brought = references
        .iter()
        .filter_map(|layer| repo.resolve_rev(layer, true).ok()?);
    let mut brought = brought.flat_map(|layer| files(repo, &layer));
    brought.find(|file| !own.contains(file))
}

/// The files of a commit by their checksums. ostree-ext notes the files of a layer as a commit of
/// them (tar/import.rs, `finish_import_object_set`).
fn files(repo: &Repo, commit: &str) -> Vec<String> {
    let objects = repo.traverse_commit(commit, 0, NEVER).unwrap_or_default();
    let files = objects
        .iter()
        .filter(|object| object.object_type() == ObjectType::File);
    files.map(|file| file.checksum().to_owned()).collect()
}

impl Missing {
    /// Of what was prepared.
    pub fn of(prepared: &PreparedImport) -> Self {
        let missing = prepared
            .all_layers()
            .filter(|layer| layer.commit.is_none())
            .map(Layer::of);
        Self {
            layers: missing.collect(),
            now: None,
            bytes: 0,
            done: 0,
        }
    }

    /// How much there is to bring, in bytes. A manifest may claim any sizes, and no disk has room
    /// for a sum that does not fit.
    pub fn total(&self) -> u64 {
        let sizes = self.layers.iter().map(|layer| layer.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// A layer begins or has arrived.
    pub fn take(&mut self, event: &ImportProgress) {
        match event {
            ImportProgress::OstreeChunkStarted(layer)
            | ImportProgress::DerivedLayerStarted(layer) => {
                self.now = self.position(layer).map(|at| (at, 0));
            }
            ImportProgress::OstreeChunkCompleted(layer)
            | ImportProgress::DerivedLayerCompleted(layer) => {
                self.now = None;
                self.done += 1;
                let size = self.position(layer).map_or(0, |at| self.layers[at].size);
                self.bytes = self.bytes.saturating_add(size);
            }
        }
    }

    /// Some more of it has come.
    pub fn count(&mut self, progress: &LayerProgress) {
        if let Some((_, come)) = &mut self.now {
            *come = progress.fetched.min(progress.total);
        }
    }

    /// Whether nothing is to be brought any more.
    pub fn has_all_come(&self) -> bool {
        self.done == self.layers.len()
    }

    /// Reports the progress.
    pub fn tell(&self, report: &Report) {
        let (come, all) = (
            self.bytes
                .saturating_add(self.now.map_or(0, |(_, come)| come)),
            self.total(),
        );
        let mega = |bytes: u64| bytes as f64 / 1e6;
        let percent = (come.saturating_mul(ALL_HERE) / all.max(1)).min(ALL_HERE);
        let doing = if self.has_all_come() {
            "putting the layers together".to_owned()
        } else {
            format!(
                "fetching layer {} of {}, {:.1} of {:.1} MB",
                self.done + 1,
                self.layers.len(),
                mega(come),
                mega(all)
            )
        };
        report.progress(percent.try_into().unwrap_or(0), doing);
    }

    /// Discards the layer whose transfer was interrupted: libostree takes a layer before skopeo has
    /// seen its last byte and reports whether it is the right one.
    pub fn forget_unfinished(&self, repo: &Repo) {
        if let Some(layer) = self.now.and_then(|(at, _)| self.layers.get(at)) {
            forget(repo, &layer.reference);
        }
    }

    fn position(&self, wanted: &Descriptor) -> Option<usize> {
        let digest = wanted.digest().to_string();
        self.layers.iter().position(|layer| layer.digest == digest)
    }
}

impl Layer {
    fn of(state: &ManifestLayerState) -> Self {
        Self {
            digest: state.layer().digest().to_string(),
            reference: state.ostree_ref.clone(),
            size: state.layer().size(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_adds_the_current_layer_to_the_finished_ones() {
        let layer = |name: &str, size| Layer {
            digest: name.to_owned(),
            reference: name.to_owned(),
            size,
        };
        let mut missing = Missing {
            layers: vec![layer("a", 3_000_000), layer("b", 1_000_000)],
            now: Some((1, 0)),
            bytes: 3_000_000,
            done: 1,
        };
        missing.count(&LayerProgress {
            layer_index: 1,
            fetched: 500_000,
            total: 1_000_000,
        });
        assert_eq!(missing.total(), 4_000_000);
        assert_eq!(missing.now, Some((1, 500_000)));
    }

    #[test]
    fn sizes_that_no_sum_can_hold_are_more_than_any_disk_has() {
        let layer = |size| Layer {
            digest: String::new(),
            reference: String::new(),
            size,
        };
        let missing = Missing {
            layers: vec![layer(u64::MAX), layer(4_000_000)],
            now: None,
            bytes: 0,
            done: 0,
        };
        assert_eq!(missing.total(), u64::MAX);
    }
}
