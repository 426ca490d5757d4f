//! Maps a path and a body to an answer.

use super::allow::can_update;
use super::discovery;
use super::hook::{API_VERSION, Hook};
use super::http_response::HttpResponse;
use super::refusal::Refusal;
use super::update::update;
use super::wire::{Request, Response};
use crate::clusters::Documents;
use crate::engine::clean;
use crate::world::World;

/// The hook that a path names. The part before the API version is the prefix of the
/// ExtensionConfig's URL.
#[must_use]
pub fn hook_of(path: &str) -> Option<Hook> {
    let (_, rest) = path.split_once(&format!("/{API_VERSION}/"))?;
    let (word, handler) = rest.split_once('/').unwrap_or((rest, ""));
    let all = [
        Hook::Discovery,
        Hook::CanUpdateMachine,
        Hook::CanUpdateMachineSet,
        Hook::UpdateMachine,
    ];
    all.into_iter()
        .find(|hook| hook.name().eq_ignore_ascii_case(word) && hook.handler() == handler)
}

/// The approximate maximum of values in a body. Core's bodies have some thousands. Small values
/// take thirty times as much memory as their text.
const VALUES: usize = 200_000;

/// The approximate number of values in a body.
fn held(body: &[u8]) -> usize {
    let mut documents = Documents::default();
    documents.look(body);
    documents.held().values
}

/// Answers one call.
#[must_use]
pub fn answer(world: &World, hook: Hook, body: &[u8], now: i64) -> HttpResponse {
    if held(body) > VALUES {
        return HttpResponse::refuse(&Refusal::TooManyValues { values: VALUES });
    }
    let request: Request = match serde_json::from_slice(body) {
        Ok(request) => request,
        // serde's message contains no part of the body, which may be secret.
        Err(error) => {
            return HttpResponse::refuse(&Refusal::Malformed {
                hook: hook.name(),
                detail: error.to_string(),
            });
        }
    };
    if let Err(why) = speaks(&request, hook) {
        return HttpResponse::refuse(&why);
    }
    let response = match hook {
        Hook::Discovery => Response::Discovery(discovery::handlers()),
        Hook::UpdateMachine => update(world, &request, now),
        Hook::CanUpdateMachine | Hook::CanUpdateMachineSet => can_update(world, &request),
    };
    HttpResponse {
        status: 200,
        outcome: response.outcome(),
        body: response.body(hook),
    }
}

fn speaks(request: &Request, hook: Hook) -> Result<(), Refusal> {
    if request.api_version != API_VERSION {
        let found = clean(&request.api_version);
        return Err(Refusal::ApiVersion { found });
    }
    let wanted = format!("{}Request", hook.name());
    if request.kind != wanted {
        let found = clean(&request.kind);
        return Err(Refusal::Kind { found, wanted });
    }
    Ok(())
}
