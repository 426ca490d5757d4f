//! Whether the new system, with the node's /etc, will judge its trial and end it, is told before
//! anything is deployed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use upgrade::id::Digest;
use upgrade::names;

use crate::image::Image;
use crate::plan::{LIST, list, plan, with_lists};
use crate::world::{World, world};

const UNITS: &str = "usr/lib/systemd/system";
const ETC: &str = "usr/etc/systemd/system";

/// The units that ship, by name and text.
fn shipped() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systemd/system");
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let unit = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    paths.filter(|path| path.is_file()).map(unit).collect()
}

/// The links that enable them, by path below a folder of units, and what each is a link to.
fn links() -> Vec<(String, String)> {
    let mut links = Vec::new();
    for (name, text) in shipped() {
        for (setting, kind) in [("WantedBy=", "wants"), ("RequiredBy=", "requires")] {
            let targets = text.lines().filter_map(|line| line.strip_prefix(setting));
            for target in targets.flat_map(str::split_whitespace) {
                links.push((format!("{target}.{kind}/{name}"), name.clone()));
            }
        }
    }
    links
}

fn with_programs(image: Image) -> Image {
    let names = [
        "careen-agent",
        "careen-deploy",
        "careen-grub",
        "careen-stage",
    ];
    names.into_iter().fold(image, |image, name| {
        image.with(&format!("usr/libexec/careen/{name}"), name.as_bytes())
    })
}

fn with_units(image: Image) -> Image {
    shipped().into_iter().fold(image, |image, (name, text)| {
        image.with(&format!("{UNITS}/{name}"), text.as_bytes())
    })
}

/// Enables them by links in this folder of the image.
fn enabled(image: Image, at: &str) -> Image {
    links().into_iter().fold(image, |image, (path, unit)| {
        image.with_link(&format!("{at}/{path}"), &format!("/{UNITS}/{unit}"))
    })
}

/// An image with all of Careen, where nothing is enabled.
fn idle(version: u32) -> Image {
    with_units(with_programs(Image::new(version)))
}

/// As the packages and `systemctl preset-all` make it.
fn whole(version: u32) -> Image {
    enabled(idle(version), ETC)
}

fn lacks(world: &World, image: &Image) -> Vec<String> {
    let commit = world.fetched(image);
    world.verb("verify", &commit).verified().lacks.into_vec()
}

/// A node that runs this image.
fn running(image: &Image) -> (World, Digest) {
    let world = world();
    let commit = world.fetched(image);
    world.verb("deploy", &commit).deployed();
    world.verb("bless", &commit).verdict.unwrap();
    (world, commit)
}

/// What each needed unit is called that is there and that nothing starts.
const NOT_ENABLED: [&str; 4] = [
    "careen-agent.service (not enabled)",
    "careen-deadman.timer (not enabled)",
    "careen-check.service (not enabled)",
    "careen-gate.service (not enabled)",
];

#[test]
fn image_lacks_nothing_with_units_enabled_in_etc_or_in_usr() {
    let world = world();
    assert!(lacks(&world, &whole(2)).is_empty());
    assert!(lacks(&world, &enabled(idle(3), UNITS)).is_empty());
}

#[test]
fn verify_lists_the_units_or_programs_an_image_lacks() {
    let world = world();
    let all = [
        names::AGENT_UNIT,
        names::DEADMAN_TIMER,
        names::CHECK_UNIT,
        names::GATE_UNIT,
        names::DEADMAN_UNIT,
    ];
    assert_eq!(lacks(&world, &Image::new(2)), all);
    let programs = [
        "/usr/libexec/careen/careen-agent",
        "/usr/libexec/careen/careen-stage",
    ];
    let image = enabled(with_units(Image::new(3)), ETC);
    assert_eq!(lacks(&world, &image), programs);
}

#[test]
fn verify_lists_units_that_no_preset_enabled() {
    let world = world();
    assert_eq!(lacks(&world, &idle(2)), NOT_ENABLED);
    // What emergency.target alone pulls in does not run in a trial that comes up.
    let link = format!("{ETC}/emergency.target.wants/{}", names::DEADMAN_TIMER);
    let image = idle(3).with_link(&link, "/nowhere");
    assert_eq!(lacks(&world, &image), NOT_ENABLED);
}

