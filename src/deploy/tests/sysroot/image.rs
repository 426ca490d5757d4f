//! Small trees that have what an image must have, or lack one thing of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// An image to be committed. Files that two images share are the same objects.
#[derive(Clone)]
pub struct Image {
    pub version: u32,
    pub kernel: Option<Vec<u8>>,
    pub info: Option<String>,
    /// Further files, by path and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Further links, by path and what they lead to; one takes the place of a file that is there.
    pub links: Vec<(String, String)>,
}

/// Not compressible, so that sizes on the wire mean something; the same for the same seed.
pub fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = u64::from(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

impl Image {
    pub fn new(version: u32) -> Self {
        let info = format!(
            r#"{{"format":1,"kubernetes":"v1.{version}.0","architecture":"x86_64","stage":1}}"#
        );
        Self {
            version,
            kernel: Some(noise(version, 300_000)),
            info: Some(info),
            files: Vec::new(),
            links: Vec::new(),
        }
    }

    pub fn with(mut self, path: &str, content: &[u8]) -> Self {
        self.files.push((path.to_owned(), content.to_owned()));
        self
    }

    pub fn with_link(mut self, path: &str, to: &str) -> Self {
        self.links.push((path.to_owned(), to.to_owned()));
        self
    }

    pub fn write(&self, root: &Path) {
        let put = |path: &str, content: &[u8]| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        for folder in ["sysroot", "boot", "var", "run", "proc", "sys", "dev", "tmp"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let links = [
            ("sysroot/ostree", "ostree"),
            ("usr/bin", "bin"),
            ("usr/lib", "lib"),
            ("usr/lib64", "lib64"),
        ];
        links
            .iter()
            .for_each(|(to, name)| symlink(to, root.join(name)).unwrap());
        let release = format!(
            "ID=test\nVERSION_ID={0}\nPRETTY_NAME=\"Test {0}\"\n",
            self.version
        );
        put("usr/lib/os-release", release.as_bytes());
        put("usr/etc/os-release", release.as_bytes());
        put("usr/etc/hosts", b"127.0.0.1 localhost\n");
        put(
            "usr/bin/kubelet",
            format!("kubelet {}", self.version).as_bytes(),
        );
        put("usr/lib/systemd/systemd", b"systemd");
        if let Some(kernel) = &self.kernel {
            let folder = format!("usr/lib/modules/6.{}.0", self.version);
            put(&format!("{folder}/vmlinuz"), kernel);
            put(
                &format!("{folder}/initramfs.img"),
                &noise(self.version + 1000, 200_000),
            );
        }
        if let Some(info) = &self.info {
            put("usr/lib/careen/image.json", info.as_bytes());
        }
        for (path, content) in &self.files {
            put(path, content);
        }
        for (path, to) in &self.links {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // Absent where the link is a name of its own.
            let _ = fs::remove_file(&path);
            symlink(to, path).unwrap();
        }
    }
}
