//! Calls of the program's hooks, and its termination during them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use provider::hooks::API_VERSION;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};

use crate::program::{PATIENCE, Program, pair};

pub type Stream = StreamOwned<ClientConnection, TcpStream>;

/// A connection that trusts only this authority.
pub fn connect(hooks: SocketAddr, authority: &str) -> Stream {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap())
        .unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(hooks).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    StreamOwned::new(connection, stream)
}

fn body() -> Vec<u8> {
    json!({ "apiVersion": API_VERSION, "kind": "DiscoveryRequest" })
        .to_string()
        .into_bytes()
}

/// The head of a call. The server tells when it waits for the body.
fn head(length: usize) -> String {
    format!(
        "POST /{API_VERSION}/discovery HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\
         Connection: close\r\n\r\n"
    )
}

fn read_until(stream: &mut Stream, end: &str) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(end.as_bytes()) {
        stream.read_exact(&mut byte).expect(end);
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

/// Starts a call, which is in progress when this returns.
fn begin(stream: &mut Stream) {
    stream.write_all(head(body().len()).as_bytes()).unwrap();
    let go_on = read_until(stream, "\r\n\r\n");
    assert!(go_on.starts_with("HTTP/1.1 100"), "{go_on}");
}

/// Sends the rest of a call. Returns its status line and answer.
fn finish(mut stream: Stream) -> (String, Value) {
    stream.write_all(&body()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, content) = text.split_once("\r\n\r\n").unwrap();
    let status = head.lines().next().unwrap().to_owned();
    (status, serde_json::from_str(content).unwrap())
}

/// One whole call.
pub fn call(hooks: SocketAddr, authority: &str) -> (String, Value) {
    let mut stream = connect(hooks, authority);
    begin(&mut stream);
    finish(stream)
}

#[test]
fn call_in_progress_is_answered_before_the_program_stops() {
    let pair = pair();
    let mut program = Program::start(&pair, &[]);
    program.until_it_has_a_certificate();
    let mut stream = connect(program.hooks, &pair.authorities);
    begin(&mut stream);
    program.terminate();
    program.until_it_says("stopping");
    let (status, answer) = finish(stream);
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert_eq!(answer["status"], "Success");
    assert!(program.end().success());
}

#[test]
fn client_without_the_required_certificate_is_not_served() {
    let (pair, authority) = (pair(), tempfile::tempdir().unwrap());
    let file = authority.path().join("callers.crt");
    std::fs::write(&file, crate::program::pair().authorities).unwrap();
    let program = Program::start(&pair, &["--client-ca", file.to_str().unwrap()]);
    program.until_it_has_a_certificate();
    let mut stream = connect(program.hooks, &pair.authorities);
    let sent = stream.write_all(head(0).as_bytes());
    let refused = sent.and_then(|()| stream.read_exact(&mut [0]));
    assert!(refused.is_err(), "it was served");
}
