//! Asking over HTTP, on loopback mostly: the supervisor asks nodes, and other terminals ask the supervisor.

use serde::Serialize;
use std::time::Duration;

/// The status and the text of an answer.
pub(crate) type Answer = (u16, String);

/// Asks for what is at `url`.
pub(crate) fn get(url: &str, bearer: Option<&str>, patience: Duration) -> anyhow::Result<Answer> {
    let request = agent(patience).get(url);
    let request = match bearer {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    };
    let mut answer = request.call()?;
    Ok((answer.status().as_u16(), answer.body_mut().read_to_string()?))
}

/// Sends `body` as JSON to `url`.
pub(crate) fn post(
    url: &str,
    bearer: Option<&str>,
    patience: Duration,
    body: &impl Serialize,
) -> anyhow::Result<Answer> {
    let request = agent(patience).post(url).header("content-type", "application/json");
    let request = match bearer {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    };
    let mut answer = request.send(serde_json::to_string(body)?)?;
    Ok((answer.status().as_u16(), answer.body_mut().read_to_string()?))
}

fn agent(patience: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().timeout_global(Some(patience)).http_status_as_error(false);
    config.build().into()
}
