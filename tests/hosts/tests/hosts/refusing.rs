//! An API server that is played: now and then it does not accept a token that is good.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use careen_host::cluster::Cluster;
use prepared::api::Api;
use prepared::settings::Settings;
use serde_json::{Value, json};

use crate::hosted::rig::Rig;

/// What it answers to each read of the CareenHost.
const READS: [Shown; 6] = [
    Shown::Free,
    Shown::Unauthorized,
    Shown::Released,
    Shown::Unauthorized,
    Shown::Unauthorized,
    Shown::Released,
];

/// One answer.
#[derive(Clone, Copy)]
enum Shown {
    Free,
    Released,
    Unauthorized,
}

/// What a host hears of its claim, read by read. The token of its registration is good once.
pub fn heard(mut settings: Settings) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    settings.server = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || serve(&listener));
    let rig = Rig::new();
    let mut api = Cluster::new(&rig.paths, settings, "n-1".to_owned()).unwrap();
    let turn = |_| match api.credential().and_then(|()| api.own()) {
        Ok(own) => {
            let claim = own.claim.map(|claim| claim.unwrap().wanted);
            format!("{claim:?}")
        }
        Err(why) if why.contains("Unauthorized") => "refused".to_owned(),
        Err(why) => why,
    };
    READS.iter().map(turn).collect()
}

/// What a machine hears that has the name of another one. It has made up its own secret.
pub fn turned_away(settings: Settings) -> String {
    let rig = Rig::new();
    let mut api = Cluster::new(&rig.paths, settings, "n-1".to_owned()).unwrap();
    let turn = |_| api.credential().and_then(|()| api.own().map(drop));
    let told: Vec<_> = (0..3).map(turn).collect();
    format!("{told:?}")
}

fn serve(listener: &TcpListener) {
    let (mut reads, mut registered) = (READS.iter(), false);
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let (line, body) = request(&stream);
        let (code, answer) = if line.starts_with("POST") && line.contains("/token") {
            refusal(404)
        } else if line.starts_with("POST") {
            let first = !std::mem::replace(&mut registered, true);
            if first { (201, body) } else { refusal(401) }
        } else if line.contains("/secrets/") {
            (200, json!({ "data": { "token": "dG9rZW4=" } }))
        } else {
            match reads.next() {
                Some(Shown::Free) => (200, host(Value::Null)),
                Some(Shown::Released) => (200, host(released())),
                Some(Shown::Unauthorized) | None => refusal(401),
            }
        };
        let text = answer.to_string();
        let head = format!(
            "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        stream.write_all((head + &text).as_bytes()).unwrap();
    }
}

/// The first line, and the body.
fn request(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_lowercase();
        if let Some(number) = line.strip_prefix("content-length:") {
            length = number.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (first, serde_json::from_slice(&body).unwrap_or_default())
}

fn host(claim: Value) -> Value {
    json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost",
        "metadata": { "name": "n-1" }, "spec": { "claim": claim },
    })
}

fn released() -> Value {
    json!({
        "id": "00000000000000aa", "machine": "m", "cluster": "c", "providerID": "x",
        "wanted": "Released",
    })
}

fn refusal(code: u16) -> (u16, Value) {
    let reason = if code == 401 {
        "Unauthorized"
    } else {
        "NotFound"
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason,
        "reason": reason, "code": code,
    });
    (code, status)
}
