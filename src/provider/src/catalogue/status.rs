//! What a catalogue says of its own entries.

use super::crd::{Condition, Entry, EntryStatus, ImageCatalogue, ImageCatalogueStatus};

/// The status that a catalogue should have, with the time that it would have changed at.
#[must_use]
pub fn status(catalogue: &ImageCatalogue, now: &str) -> ImageCatalogueStatus {
    let images: Vec<EntryStatus> = catalogue
        .spec
        .images
        .iter()
        .map(|entry| of_entry(entry, &catalogue.spec.images))
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
            bad.join("; ")
        },
        last_transition_time: since.to_owned(),
    };
    ImageCatalogueStatus {
        conditions: vec![condition],
        images,
        observed_generation: catalogue.metadata.generation,
    }
}

fn of_entry(entry: &Entry, all: &[Entry]) -> EntryStatus {
    let reason = match entry.image.parse::<upgrade::Target>() {
        Err(bad) => Some(bad.to_string()),
        Ok(target) if !target.is_pinned() => Some(format!("{target} is not pinned")),
        Ok(_) => twin(entry, all),
    };
    EntryStatus {
        kubernetes_version: entry.kubernetes_version.clone(),
        resolves: reason.is_none(),
        reason,
    }
}

/// Another entry for exactly the same Machines with another image: then neither is ever taken.
fn twin(entry: &Entry, all: &[Entry]) -> Option<String> {
    let same = |other: &&Entry| {
        Entry {
            image: entry.image.clone(),
            ..Entry::clone(other)
        } == *entry
    };
    let other = all
        .iter()
        .filter(same)
        .find(|other| other.image != entry.image)?;
    Some(format!(
        "{} is given for the same Machines as {}; keep one",
        entry.image, other.image
    ))
}
