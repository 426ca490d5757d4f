//! A registry, or a proxy before it, that redirects its clients.

use upgrade::Reason;

use crate::image::Image;
use crate::remote::Server;
use crate::trick::Trick;

use super::{Shop, shop};

/// More than any client should let itself be sent on for one image.
const PATIENCE: u64 = 300;

/// What sits before the registry and sends everybody there, but for paths that end so.
pub fn before(shop: &Shop, end: &str, trick: impl Fn(&Server) -> Trick) -> Server {
    let server = Server::start(&shop.world.path("nothing"));
    server.plays(trick(&server), end);
    let registry = format!("http://127.0.0.1:{}", shop.server.port);
    server.plays(Trick::Redirect(registry), "");
    shop.knows(&[shop.server.port, server.port]);
    server
}

/// What is asked for to get an image, in this order: its manifest, a layer of files, and the
/// commit's own.
fn asked_for(shop: &Shop, image: &str) -> Vec<String> {
    let (_, digest) = image.split_once('@').unwrap();
    let layers = shop.server.layers(image);
    let ends = [digest, layers.last().unwrap(), &layers[0]];
    ends.map(str::to_owned).into()
}

fn is_away(shop: &Shop, server: &Server, image: &str) {
    let before = (shop.world.order(), shop.world.menu());
    let ports = [shop.server.port, server.port].map(|port| format!(":{port}/"));
    let reason = shop.fetch(&image.replace(&ports[0], &ports[1])).reason();
    assert!(matches!(reason, Reason::RemoteAway { .. }), "{reason}");
    assert!(server.asked() > 0, "it was not even asked");
    assert!(server.asked() < PATIENCE, "asked {} times", server.asked());
    assert_eq!((shop.world.order(), shop.world.menu()), before);
    assert!(!shop.refs().contains(&"careen/target".to_owned()));
}

#[test]
fn registry_redirect_loop_is_away_and_a_single_redirect_works() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    let mut ends = asked_for(&shop, &image);
    ends.push("v2/".to_owned());
    for end in ends {
        let here = |server: &Server| Trick::Redirect(format!("http://127.0.0.1:{}", server.port));
        is_away(&shop, &before(&shop, &end, here), &image);
    }
    let leads_on = before(&shop, "no such path", |_| Trick::Endless);
    let ports = [shop.server.port, leads_on.port].map(|port| format!(":{port}/"));
    let (fetched, _) = shop.fetch(&image.replace(&ports[0], &ports[1])).fetched();
    assert_eq!(fetched, commit);
}

#[test]
fn a_registry_that_redirects_to_a_file_of_the_node_is_away() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    for digest in asked_for(&shop, &image) {
        // It would do, were it read from there.
        let place = format!("file://{}", shop.server.blob(&digest).display());
        let there = |_: &Server| Trick::RedirectTo(place.clone());
        is_away(&shop, &before(&shop, &digest, there), &image);
    }
    assert_eq!(shop.fetch(&image).fetched().0, commit);
}
