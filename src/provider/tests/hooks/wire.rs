//! Tests over the wire: TLS without a server name, both protocols, client certificates, endless
//! bodies.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use provider::hooks::{Limits, Listening, serve};
use provider::tls::{self, Current, Pair};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::scene::*;

struct Server {
    port: u16,
    pair: Pair,
    current: Arc<Current>,
}

async fn server(limits: Limits, client_ca: Option<&std::path::Path>) -> Server {
    let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
    let pair = tls::make(None, &names, provider::clock::now()).unwrap();
    let current = Arc::new(Current::default());
    current
        .set(pair.certificate.as_bytes(), pair.key.as_bytes())
        .unwrap();
    let config = Arc::new(tls::config(Arc::clone(&current), client_ca).unwrap());
    let listening = Listening::on("127.0.0.1:0".parse().unwrap(), limits)
        .await
        .unwrap();
    let port = listening.address().unwrap().port();
    tokio::spawn(serve(
        listening,
        config,
        Arc::new(world().0),
        std::future::pending(),
    ));
    Server {
        port,
        pair,
        current,
    }
}

fn client_config(trust: &str, own: Option<(&str, &str)>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(trust.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    }
}

/// Connects as core does: to an IP address, so that no server name is sent.
async fn connect(
    server: &Server,
    mut config: ClientConfig,
    protocol: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(("127.0.0.1", server.port)).await?;
    let name = ServerName::try_from("127.0.0.1").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

fn request(path: &str, body: Vec<u8>) -> Request<Full<Bytes>> {
    let uri = format!("https://127.0.0.1{path}");
    Request::post(uri)
        .header("host", "127.0.0.1")
        .body(Full::from(body))
        .unwrap()
}

async fn post(
    stream: TlsStream<TcpStream>,
    path: &str,
    body: Vec<u8>,
) -> Result<(StatusCode, Value), hyper::Error> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let response = sender.send_request(request(path, body)).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

#[tokio::test]
async fn hook_call_is_served_over_http_1_without_sni_or_content_type() {
    let server = server(Limits::default(), None).await;
    let stream = connect(
        &server,
        client_config(&server.pair.authorities, None),
        b"http/1.1",
    )
    .await
    .unwrap();
    let sample = sample("canupdatemachine");
    let (status, body) = post(
        stream,
        &sample.path,
        sample.request.to_string().into_bytes(),
    )
    .await
    .unwrap();
    assert_eq!(
        (status, &body["status"]),
        (StatusCode::OK, &Value::from("Success"))
    );
}

#[tokio::test]
async fn and_over_http_2() {
    let server = server(Limits::default(), None).await;
    let stream = connect(
        &server,
        client_config(&server.pair.authorities, None),
        b"h2",
    )
    .await
    .unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let handshake =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let sample = sample("updatemachine");
    let sent = sender.send_request(request(
        &sample.path,
        sample.request.to_string().into_bytes(),
    ));
    assert_eq!(sent.await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn oversized_body_is_refused_and_the_next_call_is_served() {
    let server = server(Limits::default(), None).await;
    let trust = client_config(&server.pair.authorities, None);
    let sample = sample("updatemachine");
    let stream = connect(&server, trust.clone(), b"http/1.1").await.unwrap();
    // The server answers and closes before it has read everything. The client sees the answer or
    // the closed connection.
    match post(stream, &sample.path, vec![b'x'; 20 << 20]).await {
        Ok((status, _)) => assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE),
        Err(error) => assert!(!error.is_timeout(), "{error}"),
    }
    let stream = connect(&server, trust, b"http/1.1").await.unwrap();
    let (status, _) = post(
        stream,
        &sample.path,
        sample.request.to_string().into_bytes(),
    )
    .await
    .unwrap();
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn who_says_nothing_is_hung_up_on() {
    let limits = Limits {
        patience: Duration::from_millis(200),
        ..Limits::default()
    };
    let server = server(limits, None).await;
    let mut silent = TcpStream::connect(("127.0.0.1", server.port))
        .await
        .unwrap();
    let mut buffer = [0; 16];
    let read = tokio::io::AsyncReadExt::read(&mut silent, &mut buffer);
    let read = tokio::time::timeout(Duration::from_secs(30), read)
        .await
        .expect("the connection is closed");
    assert!(matches!(read, Ok(0) | Err(_)));
}

/// Whether the server closes the connection, however long the client waits.
async fn is_hung_up_on(stream: &mut TlsStream<TcpStream>) -> bool {
    let read = async {
        let mut buffer = [0; 256];
        // What the server sends meanwhile, as HTTP/2 does, is not an end.
        while matches!(
            tokio::io::AsyncReadExt::read(stream, &mut buffer).await,
            Ok(1..)
        ) {}
    };
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, read).await.is_ok()
}

#[tokio::test]
async fn client_silent_after_the_handshake_is_dropped_in_http_1_and_2() {
    let limits = Limits {
        patience: Duration::from_millis(200),
        ..Limits::default()
    };
    let server = server(limits, None).await;
    let trust = client_config(&server.pair.authorities, None);
    // The start of HTTP/2, and then silence.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let ways: [(&[u8], &[u8]); 4] = [
        (b"http/1.1", b""),
        (b"h2", b""),
        (b"h2", b"PRI"),
        (b"h2", preface),
    ];
    for (protocol, words) in ways {
        let mut silent = connect(&server, trust.clone(), protocol).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut silent, words)
            .await
            .unwrap();
        assert!(is_hung_up_on(&mut silent).await, "{protocol:?} {words:?}");
    }
}

