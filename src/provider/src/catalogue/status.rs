//! A catalogue's report on its own entries.

use kube::ResourceExt;

use super::crd::{Condition, Entry, EntryStatus, ImageCatalogue, ImageCatalogueStatus};

/// The status that a catalogue should have, given all catalogues. If the status changes, its time
/// is `now`.
#[must_use]
pub fn status(
    catalogue: &ImageCatalogue,
    all: &[ImageCatalogue],
    now: &str,
) -> ImageCatalogueStatus {
    let images: Vec<EntryStatus> = catalogue
        .spec
        .images
        .iter()
        .map(|entry| of_entry(entry, catalogue, all))
        .collect();
    let bad: Vec<&str> = images
        .iter()
        .filter_map(|image| image.reason.as_deref())
        .collect();
    let old = catalogue
        .status
        .as_ref()
        .and_then(|status| status.conditions.first());
    let ready = bad.is_empty();
    let word = if ready { "True" } else { "False" };
    let since = old
        .filter(|old| old.status == word)
        .map_or(now, |old| old.last_transition_time.as_str());
    let condition = Condition {
        kind: "Ready".to_owned(),
        status: word.to_owned(),
        reason: if ready { "AllResolve" } else { "SomeDoNot" }.to_owned(),
        message: if ready {
            "every entry resolves".to_owned()
        } else {
            bad.join(" ")
        },
        last_transition_time: since.to_owned(),
    };
    ImageCatalogueStatus {
        conditions: vec![condition],
        images,
        versions: versions(&catalogue.spec.images),
        observed_generation: catalogue.metadata.generation,
    }
}

/// In the order of the entries, because their author looks for them in that order.
fn versions(entries: &[Entry]) -> String {
    let mut versions: Vec<&str> = Vec::new();
    for entry in entries {
        if !versions.contains(&entry.kubernetes_version.as_str()) {
            versions.push(&entry.kubernetes_version);
        }
    }
    versions.join(",")
}

fn of_entry(entry: &Entry, of: &ImageCatalogue, all: &[ImageCatalogue]) -> EntryStatus {
    let reason = match entry.image.parse::<upgrade::Target>() {
        Err(bad) => Some(format!("{bad}. Correct it.")),
        Ok(target) if !target.is_pinned() => Some(format!(
            "{target} is not pinned. End it with @ and the commit's digits."
        )),
        Ok(_) => twin(entry, of, all),
    };
    EntryStatus {
        kubernetes_version: entry.kubernetes_version.clone(),
        resolves: reason.is_none(),
        reason,
    }
}

/// Another entry, in any catalogue, with another image for exactly the same Machines. In that case
/// neither is ever used.
fn twin(entry: &Entry, of: &ImageCatalogue, all: &[ImageCatalogue]) -> Option<String> {
    let own = of.name_any();
    let others = all.iter().filter(|other| other.name_any() != own);
    let entries = std::iter::once(of).chain(others).flat_map(|catalogue| {
        let images = catalogue.spec.images.iter();
        images.map(|image| (catalogue.name_any(), image))
    });
    let same = |other: &Entry| other.image != entry.image && are_for_the_same(other, entry);
    let (name, other) = entries.into_iter().find(|(_, other)| same(other))?;
    let place = if name == own {
        String::new()
    } else {
        format!(" in ImageCatalogue {name}")
    };
    Some(format!(
        "{} and {}{place} are for the same Machines. Keep one of them.",
        entry.image, other.image
    ))
}

/// Whether two entries are for the same Machines. A selector without labels counts as none.
fn are_for_the_same(one: &Entry, other: &Entry) -> bool {
    let labels = |entry: &Entry| {
        let selector = entry.machine_selector.as_ref();
        selector.map_or(0, |selector| selector.match_labels.len())
    };
    let selected =
        one.machine_selector == other.machine_selector || labels(one) + labels(other) == 0;
    one.kubernetes_version == other.kubernetes_version
        && selected
        && one.architecture == other.architecture
        && one.stateroot == other.stateroot
}
