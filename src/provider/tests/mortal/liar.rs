//! An API server of a workload cluster that answers as a test wants, without an end if the test
//! wants that.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The answers to a request, in pieces. An answer ends when there is no further piece.
pub trait Lie: Send + Sync + 'static {
    /// The next piece of a list of Nodes. The query says which page.
    fn list(&self, query: &str, piece: usize) -> Option<String>;

    /// The next piece of a watch of Nodes.
    fn watch(&self, piece: usize) -> Option<String> {
        let _ = piece;
        None
    }
}

/// A complete list.
pub fn page(items: &str, next: &str) -> String {
    let meta = format!("{{\"resourceVersion\": \"1\", \"continue\": \"{next}\"}}");
    format!(
        "{{\"kind\": \"NodeList\", \"apiVersion\": \"v1\", \"metadata\": {meta}, \"items\": [{items}]}}"
    )
}

/// Serves for the lifetime of the test's runtime. Returns the port.
pub async fn serve(lie: impl Lie) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let lie = std::sync::Arc::new(lie);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let lie = std::sync::Arc::clone(&lie);
            tokio::spawn(async move { talk(stream, &*lie).await });
        }
    });
    port
}

async fn talk(mut stream: TcpStream, lie: &impl Lie) -> std::io::Result<()> {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
    let mut request = vec![0; 16 << 10];
    let length = stream.read(&mut request).await?;
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let target = request.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    stream.write_all(HEAD.as_bytes()).await?;
    if path == "/version" {
        return stream.write_all(b"{\"gitVersion\": \"v1.36.3\"}").await;
    }
    if path != "/api/v1/nodes" {
        return stream.write_all(page("", "").as_bytes()).await;
    }
    let watches = query.contains("watch=");
    for piece in 0.. {
        let next = if watches {
            lie.watch(piece)
        } else {
            lie.list(query, piece)
        };
        let Some(next) = next else { break };
        stream.write_all(next.as_bytes()).await?;
    }
    if watches {
        // Keeps the watch open.
        std::future::pending::<()>().await;
    }
    Ok(())
}
