//! The names of the images in an archive, as containerd gives them.
//!
//! containerd (core/images/archive, `ImportIndex`) takes index.json where the archive has
//! oci-layout, else manifest.json of docker.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The files that are read have some hundred bytes for each image.
const LONGEST: u64 = 1 << 20;

/// The most images of one archive.
const MOST: usize = 64;

/// The only annotation that containerd takes as it is. It puts a prefix before any other name.
const NAME: &str = "io.containerd.image.name";

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Manifest>,
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Docker {
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
}

/// The length of an archive and the names of its images.
pub(super) fn read(path: &Path) -> Result<(u64, Vec<String>), String> {
    let said = |error: std::io::Error| error.to_string();
    let file = File::open(path).map_err(said)?;
    let facts = file.metadata().map_err(said)?;
    if !facts.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut found = Found::default();
    let mut archive = tar::Archive::new(file);
    for entry in archive.entries_with_seek().map_err(said)? {
        found.take(entry.map_err(said)?)?;
    }
    Ok((facts.len(), found.names()?))
}

#[derive(Default)]
struct Found {
    is_oci: bool,
    index: Option<Index>,
    docker: Option<Vec<Docker>>,
}

impl Found {
    fn take(&mut self, entry: tar::Entry<'_, File>) -> Result<(), String> {
        let path = entry.path().map_err(|error| error.to_string())?;
        match path.strip_prefix(".").unwrap_or(&path).to_str() {
            Some("oci-layout") => self.is_oci = true,
            Some("index.json") => self.index = Some(json(entry, "index.json")?),
            Some("manifest.json") => self.docker = Some(json(entry, "manifest.json")?),
            Some(_) | None => {}
        }
        Ok(())
    }

    fn names(self) -> Result<Vec<String>, String> {
        let names: Vec<_> = match (self.is_oci, self.index, self.docker) {
            (true, Some(index), _) => index.manifests.into_iter().filter_map(named).collect(),
            (_, _, Some(images)) => {
                let tags = images.into_iter().filter_map(|image| image.repo_tags);
                tags.flatten().collect()
            }
            (_, _, None) => return Err("it is not an archive of container images".to_owned()),
        };
        if let Some(name) = names.iter().find(|name| !is_whole(name)) {
            let name = upgrade::sanitize::cut(name, 80);
            return Err(format!("the name {name:?} has no registry or no tag"));
        }
        match names.len() {
            0 => Err(format!(
                "no image in it has a name; expected the annotation {NAME}"
            )),
            1..=MOST => Ok(names),
            found => Err(format!("it has {found} images; at most {MOST} are read")),
        }
    }
}

fn named(mut manifest: Manifest) -> Option<String> {
    manifest.annotations.remove(NAME)
}

/// Whether a name is as a manifest of kubeadm's has it. It becomes an argument of a program.
fn is_whole(name: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let parts = name.split_once('/');
    let registry = parts.is_some_and(|(registry, path)| {
        let is_host = registry.contains(['.', ':']) || registry == "localhost";
        is_host && path.contains(':')
    });
    registry && name.len() <= 255 && name.chars().all(is_fine) && !name.starts_with('-')
}

fn json<T: DeserializeOwned>(entry: tar::Entry<'_, File>, name: &str) -> Result<T, String> {
    let mut text = Vec::new();
    let read = entry.take(LONGEST).read_to_end(&mut text);
    read.map_err(|error| format!("{name}: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("{name} cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive of these files.
    fn of(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.tar");
        let mut archive = tar::Builder::new(File::create(&path).unwrap());
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            archive
                .append_data(&mut header, name, text.as_bytes())
                .unwrap();
        }
        archive.finish().unwrap();
        read(&path).map(|(_, names)| names)
    }

    const LAYOUT: (&str, &str) = ("./oci-layout", "{}");

    fn index(name: &str) -> String {
        format!(r#"{{"manifests":[{{"annotations":{{"{NAME}":"{name}"}}}},{{"digest":"x"}}]}}"#)
    }

    #[test]
    fn both_kinds_of_archives_name_their_images() {
        let etcd = "registry.k8s.io/etcd:3.6.8-0";
        let docker = format!(r#"[{{"RepoTags":["{etcd}"],"Layers":[]}},{{"RepoTags":null}}]"#);
        let docker = ("manifest.json", docker.as_str());
        let blob = ("blobs/sha256/ab", "index.json");
        assert_eq!(of(&[blob, docker]).unwrap(), [etcd]);
        let other = "localhost/pause:rig";
        let text = index(other);
        assert_eq!(
            of(&[LAYOUT, docker, ("./index.json", &text)]).unwrap(),
            [other]
        );
        assert_eq!(of(&[docker, ("index.json", &text)]).unwrap(), [etcd]);
    }

    #[test]
    fn what_is_no_archive_of_images_says_why() {
        for (files, said) in [
            (vec![], "not an archive"),
            (vec![LAYOUT, ("index.json", r#"{"manifests":[{}]}"#)], NAME),
            (
                vec![LAYOUT, ("index.json", "[")],
                "index.json cannot be read",
            ),
            (
                vec![("manifest.json", r#"[{"RepoTags":["etcd:3.6"]}]"#)],
                "etcd:3.6",
            ),
        ] {
            let why = of(&files).unwrap_err();
            assert!(why.contains(said), "{said}: {why}");
        }
    }

    #[test]
    fn name_that_is_no_name_of_an_image_is_refused() {
        for name in ["--help.x/y:z", "a.b/c", "a.b/c:d e", "a/b:c", "a.b/$(x):y"] {
            assert!(!is_whole(name), "{name}");
        }
        for name in ["registry.k8s.io/etcd:3.6.8-0", "host:5000/kube/etcd:v1"] {
            assert!(is_whole(name), "{name}");
        }
    }
}