#[tokio::test]
async fn silent_clients_give_their_places_back() {
    let limits = Limits {
        patience: Duration::from_millis(200),
        connections: 2,
        ..Limits::default()
    };
    let server = server(limits, None).await;
    let trust = client_config(&server.pair.authorities, None);
    let mut silent = Vec::new();
    for _ in 0..2 {
        silent.push(connect(&server, trust.clone(), b"h2").await.unwrap());
    }
    let sample = sample("updatemachine");
    let served = async {
        loop {
            if let Ok(stream) = connect(&server, trust.clone(), b"http/1.1").await {
                let body = sample.request.to_string().into_bytes();
                if post(stream, &sample.path, body).await.is_ok() {
                    break;
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, served)
        .await
        .expect("there is a place again");
}

/// A client's certificate, issued by the test's authority.
fn client_of(pair: &Pair) -> (String, String) {
    let mut authority = CertificateParams::default();
    authority
        .distinguished_name
        .push(DnType::CommonName, "careen-provider CA");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let issuer = Issuer::new(authority, KeyPair::from_pem(&pair.authority_key).unwrap());
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["core".to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.signed_by(&key, &issuer).unwrap();
    (certificate.pem(), key.serialize_pem())
}

#[tokio::test]
async fn with_an_authority_for_clients_only_its_clients_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let now = provider::clock::now();
    let theirs = tls::make(None, &["localhost".to_owned()], now).unwrap();
    let file = folder.path().join("clients.pem");
    std::fs::write(&file, &theirs.authorities).unwrap();
    let server = server(Limits::default(), Some(&file)).await;
    let sample = sample("updatemachine");
    let body = sample.request.to_string().into_bytes();
    let (certificate, key) = client_of(&theirs);
    let friend = client_config(&server.pair.authorities, Some((&certificate, &key)));
    let stream = connect(&server, friend, b"http/1.1").await.unwrap();
    let (status, _) = post(stream, &sample.path, body.clone()).await.unwrap();
    assert_eq!(status, StatusCode::OK);
    let stranger = tls::make(None, &["localhost".to_owned()], now).unwrap();
    for own in [
        None,
        Some((stranger.certificate.as_str(), stranger.key.as_str())),
    ] {
        // With TLS 1.3 the refusal may come with the first read instead of the handshake.
        let refused = match connect(
            &server,
            client_config(&server.pair.authorities, own),
            b"http/1.1",
        )
        .await
        {
            Err(_) => true,
            Ok(stream) => post(stream, &sample.path, body.clone()).await.is_err(),
        };
        assert!(refused, "{own:?}");
    }
}

#[tokio::test]
async fn renewed_certificate_is_served_under_the_same_authority() {
    let server = server(Limits::default(), None).await;
    let later = provider::clock::now() + 70 * 24 * 3600;
    let renewed = tls::make(Some(&server.pair), &server.pair.terms.names, later).unwrap();
    assert_ne!(renewed.certificate, server.pair.certificate);
    assert_eq!(renewed.authorities, server.pair.authorities);
    server
        .current
        .set(renewed.certificate.as_bytes(), renewed.key.as_bytes())
        .unwrap();
    // Its validity starts an hour before it was made, which is in 70 days. So this checks only the
    // chain and not the time.
    let trust = client_config(&server.pair.authorities, None);
    let seen = connect(&server, trust, b"http/1.1").await;
    let error = seen
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    let early = ["NotValidYet", "not valid yet"];
    assert!(early.iter().any(|word| error.contains(word)), "{error}");
}
