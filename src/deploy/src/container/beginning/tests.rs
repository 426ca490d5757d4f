use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::*;

/// A layer with these files, by path and content. The builder would refuse some of the names, and a
/// header has no room for others.
fn layer(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut name = tar::Header::new_gnu();
        name.set_entry_type(tar::EntryType::GNULongName);
        append(&mut tar, name, &[path.as_bytes(), &[0]].concat());
        append(&mut tar, tar::Header::new_gnu(), content);
    }
    tar.into_inner().unwrap()
}

fn append(tar: &mut tar::Builder<Vec<u8>>, mut header: tar::Header, content: &[u8]) {
    header.set_size(content.len() as u64);
    header.set_cksum();
    tar.append(&header, content).unwrap();
}

fn checksum(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn path(checksum: &str, kind: &str) -> String {
    let (first, rest) = checksum.split_at(2);
    format!("{REPO}objects/{first}/{rest}.{kind}")
}

const COMMIT: &[u8] = b"a commit";
const SIGNATURES: &[u8] = b"its signatures";

/// A layer as careen-image makes it, with this before it.
fn after(files: &[(&str, &[u8])]) -> Vec<u8> {
    let commit = checksum(COMMIT);
    let [own, beside] = ["commit", "commitmeta"].map(|kind| path(&commit, kind));
    let rest: [(&str, &[u8]); 2] = [(&own, COMMIT), (&beside, SIGNATURES)];
    layer(&[files, &rest].concat())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn found(packing: Packing, layer: &[u8]) {
    let commit = commit_in(packing, layer).unwrap();
    assert_eq!(commit.checksum.as_str(), checksum(COMMIT));
    assert_eq!(
        (&*commit.bytes, commit.beside.as_deref()),
        (COMMIT, Some(SIGNATURES))
    );
}

fn refused(layer: &[u8]) {
    let found = commit_in(Packing::Plain, layer);
    assert!(found.is_err(), "{found:?}");
}

#[test]
fn a_commit_is_found_however_the_layer_is_packed() {
    let layer = after(&[]);
    found(Packing::Plain, &layer);
    found(Packing::Gzip, &gzip(&layer));
    let zstd = zstd::encode_all(&*layer, 1).unwrap();
    found(Packing::Zstd, &zstd);
    // zstd:chunked, and layers of several frames.
    let frame = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"any"].concat();
    found(Packing::Zstd, &[&frame[..], &zstd].concat());
    let (one, other) = layer.split_at(1700);
    let frames = [one, other].map(|part| zstd::encode_all(part, 1).unwrap());
    found(Packing::Zstd, &frames.concat());
}

#[test]
fn a_layer_that_is_packed_otherwise_than_it_says_is_refused() {
    let layer = after(&[]);
    for (packing, layer) in [
        (Packing::Gzip, zstd::encode_all(&*layer, 1).unwrap()),
        (Packing::Zstd, gzip(&layer)),
        (Packing::Plain, gzip(&layer)),
        (Packing::Gzip, layer.clone()),
    ] {
        assert!(commit_in(packing, &layer).is_err(), "{packing:?}");
    }
}

/// As eStargz has each file in a member of its own: ostree-ext reads the first member alone.
#[test]
fn of_gzip_members_only_the_first_one_counts() {
    let (one, other) = (gzip(&after(&[])[..512]), gzip(&after(&[])[512..]));
    assert!(commit_in(Packing::Gzip, &[one, other].concat()).is_err());
}

#[test]
fn what_ostree_ext_would_take_for_the_commit_is_not_passed_over() {
    let evil = checksum(b"evil");
    let (first, rest) = evil.split_at(2);
    for before in [
        format!("{REPO}other/{first}/{rest}.commit"),
        format!("{REPO}objects/more/{first}/{rest}.commit"),
        format!("{REPO}objects/../objects/{first}/{rest}.commit"),
        format!("sysroot//ostree/./repo/objects/{first}/{rest}.commit"),
        format!("{REPO}xattrs/{evil}"),
        path(&evil, "dirtree"),
        path(&evil, "file"),
    ] {
        let found = commit_in(Packing::Plain, &after(&[(&before, b"evil")]));
        let passed_over = found.is_ok_and(|found| found.checksum.as_str() != evil);
        assert!(!passed_over, "{before}");
    }
    found(Packing::Plain, &after(&[("usr/bin/sh", b"none of it")]));
    let config = format!("{REPO}config");
    found(Packing::Plain, &after(&[(&config, b"[core]")]));
}

#[test]
fn a_commit_under_another_name_is_refused() {
    let other = path(&checksum(b"other"), "commit");
    refused(&layer(&[(&other, COMMIT), (&other, COMMIT)]));
}

#[test]
fn signatures_count_only_right_after_their_commit() {
    let commit = checksum(COMMIT);
    let [own, tree] = ["commit", "dirtree"].map(|kind| path(&commit, kind));
    let others = path(&checksum(b"other"), "commitmeta");
    let beside = path(&commit, "commitmeta");
    for files in [
        [(&*own, COMMIT), (&*tree, b"tree"), (&*beside, SIGNATURES)],
        [
            (&*own, COMMIT),
            (&*others, SIGNATURES),
            (&*beside, SIGNATURES),
        ],
    ] {
        let commit = commit_in(Packing::Plain, &layer(&files)).unwrap();
        assert_eq!(commit.beside, None);
    }
    refused(&layer(&[(&own, COMMIT)]));
}

#[test]
fn a_commit_that_is_too_long_or_cut_off_is_refused() {
    let long = vec![7; LONGEST as usize + 1];
    let name = path(&checksum(&long), "commit");
    refused(&layer(&[(&name, &long), (&name, &long)]));
    let whole = after(&[]);
    for end in [0, 100, 512, 1024, 1536, 1540, 2048, 3000] {
        refused(&whole[..end]);
    }
    // Much that comes first, packed to little.
    let zeroes = vec![0; UNPACKED as usize];
    let bomb = zstd::encode_all(&*after(&[("zeroes", &zeroes)]), 1).unwrap();
    assert!(bomb.len() < 1 << 20);
    assert!(commit_in(Packing::Zstd, &bomb).is_err());
}

#[test]
fn layers_of_other_kinds_or_from_elsewhere_are_refused() {
    let of = |kind: &str, urls: &[&str]| {
        let layer = json!({ "mediaType": kind, "size": 1, "urls": urls,
            "digest": format!("sha256:{}", "a".repeat(64)) });
        Packing::of(&serde_json::from_value(layer).unwrap())
    };
    let tar = "application/vnd.oci.image.layer.v1.tar";
    assert_eq!(of(tar, &[]), Ok(Packing::Plain));
    assert_eq!(of(&format!("{tar}+gzip"), &[]), Ok(Packing::Gzip));
    assert_eq!(of(&format!("{tar}+zstd"), &[]), Ok(Packing::Zstd));
    assert_eq!(of(DOCKER_TAR, &[]), Ok(Packing::Plain));
    assert!(of(tar, &["https://example.org/layer"]).is_err());
    for kind in ["tar+xz", "tar+gzip+encrypted"] {
        assert!(of(&format!("application/vnd.oci.image.layer.v1.{kind}"), &[]).is_err());
    }
    let foreign = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip";
    assert!(of(foreign, &[]).is_err());
}