#[test]
fn verify_lists_units_masked_by_the_image_or_the_node() {
    let masked = ["careen-agent.service (masked)"];
    let world = world();
    let mask = format!("{ETC}/{}", names::AGENT_UNIT);
    assert_eq!(
        lacks(&world, &whole(2).with_link(&mask, "/dev/null")),
        masked
    );
    let folder = world.etc("systemd/system");
    fs::create_dir_all(&folder).unwrap();
    symlink("/dev/null", folder.join(names::AGENT_UNIT)).unwrap();
    assert_eq!(lacks(&world, &whole(3)), masked);
    // An empty file masks as well.
    fs::remove_file(folder.join(names::AGENT_UNIT)).unwrap();
    fs::write(folder.join(names::AGENT_UNIT), "").unwrap();
    assert_eq!(lacks(&world, &whole(4)), masked);
}

#[test]
fn unit_disabled_on_the_node_stays_disabled_in_the_new_system() {
    let (world, second) = running(&whole(2));
    assert!(lacks(&world, &whole(3)).is_empty());
    let etc = world.deployment(&second, 0).join("etc/systemd/system");
    let wants = etc.join("multi-user.target.wants");
    fs::remove_file(wants.join(names::AGENT_UNIT)).unwrap();
    assert_eq!(lacks(&world, &whole(4)), [NOT_ENABLED[0]]);
}

#[test]
fn unit_enabled_on_the_node_stays_enabled_in_the_new_system() {
    let world = world();
    let folder = world.etc("systemd/system");
    for (path, unit) in links() {
        let link = folder.join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(format!("/{UNITS}/{unit}"), link).unwrap();
    }
    assert!(lacks(&world, &idle(2)).is_empty());
    // What came with the old image's defaults goes with them.
    let (world, _) = running(&whole(2));
    assert_eq!(lacks(&world, &idle(3)), NOT_ENABLED);
}

/// What a DaemonSet's pod has put on the node: units for programs below /var, and the generator
/// that gives them to systemd.
fn bring(world: &World) -> PathBuf {
    let units = world.etc(names::POD_UNITS.strip_prefix("/etc/").unwrap());
    let proven = format!("{}/proven", names::AGENTS_DIR);
    fs::create_dir_all(&units).unwrap();
    for (name, text) in shipped() {
        let text = text.replace("/usr/libexec/careen", &proven);
        fs::write(units.join(name), text).unwrap();
    }
    for (path, unit) in links() {
        let link = units.join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(format!("../{unit}"), link).unwrap();
    }
    let generator = world.etc(names::POD_GENERATOR.strip_prefix("/etc/").unwrap());
    fs::create_dir_all(generator.parent().unwrap()).unwrap();
    fs::write(generator, "#!/bin/sh\n").unwrap();
    let agents = world
        .root()
        .join("ostree/deploy/node")
        .join(&names::AGENTS_DIR[1..]);
    fs::create_dir_all(agents.join("one")).unwrap();
    for name in ["careen-agent", "careen-stage"] {
        fs::write(agents.join("one").join(name), name).unwrap();
    }
    symlink("one", agents.join("proven")).unwrap();
    agents
}

#[test]
fn daemonset_agent_replaces_the_images_while_its_programs_exist() {
    let world = world();
    let agents = bring(&world);
    assert!(lacks(&world, &Image::new(2)).is_empty());
    fs::remove_file(agents.join("proven")).unwrap();
    let found = lacks(&world, &Image::new(3));
    let program = |name: &str| format!("{}/proven/{name}", names::AGENTS_DIR);
    assert_eq!(found, [program("careen-agent"), program("careen-stage")]);
}

/// Its generator leaves such an image alone.
#[test]
fn daemonset_does_not_replace_an_agent_the_image_left_disabled() {
    let world = world();
    bring(&world);
    assert_eq!(lacks(&world, &idle(2)), NOT_ENABLED);
}

#[test]
fn a_plan_finds_the_same_in_a_small_part_of_the_image() {
    let packages = list(&[("bash", "5.2", 7)]);
    for (at, expected) in [
        (Some(ETC), &[][..]),
        (Some(UNITS), &[]),
        (None, &NOT_ENABLED),
    ] {
        let image = idle(3).with(LIST, &packages);
        let image = match at {
            Some(at) => enabled(image, at),
            None => image,
        };
        let (world, third) = with_lists(&packages, &image);
        let found = plan(&world, &["--commit", third.as_str()]).unwrap();
        assert_eq!(found.facts.lacks.into_vec(), expected, "{at:?}");
    }
    let bare = enabled(with_units(Image::new(3)), ETC).with(LIST, &packages);
    let (world, third) = with_lists(&packages, &bare);
    let found = plan(&world, &["--commit", third.as_str()]).unwrap();
    assert_eq!(found.facts.lacks.len(), 2, "{:?}", found.facts.lacks);
}
