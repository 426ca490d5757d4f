//! What clusterctl renders is accepted by the API server and the webhooks of the managers.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{ENDPOINT, Scene};

/// The flavours, and what each needs beside a version. The default has no name.
const FLAVOURS: [(&str, (&str, &str)); 4] = [
    ("", ENDPOINT),
    ("single", ("CONTROL_PLANE_HOST", "n-1")),
    ("machinepool", ENDPOINT),
    ("topology", ENDPOINT),
];

/// The kinds that a flavour consists of.
const KINDS: [(&str, &[&str]); 4] = [
    ("", &["MachineDeployment", "MachineHealthCheck"]),
    ("single", &["MachineDeployment", "MachineHealthCheck"]),
    ("machinepool", &["MachinePool", "CareenMachinePool"]),
    ("topology", &["ClusterClass", "CareenMachinePoolTemplate"]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_template_is_accepted_by_the_real_webhooks() -> Result<()> {
    let scene = Scene::start().await?;
    for (flavour, needed) in FLAVOURS {
        // The templates of the one before may not be gone yet.
        let name = format!("edge-{flavour}x");
        let generate = |given: &[(&str, &str)]| scene.generate_named(&name, flavour, given);
        let missing = generate(&[]).map_err(|error| error.to_string());
        let expected = format!("value for variables [{}] is not set", needed.0);
        let is_named = missing.as_ref().is_err_and(|said| said.contains(&expected));
        ensure!(is_named, "{missing:?}");
        let objects = generate(&[needed])?;
        let kinds: Vec<_> = objects.iter().map(|one| &one["kind"]).collect();
        let wanted = KINDS.iter().filter(|(of, _)| *of == flavour);
        for kind in wanted.flat_map(|(_, kinds)| *kinds) {
            ensure!(kinds.contains(&&json!(kind)), "{flavour}: {kinds:?}");
        }
        let labels = ("WORKER_HOST_LABELS", "role: worker, disk: ssd");
        let labelled = json!(generate(&[needed, labels])?).to_string();
        let selector = r#"{"disk":"ssd","role":"worker"}"#;
        ensure!(labelled.contains(selector), "{labelled}");
        let applied = scene.apply(&objects).await;
        applied.with_context(|| flavour.to_owned())?;
        scene.remove(&name).await?;
    }
    Ok(())
}
