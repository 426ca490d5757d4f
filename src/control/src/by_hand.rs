//! What a person has set by hand, where no kubeadm of the pods' own version is on the node: after a
//! fallback, or with a newer kubeadm than the one that made the pods.
//!
//! Another version has settings of its own, and these are no drift. So a setting is by hand only if
//! no kubeadm that is known here writes it: not the one of the last raise, whose manifests are in
//! the ledger, not the one of the running system, and not the one of the image.

use host::Places;
use host::ledger::Ledger;
use k8s_openapi::api::core::v1::Pod;
use upgrade::control_plane::{Component, Drift, Kind, Source, Survey};

use crate::drift::compare;
use crate::manifests::{Manifest, Manifests, tag};
use crate::rendered::{Basis, Pods, Running};

/// All that is known of what kubeadms write.
#[derive(Debug, Default)]
struct Known {
    /// The one of the last raise.
    raised: Pods,
    /// The one of the running system.
    running: Option<Pods>,
    /// The one of the image.
    image: Option<Pods>,
}

/// Compares the manifests, if that is not done yet.
pub(crate) fn take(survey: &mut Survey, basis: &Basis<'_>, running: Running, image: Option<Pods>) {
    if survey.drift.is_some() {
        return;
    }
    let known = Known {
        raised: raised(&basis.folder.places()),
        running: running.pods,
        image,
    };
    survey.drift = all(basis.read, survey.kind, &known);
    if let (None, Some(why)) = (&survey.drift, running.unlike) {
        survey.miss(Source::Kubeadm, why);
    }
}

/// `None` if nobody can say it of one of the manifests.
fn all(read: &Manifests, kind: Kind, known: &Known) -> Option<Vec<Drift>> {
    let all = read.of_kubeadm(kind);
    let all: Option<Vec<_>> = all.map(|(one, live)| of_one(*one, live, known)).collect();
    all.map(|all| all.concat())
}

fn of_one(component: Component, live: &Manifest, known: &Known) -> Option<Vec<Drift>> {
    let differs = |pod: &Pod| compare(component, &live.pod, pod).drift;
    let of = |pods: &Option<Pods>| pods.as_ref()?.get(&component).map(differs);
    let (running, image) = (of(&known.running), of(&known.image));
    let raised = known.raised.get(&component);
    let raised = raised.filter(|pod| has_the_tag_of(live, pod));
    let mut found = match (raised, &image) {
        // kubeadm-config may have changed since the raise, which another kubeadm must say.
        (Some(_), None) if running.is_none() => return None,
        (Some(pod), _) => differs(pod),
        (None, Some(image)) => image.iter().filter(|one| is_lost(one)).cloned().collect(),
        (None, None) => return None,
    };
    found.retain(|one| {
        let mut others = running.iter().chain(&image);
        others.all(|other| other.iter().any(|also| also.setting == one.setting))
    });
    Some(found)
}

/// A kubeadm of another version writes other values, like the tag of the image.
fn is_lost(drift: &Drift) -> bool {
    !drift.changed || drift.is_vital()
}

fn has_the_tag_of(live: &Manifest, pod: &Pod) -> bool {
    let spec = pod.spec.as_ref();
    let mut containers = spec.into_iter().flat_map(|spec| &spec.containers);
    containers.any(|one| tag(one.image.as_deref().unwrap_or_default()) == live.tag)
}

