//! The endpoint through which other terminals reach the supervisor: HTTP on loopback, with a token that only
//! this user can read.

use super::Supervisor;
use super::api::{Action, ClusterStatus, Done};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use std::io::Read;
use std::sync::Arc;

/// Whoever wants something must bear it.
#[derive(Clone)]
pub(crate) struct Token(pub(crate) Arc<str>);

impl Token {
    /// One that nobody can guess.
    pub(crate) fn random() -> std::io::Result<Self> {
        let mut bytes = [0; 24];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()))
    }

    fn is_borne_by(&self, headers: &HeaderMap) -> bool {
        let given = headers.get("authorization").map(|value| value.as_bytes()).unwrap_or_default();
        let wanted = format!("Bearer {}", self.0);
        // Every byte is compared, so that the time taken tells nothing.
        given.len() == wanted.len()
            && given.iter().zip(wanted.as_bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }
}

/// Serves `supervisor` to whoever bears `token`.
pub(crate) fn router(supervisor: Arc<Supervisor>, token: Token) -> Router {
    let routes = Router::new().route("/status", get(status)).route("/do", post(act)).with_state(supervisor);
    routes.layer(middleware::from_fn_with_state(token, admit))
}

async fn admit(State(token): State<Token>, request: Request, next: Next) -> Response {
    if token.is_borne_by(request.headers()) {
        return next.run(request).await;
    }
    let message = "the token is not that of up.json".into();
    (StatusCode::UNAUTHORIZED, Json(Done { message })).into_response()
}

async fn status(State(supervisor): State<Arc<Supervisor>>) -> Json<ClusterStatus> {
    Json(supervisor.status().await)
}

async fn act(State(supervisor): State<Arc<Supervisor>>, Json(action): Json<Action>) -> Response {
    // On a task of its own: what was begun is finished even if the other terminal goes away.
    let done = tokio::spawn(async move { supervisor.act(action).await }).await;
    let (status, message) = match done {
        Ok(Ok(message)) => (StatusCode::OK, message),
        Ok(Err(error)) => (StatusCode::BAD_REQUEST, format!("{error:#}")),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    };
    (status, Json(Done { message })).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_token_is_admitted() {
        let token = Token::random().unwrap();
        let bearing =
            |text: String| HeaderMap::from_iter([("authorization".parse().unwrap(), text.parse().unwrap())]);
        assert!(token.is_borne_by(&bearing(format!("Bearer {}", token.0))));
        assert!(!token.is_borne_by(&bearing(format!("Bearer {}", "0".repeat(48)))));
        assert!(!token.is_borne_by(&HeaderMap::new()));
        assert_ne!(token.0, Token::random().unwrap().0);
    }
}
