//! The metrics of the demo's node, every few seconds, for the dashboard's picture in
//! docs/monitoring.md. `.ci/recording` asks for them and `.ci/dashboard` reads them.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use rig::Rig;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The variable with the file to write. Nothing is sampled without it.
pub const FILE: &str = "CAREEN_SAMPLES";

/// The policy that makes the agent serve metrics, as in docs/monitoring.md.
pub const POLICY: &str = "[metrics]\nlisten = \"127.0.0.1:9840\"";

/// The pause between two samples.
const PAUSE: Duration = Duration::from_secs(5);

/// Receives samples until it is dropped.
pub struct Samples(JoinHandle<()>);

impl Drop for Samples {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Samples {
    /// Begins to sample if the caller asked for it.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be made or the guest does not start its service.
    pub async fn begin(rig: &mut Rig) -> Result<Option<Self>> {
        let Some(file) = std::env::var_os(FILE).map(PathBuf::from) else {
            return Ok(None);
        };
        std::fs::write(&file, "").with_context(|| file.display().to_string())?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        rig.policy(POLICY).await?;
        rig.guest.run(&service(port)).await?;
        Ok(Some(Self(tokio::spawn(receive(listener, file)))))
    }

    /// Waits for two more samples, so that the picture has the end.
    pub async fn end(self) {
        tokio::time::sleep(3 * PAUSE).await;
    }
}

/// Makes a service in /etc that outlives reboots. It sends the metrics to this machine, which QEMU
/// calls 10.0.2.2 in the guest.
fn service(port: u16) -> String {
    let send = format!(
        "curl --silent --fail --max-time 4 http://127.0.0.1:9840/metrics | socat -u - TCP:10.0.2.2:{port}"
    );
    let pause = PAUSE.as_secs();
    format!(
        "cat >/etc/systemd/system/rig-samples.service <<'END'\n\
         [Service]\n\
         ExecStart=/bin/sh -c 'while sleep {pause}; do {send}; done'\n\
         [Install]\n\
         WantedBy=multi-user.target\n\
         END\n\
         systemctl daemon-reload && systemctl enable --now rig-samples.service"
    )
}

async fn receive(listener: TcpListener, file: PathBuf) {
    while let Ok((stream, _)) = listener.accept().await {
        if let Err(error) = append(stream, &file).await {
            eprintln!("a sample is lost: {error:#}");
        }
    }
}

/// Appends one sample: a line with its time, then what the agent served.
async fn append(mut stream: TcpStream, file: &Path) -> Result<()> {
    let mut served = String::new();
    stream.read_to_string(&mut served).await?;
    let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let mut out = OpenOptions::new().append(true).open(file)?;
    write!(out, "# at {at}\n{served}")?;
    Ok(())
}