/// What the kubeadm of the last raise was to write. A ledger that cannot be read says nothing.
fn raised(places: &Places) -> Pods {
    let all = Ledger::all(places).unwrap_or_default().into_iter();
    let began = |ledger: &Ledger| ledger.note().ok().flatten().map(|note| note.at);
    let Some(last) = all.max_by_key(began) else {
        return Pods::new();
    };
    let read = |one: Component| {
        let text = last.expected(one).ok().flatten()?;
        let pod = serde_saphyr::from_slice(&text).ok()?;
        Some((one, pod))
    };
    Component::ALL.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use upgrade::Version;
    use upgrade::control_plane::raise::{Note, Run, State};

    use super::*;
    use crate::manifests::parse;

    const BY_HAND: &str = "--encryption-provider-config=/etc/secret";

    /// The text of an API server's manifest of this version with these flags.
    fn text(version: &str, flags: &str) -> String {
        format!(
            "metadata: {{}}\nspec: {{containers: [{{name: kube-apiserver, \
             image: 'r.io/kube-apiserver:{version}', command: [kube-apiserver, {flags}]}}]}}\n"
        )
    }

    fn pods(version: &str, flags: &str) -> Pods {
        let pod = serde_saphyr::from_str(&text(version, flags)).unwrap();
        [(Component::ApiServer, pod)].into()
    }

    /// What is found of a live manifest.
    fn found(version: &str, flags: &str, known: &Known) -> Option<Vec<String>> {
        let live = parse(&text(version, flags), Component::ApiServer).unwrap();
        let read = Manifests {
            all: [(Component::ApiServer, live)].into(),
            ..Manifests::default()
        };
        let drift = all(&read, Kind::External, known)?.into_iter();
        Some(drift.map(|one| one.setting.to_string()).collect())
    }

    #[test]
    fn setting_by_hand_is_found_by_a_kubeadm_of_another_version() {
        let mut known = Known {
            running: Some(pods("v1.35.5", "--v=2, --old=1")),
            ..Known::default()
        };
        let flags = format!("--v=2, --old=1, {BY_HAND}");
        assert_eq!(found("v1.35.4", &flags, &known), None, "one is not enough");
        known.image = Some(pods("v1.36.3", "--v=4, --new=1"));
        let all = vec!["--encryption-provider-config".to_owned()];
        assert_eq!(found("v1.35.4", &flags, &known), Some(all));
        let none = Some(Vec::new());
        assert_eq!(found("v1.35.4", "--v=2, --old=1", &known), none);
        // kubeadm-config has it now.
        let image = format!("--v=4, --new=1, {BY_HAND}");
        known.image = Some(pods("v1.36.3", &image));
        assert_eq!(found("v1.35.4", &flags, &known), none);
    }

    #[test]
    fn retry_after_a_fallback_is_compared_with_the_last_raise() {
        let known = Known {
            raised: pods("v1.36.3", "--v=2, --new=1"),
            running: Some(pods("v1.35.4", "--v=2, --old=1")),
            image: Some(pods("v1.37.0", "--v=2, --newer=1")),
        };
        let raised = "--v=2, --new=1";
        assert_eq!(found("v1.36.3", raised, &known), Some(Vec::new()));
        let flags = format!("{raised}, {BY_HAND}");
        let all = vec!["--encryption-provider-config".to_owned()];
        assert_eq!(found("v1.36.3", &flags, &known), Some(all));
        // The raise did not reach this manifest.
        let flags = format!("--v=2, --old=1, {BY_HAND}");
        assert_eq!(
            found("v1.35.4", &flags, &known).map(|all| all.len()),
            Some(1)
        );
    }

    #[test]
    fn manifests_of_the_last_raise_are_read_from_its_ledger() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::running(root.path());
        assert_eq!(raised(&places), Pods::new());
        for (id, at) in [("z", 1), ("a", 2)] {
            let ledger = Ledger::of(&places, &id.parse().unwrap());
            std::fs::create_dir_all(ledger.manifests()).unwrap();
            std::fs::create_dir_all(places.state()).unwrap();
            ledger.begin().unwrap();
            let text = text(&format!("v1.36.{at}"), "--v=2");
            ledger
                .expect(Component::ApiServer, text.as_bytes())
                .unwrap();
            let to: Version = "v1.36.3".parse().unwrap();
            let (run, state) = (Run::Apply, State::Over);
            let note = Note {
                to,
                run,
                etcd: false,
                at,
                state,
            };
            ledger.set(&note).unwrap();
        }
        assert_eq!(raised(&places), pods("v1.36.2", "--v=2"));
    }
}
