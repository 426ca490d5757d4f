//! Images from a real registry: Debian's docker-registry on loopback, pushed to by careen-image,
//! asked by skopeo.

mod apart;
mod archive;
mod attack;
mod broken;
mod elsewhere;
mod lacking;
mod layers;
mod layout;
mod path;
mod planned;
mod redirected;
mod room;
mod server;
mod signed;
mod undone;
mod unpacked;
mod unsigned;
mod vouched;
mod wire;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use careen_image::{Order, push};
use upgrade::Reason;
use upgrade::id::Digest;
use upgrade::plan::Found;

use crate::image::Image;
use crate::keys::keys;
use crate::run::{Answer, succeed};
use crate::world::{REMOTE, World, world};
use server::Server;

/// The folder of skopeo and docker-registry.
fn tools() -> &'static Path {
    static TOOLS: OnceLock<PathBuf> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vm-tests/registry/tools.sh");
        PathBuf::from(succeed(&mut Command::new(script)).trim())
    })
}

fn path_with(folder: &Path) -> String {
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", folder.display())
}

/// A node, a registry, and what the node knows of it.
pub struct Shop {
    pub world: World,
    pub server: Server,
}

/// A node with an empty registry beside it. Nothing demands a signature of containers, as
/// distributions ship it.
pub fn shop() -> Shop {
    with(Server::start(None))
}

