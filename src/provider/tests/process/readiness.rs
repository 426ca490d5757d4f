//! `/healthz` and `/readyz` while the management cluster does not answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::program::{PATIENCE, Program, pair};

/// The answer at a path, from the status line on.
fn get(metrics: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(metrics).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

impl Program {
    /// Waits until there is a certificate for calls.
    pub fn until_it_has_a_certificate(&self) {
        while get(self.metrics, "/readyz").contains("no certificate yet") {
            std::thread::yield_now();
        }
    }
}

/// In this state a Service sends no calls to it, and a liveness probe has no reason to restart it.
#[test]
fn provider_is_healthy_but_not_ready_before_the_first_lists() {
    let program = Program::start(&pair(), &[]);
    program.until_it_has_a_certificate();
    let ready = get(program.metrics, "/readyz");
    assert!(ready.contains("503"), "{ready}");
    assert!(
        ready.ends_with("the first lists are not complete yet\n"),
        "{ready}"
    );
    assert!(get(program.metrics, "/healthz").contains("200 OK"));
}
