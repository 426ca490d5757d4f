//! Content that no signature covers leaves nothing on the disk: neither of a plan nor of an
//! upgrade, however it is packed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use upgrade::Reason;
use upgrade::deploy::Done;

use crate::image::{Image, noise};
use crate::keys::keys;
use crate::run::{Answer, succeed};
use crate::struck::{self, Blow};
use crate::traced::Call;
use crate::world::REMOTE;

use super::layout::{self, Entry, Layout, Packed};
use super::{Shop, shop};

impl Shop {
    /// All that is below the root: objects, refs, what is on the way, notes. But for locks, which
    /// stay where they were made.
    fn all(&self) -> Vec<String> {
        let mut find = Command::new("find");
        find.current_dir(self.world.root());
        find.args([".", "-not", "-type", "d", "-not", "-name", "*lock"]);
        find.args([
            "-not",
            "-path",
            "*/repo/tmp/cache/*",
            "-printf",
            "%P %s %M\n",
        ]);
        let mut lines: Vec<_> = succeed(&mut find).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    /// An image in a folder.
    fn layout(&self, name: &str, image: &Image, key: Option<&str>) -> Layout {
        let commit = self.world.publish(image, key);
        let folder = self.world.path(name);
        // An image that is there already would come first in it.
        let _ = fs::remove_dir_all(&folder);
        self.push(&commit, &format!("oci:{}", folder.display()));
        Layout::of(&folder)
    }

    fn signed_layout(&self) -> Layout {
        self.layout("signed", &files(2), Some(&keys().trusted))
    }

    /// By a plan and by an upgrade, for a reason with one of these codes, and the disk is as it
    /// was. What came meanwhile.
    pub fn refuses(&self, image: &str, codes: &[&str]) -> Reason {
        let before = self.all();
        let planned = self.plan(image).planned().unwrap_err();
        assert_eq!(self.all(), before, "{planned}");
        let answer = self.fetch(image);
        let mut said = answer.progress.iter().map(|one| one.doing.as_str());
        let came = said.any(|doing| doing.starts_with("fetching layer"));
        let reason = answer.reason();
        assert_eq!(self.all(), before, "{reason}");
        assert!(codes.contains(&&*reason.code()), "{reason}");
        assert_eq!(planned.code(), reason.code());
        assert!(!came || codes == AFTER, "a layer came");
        reason
    }
}

/// Known only when all layers are here.
const AFTER: &[&str] = &["NotEncapsulated"];

fn files(version: u32) -> Image {
    let image = Image::new(version).with("usr/share/one", &noise(version + 20, 200_000));
    image.with("usr/share/two", &noise(version + 40, 200_000))
}

/// Packs the first layer so.
fn first(layout: &mut Layout, packed: impl FnOnce(&[u8]) -> Packed) {
    let tar = layout.tar(0);
    layout.replace(0, &tar, &packed(&tar));
}

const PACKINGS: [fn(&[u8]) -> Packed; 4] = [
    layout::gzip,
    layout::zstd,
    layout::zstd_chunked,
    layout::plain,
];

#[test]
fn unsigned_image_is_refused_before_a_layer_whatever_packing() {
    let shop = shop();
    for key in [None, Some(&*keys().stranger)] {
        for packed in PACKINGS {
            let mut layout = shop.layout("unsigned", &files(2), key);
            first(&mut layout, packed);
            let code = if key.is_none() {
                "Unsigned"
            } else {
                "WrongSignature"
            };
            shop.refuses(&layout.write(), &[code]);
        }
    }
}

#[test]
fn signed_image_is_fetched_whatever_its_packing() {
    let shop = shop();
    for packed in PACKINGS {
        let mut layout = shop.signed_layout();
        first(&mut layout, packed);
        shop.fetch(&layout.write()).fetched();
        assert_eq!(shop.world.run(&["undo"]).verdict, Ok(Done::Undone));
    }
}

#[test]
fn unreadable_first_layer_is_refused_before_a_layer() {
    let shop = shop();
    let packings: [fn(&[u8]) -> Packed; 3] =
        [layout::members, layout::cut_off, layout::of_another_kind];
    for packed in packings {
        // A signature does not help: whose it is nobody sees.
        let mut layout = shop.signed_layout();
        first(&mut layout, packed);
        let reason = shop.refuses(&layout.write(), &["NotEncapsulated"]);
        assert!(reason.to_string().contains("layer"), "{reason}");
    }
}

#[test]
fn foreign_layer_is_refused_before_any_layer() {
    let shop = shop();
    let mut layout = shop.signed_layout();
    layout.layers()[1]["urls"] = serde_json::json!(["https://example.org/layer"]);
    shop.refuses(&layout.write(), &["NotEncapsulated"]);
    let mut layout = shop.signed_layout();
    let foreign = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip";
    layout.layers()[1]["mediaType"] = foreign.into();
    shop.refuses(&layout.write(), &["NotEncapsulated"]);
}

/// The file of a layer whose name ends so.
fn position(files: &[Entry], end: &str) -> usize {
    let named = |file: &Entry| file.path.to_string_lossy().ends_with(end);
    files.iter().position(named).unwrap()
}

fn without(files: &mut Vec<Entry>, end: &str) -> Entry {
    files.remove(position(files, end))
}

#[test]
fn misplaced_commit_is_refused_before_a_layer() {
    type Change = fn(&mut Vec<Entry>);
    let changes: [(Change, &str); 4] = [
        (|files| drop(without(files, ".commitmeta")), "Unsigned"),
        (
            |files| {
                let signatures = without(files, ".commitmeta");
                files.push(signatures);
            },
            "Unsigned",
        ),
        (|files| drop(without(files, ".commit")), "NotEncapsulated"),
        (
            |files| {
                let at = position(files, ".commit");
                files[at].content[20] ^= 1;
            },
            "NotEncapsulated",
        ),
    ];
    let shop = shop();
    for (change, code) in changes {
        let mut layout = shop.signed_layout();
        let tar = layout::rewrite(&layout.tar(0), change);
        layout.replace(0, &tar, &layout::zstd(&tar));
        shop.refuses(&layout.write(), &[code]);
    }
}

/// A commit that is signed, and the files of one that is not.
fn with_a_strangers_files(shop: &Shop) -> String {
    let mut layout = shop.signed_layout();
    let strangers = shop.layout("strangers", &files(3), None);
    layout.insert(&strangers.tar(1));
    layout.write()
}

#[test]
fn files_outside_the_signed_commit_are_refused_and_removed() {
    let shop = shop();
    let image = with_a_strangers_files(&shop);
    let reason = shop.refuses(&image, AFTER);
    assert!(reason.to_string().contains("not in commit"), "{reason}");
}

/// The same in the layer that begins with the commit, of which ostree-ext records only the commit.
fn with_a_strangers_files_in_front(shop: &Shop) -> String {
    let mut layout = shop.signed_layout();
    let strangers = shop.layout("strangers", &files(3), None);
    let tar = layout::joined(&layout.tar(0), &strangers.tar(1));
    layout.replace(0, &tar, &layout::gzip(&tar));
    layout.write()
}

#[test]
fn files_beside_the_commit_in_its_layer_are_refused_and_removed() {
    let shop = shop();
    let image = with_a_strangers_files_in_front(&shop);
    let reason = shop.refuses(&image, AFTER);
    assert!(reason.to_string().contains("not in commit"), "{reason}");
}

#[test]
fn files_that_a_killed_run_left_beside_the_commit_are_refused() {
    let shop = shop();
    let image = with_a_strangers_files_in_front(&shop);
    let before = shop.all();
    let run = || shop.of("fetch-image", &image, &["--signed-by", REMOTE]);
    let strike = |blow| struck::run(run(), Call::changes_names, blow);
    let calls = strike(None).calls;
    assert_eq!(shop.all(), before);
    for at in [calls / 3, calls / 2, calls * 2 / 3] {
        strike(Some((at, Blow::Kill)));
        let reason = Answer::of(&run().output().unwrap()).reason();
        assert_eq!(reason.code(), "NotEncapsulated");
        assert_eq!(shop.all(), before, "killed at change {at}");
    }
}

#[test]
fn second_commit_leaves_nothing_after_a_plan_or_an_undo() {
    let shop = shop();
    let mut layout = shop.signed_layout();
    let strangers = shop.layout("strangers", &files(3), None);
    layout.insert(&strangers.tar(0));
    let image = layout.write();
    let before = shop.all();
    shop.plan(&image).planned().unwrap_err();
    assert_eq!(shop.all(), before);
    shop.fetch(&image).reason();
    assert_eq!(shop.world.run(&["undo"]).verdict, Ok(Done::Undone));
    assert_eq!(shop.all(), before);
}

#[test]
fn other_commit_than_asked_for_is_refused_before_a_layer() {
    let shop = shop();
    let image = shop.signed_layout().write();
    let before = shop.all();
    let flags = ["--signed-by", REMOTE, "--commit", &"b".repeat(64)];
    for answer in [
        shop.fetch_with(&image, &flags),
        shop.plan_with(&image, &flags[2..]),
    ] {
        let mut said = answer.progress.iter().map(|one| one.doing.as_str());
        assert!(!said.any(|doing| doing.starts_with("fetching layer")));
        assert_eq!(answer.reason().code(), "NotEncapsulated");
        assert_eq!(shop.all(), before);
    }
}

#[test]
fn killed_refusal_is_cleared_by_the_next_refusal() {
    let shop = shop();
    let image = with_a_strangers_files(&shop);
    let before = shop.all();
    let flags = ["--signed-by", REMOTE];
    let verbs = ["plan-image", "fetch-image"];
    for (verb, next) in verbs
        .into_iter()
        .flat_map(|verb| verbs.map(|next| (verb, next)))
    {
        let strike = |blow| struck::run(shop.of(verb, &image, &flags), Call::changes_names, blow);
        let calls = strike(None).calls;
        assert_eq!(shop.all(), before);
        for at in [calls / 5, calls / 2, calls * 4 / 5] {
            let killed = strike(Some((at, Blow::Kill))).output.status;
            assert_eq!(killed.code(), None, "the test kills it");
            let mut next = shop.of(next, &image, &flags);
            Answer::of(&next.output().unwrap()).reason();
            assert_eq!(shop.all(), before, "{verb} killed at change {at}");
        }
    }
}

#[test]
fn plan_without_room_leaves_nothing() {
    let shop = shop();
    let big = Image::new(2).with("usr/share/big", &vec![7; 32 << 20]);
    let (image, _) = shop.offer_signed(&big);
    let _small = shop.world.small_file_system("", 8 << 20);
    let before = shop.all();
    assert_eq!(shop.plan(&image).planned().unwrap_err().code(), "NoRoom");
    assert_eq!(shop.all(), before);
}

fn rights(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn repository_is_closed_before_anything_is_asked_for() {
    let shop = shop();
    let (image, _) = shop.offer(&Image::new(2), None);
    let repository = shop.world.root().join("ostree/repo");
    let remote = ["--remote", "nowhere", "--ref", "a/b"];
    for verb in ["fetch", "plan", "fetch-image", "plan-image"] {
        fs::set_permissions(&repository, fs::Permissions::from_mode(0o755)).unwrap();
        if verb.ends_with("-image") {
            shop.of(verb, &image, &["--signed-by", "nowhere"])
                .output()
                .unwrap();
        } else {
            shop.world
                .run(&[&[verb], &remote[..]].concat())
                .verdict
                .unwrap_err();
        }
        assert_eq!(rights(&repository), 0o700, "{verb}");
    }
}