fn with(server: Server) -> Shop {
    let shop = Shop {
        world: world(),
        server,
    };
    shop.runs(&format!("exec {} \"$@\"", tools().join("skopeo").display()));
    shop.policy(r#"{ "default": [{ "type": "insecureAcceptAnything" }] }"#);
    shop.knows(&[shop.server.port]);
    shop
}

impl Shop {
    fn settings(&self, path: &str) -> PathBuf {
        let path = self.world.path("settings").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// The node's skopeo is this script of a shell.
    pub fn runs(&self, script: &str) {
        let path = self.settings("usr/bin/skopeo");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn policy(&self, text: &str) {
        fs::write(self.settings("etc/containers/policy.json"), text).unwrap();
    }

    /// Registries on loopback that speak no TLS.
    pub fn knows(&self, ports: &[u16]) {
        let entries = ports.iter().map(|port| {
            format!("[[registry]]\nlocation = \"127.0.0.1:{port}\"\ninsecure = true\n")
        });
        self.registries(&entries.collect::<String>());
    }

    pub fn registries(&self, text: &str) {
        fs::write(self.settings("etc/containers/registries.conf"), text).unwrap();
        fs::create_dir_all(
            self.settings("etc/containers/registries.d/none")
                .parent()
                .unwrap(),
        )
        .unwrap();
    }

    /// Credentials where bootc looks for them.
    pub fn credentials(&self, port: u16) {
        self.credentials_in("etc/ostree/auth.json", port, "dXNlcjpzZWNyZXQ=");
    }

    /// Credentials in this file, for a user and password in Base64.
    pub fn credentials_in(&self, file: &str, port: u16, user: &str) {
        let text = format!(r#"{{ "auths": {{ "127.0.0.1:{port}": {{ "auth": "{user}" }} }} }}"#);
        fs::write(self.settings(file), text).unwrap();
    }

    /// Commits, wraps and pushes: the image as the annotation takes it, and the commit.
    pub fn offer(&self, image: &Image, key: Option<&str>) -> (String, Digest) {
        let commit = self.world.publish(image, key);
        let destination = format!("docker://127.0.0.1:{}/team/os:latest", self.server.port);
        (self.push(&commit, &destination), commit)
    }

    /// The same with the key that the node trusts.
    pub fn offer_signed(&self, image: &Image) -> (String, Digest) {
        self.offer(image, Some(&keys().trusted))
    }

    /// careen-image finds skopeo in the path, so it runs in a process of its own.
    pub fn push(&self, commit: &Digest, destination: &str) -> String {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "registry::push_as_the_environment_says",
            "--exact",
            "--ignored",
            "--nocapture",
        ]);
        command.env("PATH", path_with(&self.skopeo_that_pushes()));
        command.env(
            "PUSH",
            format!(
                "{}\n{commit}\n{destination}",
                self.world.path("repo").display()
            ),
        );
        let said = succeed(&mut command);
        let image = said.lines().find_map(|line| line.strip_prefix("PUSHED "));
        image.unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    /// A machine that builds images has settings of the same kind, in places of its own.
    fn skopeo_that_pushes(&self) -> PathBuf {
        let folder = self.world.path("build");
        fs::create_dir_all(&folder).unwrap();
        let conf = self.settings("etc/containers/registries.conf");
        let auth = self.settings("etc/ostree/auth.json");
        let script = format!(
            "#!/bin/sh\n[ ! -e {1} ] || export REGISTRY_AUTH_FILE={1}\nexec {0} --insecure-policy --registries-conf {2} \"$@\"\n",
            tools().join("skopeo").display(),
            auth.display(),
            conf.display()
        );
        let path = folder.join("skopeo");
        if !path.exists() {
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    pub fn command(&self, image: &str, flags: &[&str]) -> Command {
        self.of("fetch-image", image, flags)
    }

    fn of(&self, verb: &str, image: &str, flags: &[&str]) -> Command {
        let settings = self.world.path("settings");
        let mut arguments = vec![verb, "--image", image, "--settings"];
        arguments.push(settings.to_str().unwrap());
        arguments.extend(flags);
        let mut command = self.world.command(&arguments);
        // A unit of systemd may run the tests. Then skopeo would drop its rights, and could not
        // read the files of this test.
        command.env_remove("INVOCATION_ID");
        command
    }

    pub fn fetch_with(&self, image: &str, flags: &[&str]) -> Answer {
        Answer::of(&self.command(image, flags).output().unwrap())
    }

    /// Deploys what came in an image.
    pub fn deploy(&self, image: &str, flags: &[&str]) -> Answer {
        Answer::of(&self.of("deploy", image, flags).output().unwrap())
    }

    pub fn plan_by_the_container_policy(&self, image: &str) -> Result<Found, Reason> {
        let mut command = self.of("plan-image", image, &[]);
        Answer::of(&command.output().unwrap()).planned()
    }

    /// With the keyring of the node's OSTree remote.
    pub fn plan(&self, image: &str) -> Answer {
        self.plan_with(image, &[])
    }

    pub fn plan_with(&self, image: &str, flags: &[&str]) -> Answer {
        let flags = [&["--signed-by", REMOTE], flags].concat();
        let mut command = self.of("plan-image", image, &flags);
        Answer::of(&command.output().unwrap())
    }

    /// Fetches this image, signed by the remote of the tests.
    pub fn fetch(&self, image: &str) -> Answer {
        self.fetch_with(image, &["--signed-by", REMOTE])
    }

    /// As a run leaves it that is killed after its last layer: the layers are held, and nothing
    /// says of what.
    pub fn forget_what_was_wanted(&self) {
        let ours = |name: &String| {
            name.starts_with("careen/") || name.starts_with("ostree/container/baseimage/")
        };
        for name in self.refs().into_iter().filter(ours) {
            self.world
                .ostree(&[&self.world.local(), "refs", "--delete", &name]);
        }
    }

    pub fn refs(&self) -> Vec<String> {
        let listed = self.world.ostree(&[&self.world.local(), "refs"]);
        listed.lines().map(str::to_owned).collect()
    }
}

#[test]
#[ignore = "the other tests run it, each with an environment of its own"]
fn push_as_the_environment_says() {
    let told = std::env::var("PUSH").unwrap();
    let mut told = told.lines().map(str::to_owned);
    let mut next = || told.next().unwrap();
    let order = Order {
        repo: next().into(),
        revision: next(),
        destination: next().parse().unwrap(),
        authfile: None,
    };
    println!("\nPUSHED {}", push(&order).unwrap());
}
