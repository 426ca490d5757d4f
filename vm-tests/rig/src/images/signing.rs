//! Keys that sign images, made once. They protect nothing: the tests only need a right one and a
//! wrong one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testkit::cache::{Key, built};
use testkit::script::{read, run};

/// The signer of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signer {
    /// The key that the image's remote trusts.
    Rig,
    /// A key that nobody trusts.
    Stranger,
    /// Nobody.
    Nobody,
}

impl Signer {
    /// The public key, as the image's remote wants it.
    ///
    /// # Errors
    ///
    /// Fails when the key cannot be made.
    pub fn public(self) -> Result<PathBuf> {
        Ok(self.home()?.join("public.gpg"))
    }

    /// The arguments that make `ostree commit` sign.
    ///
    /// # Errors
    ///
    /// Fails when the key cannot be made.
    pub fn arguments(self) -> Result<Vec<String>> {
        if self == Self::Nobody {
            return Ok(Vec::new());
        }
        let home = self.home()?;
        let listed = read(
            "gpg",
            [&home_argument(&home), "--with-colons", "--list-keys"],
        )?;
        let fingerprint = listed
            .lines()
            .find(|line| line.starts_with("fpr:"))
            .and_then(|line| line.split(':').nth(9));
        let fingerprint = fingerprint.with_context(|| format!("no key in {}", home.display()))?;
        Ok(vec![
            format!("--gpg-homedir={}", home.display()),
            format!("--gpg-sign={fingerprint}"),
        ])
    }

    fn home(self) -> Result<PathBuf> {
        let name = match self {
            Self::Rig => "key-rig",
            Self::Stranger | Self::Nobody => "key-stranger",
        };
        built(name, &Key::default().text("ed25519"), |home| {
            run("mkdir", ["-m", "700", &home.to_string_lossy()])?;
            let at = home_argument(home);
            run(
                "gpg",
                [
                    &at,
                    "--batch",
                    "--quiet",
                    "--passphrase",
                    "",
                    "--quick-generate-key",
                    name,
                    "ed25519",
                    "sign",
                    "never",
                ],
            )?;
            run(
                "gpg",
                [
                    &at,
                    "--batch",
                    "--output",
                    &home.join("public.gpg").to_string_lossy(),
                    "--export",
                ],
            )?;
            // The folder is about to be renamed. gpg starts another agent when it needs one.
            run("gpgconf", [&at, "--kill", "all"])
        })
    }
}

fn home_argument(home: &Path) -> String {
    format!("--homedir={}", home.display())
}
