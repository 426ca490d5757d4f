//! admin.conf with the address of the own API server, for kubeadm, where the address in it does not
//! answer.

use std::path::{Path, PathBuf};

use host::durable;
use hyper::Uri;
use serde_json::Value;
use upgrade::names;

use crate::connect::ADMIN;
use crate::folder::Folder;

/// Where the copy is.
const COPY: &str = "control-admin.conf";

/// The copy. It is in memory alone, readable for root alone, and gone after kubeadm.
#[derive(Debug)]
pub(super) struct Elsewhere(PathBuf);

impl Elsewhere {
    /// Writes it into the folder of this run. The error says nothing of its content.
    pub fn write(folder: &Folder, server: &Uri) -> Result<Self, String> {
        let text = folder.read(ADMIN);
        let text = text.map_err(|error| Folder::why(ADMIN, &error))?;
        let text = with_server(&text, server).ok_or_else(|| format!("{ADMIN} is no kubeconfig"))?;
        let run = folder.path(names::RUN_DIR);
        durable::make_private_folder(&run).map_err(|error| error.to_string())?;
        let path = run.join(COPY);
        let written = durable::write(&path, text.as_bytes(), 0o600);
        written.map_err(|error| error.to_string())?;
        Ok(Self(path))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// Removes the copy that a killed program has left. Call it while no kubeadm runs: it would still
/// read the copy.
pub(super) fn forget(root: &Path) -> Result<(), String> {
    let run = root.join(names::RUN_DIR.trim_start_matches('/'));
    durable::remove(&run.join(COPY)).map_err(|error| error.to_string())
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // The next raise, its end and a reboot take it away.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The same kubeconfig for another server. JSON is YAML.
fn with_server(text: &str, server: &Uri) -> Option<String> {
    let mut content: Value = serde_saphyr::from_str(text).ok()?;
    for one in content.get_mut("clusters")?.as_array_mut()? {
        let cluster = one.get_mut("cluster")?.as_object_mut()?;
        cluster.insert("server".to_owned(), server.to_string().into());
    }
    Some(content.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const TEXT: &str = "
kind: Config
clusters: [{name: a, cluster: {server: 'https://vip:6443', certificate-authority-data: YQ==}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
users: [{name: a, user: {client-key-data: c2VjcmV0}}]
";

    #[test]
    fn admin_conf_is_copied_privately_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        let server = "https://10.0.0.1:6443".parse().unwrap();
        let why = Elsewhere::write(&folder, &server).unwrap_err();
        assert!(why.contains("does not exist"), "{why}");
        fs::create_dir_all(folder.path("/etc/kubernetes")).unwrap();
        fs::write(folder.path(ADMIN), TEXT).unwrap();
        let copy = Elsewhere::write(&folder, &server).unwrap();
        let path = copy.path().to_owned();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let read: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let cluster = &read["clusters"][0]["cluster"];
        assert_eq!(cluster["server"], "https://10.0.0.1:6443/");
        assert_eq!(cluster["certificate-authority-data"], "YQ==");
        assert_eq!(read["users"][0]["user"]["client-key-data"], "c2VjcmV0");
        drop(copy);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_kubeconfig_is_not_repeated() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        fs::create_dir_all(folder.path("/etc/kubernetes")).unwrap();
        for text in ["", "secret", "clusters: secret", "clusters: [secret]"] {
            fs::write(folder.path(ADMIN), text).unwrap();
            let server = "https://10.0.0.1:6443".parse().unwrap();
            let why = Elsewhere::write(&folder, &server).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
