//! Which images the container runtime has.

use std::path::Path;

use super::grpc::{Client, Error};
use super::messages::{ImageSpec, ImageStatusRequest, ImageStatusResponse};

/// The images of these that the runtime at this socket does not have, in their order. The runtime
/// pulls none.
///
/// # Errors
/// The runtime does not answer.
pub async fn missing(socket: &Path, images: &[String]) -> Result<Vec<String>, Error> {
    let client = Client::connect(socket).await?;
    let mut missing = Vec::new();
    for name in images {
        if !is_there(&client, name).await? {
            missing.push(name.clone());
        }
    }
    Ok(missing)
}

/// An image that is not there is an empty answer, and not an error (k8s.io/cri-api,
/// pkg/apis/runtime/v1/api.proto, `ImageStatus`).
async fn is_there(client: &Client, name: &str) -> Result<bool, Error> {
    let image = Some(ImageSpec {
        image: name.to_owned(),
    });
    let request = ImageStatusRequest { image };
    let answer: Result<ImageStatusResponse, _> = client.images("ImageStatus", &request).await;
    match answer {
        Ok(answer) => Ok(answer.image.is_some()),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}
