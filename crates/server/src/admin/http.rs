//! Routes.

use super::group::GroupOrder;
use super::orders::{Deed, Where};
use super::report::Report;
use super::{Order, Question, metrics};
use axum::extract::{Json, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use serde_json::json;
use std::net::TcpListener;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

type Ask = mpsc::Sender<Question>;

/// How long the data thread may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves at `listener` until `stopped`. With a password, every request but `/healthz` has to carry it as a bearer
/// token.
pub(super) fn run(listener: TcpListener, ask: Ask, stopped: oneshot::Receiver<()>, password: Option<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.and_then(|runtime| {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::select! {
                served = axum::serve(listener, router(ask, password)) => served,
                _ = stopped => Ok(()),
            }
        })
    });
    if let Err(error) = served {
        tracing::error!("the admin server has ended: {error}");
    }
}

fn router(ask: Ask, password: Option<String>) -> Router {
    let guarded = Router::new()
        .route("/metrics", get(metrics_text))
        .route("/status", get(status))
        .route("/admin/cut", post(|ask, body| order(Deed::Cut, ask, body)))
        .route("/admin/slow", post(|ask, body| order(Deed::Slow, ask, body)))
        .route("/admin/skew", post(|ask, body| order(Deed::Skew, ask, body)))
        .route("/admin/heal", post(|ask, body| order(Deed::Heal, ask, body)))
        .route("/admin/membership", post(membership))
        .route("/admin/group", post(group))
        .route("/admin/groupings", post(regroup))
        .layer(middleware::from_fn(from_page))
        .layer(from_fn_with_state(password, authorised));
    Router::new().route("/healthz", get(healthz)).merge(guarded).with_state(ask)
}

/// Refuses what a page in a browser sends without the user's knowledge: it carries its origin.
async fn from_page(request: Request, next: Next) -> Response {
    if request.method() != axum::http::Method::GET && request.headers().contains_key(header::ORIGIN) {
        return problem(StatusCode::FORBIDDEN, "not from a page of another origin");
    }
    next.run(request).await
}

async fn authorised(State(password): State<Option<String>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer "));
    match password {
        Some(password) if given != Some(&password) => {
            problem(StatusCode::UNAUTHORIZED, "send the password as a bearer token")
        }
        _ => next.run(request).await,
    }
}

fn problem(status: StatusCode, what: &str) -> Response {
    (status, Json(json!({ "error": what }))).into_response()
}

async fn report(ask: &Ask) -> Result<Box<Report>, Response> {
    let (answer, answered) = oneshot::channel();
    let asked = async {
        ask.send(Question::Report(answer)).await.ok()?;
        answered.await.ok()
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Some(report)) => Ok(report),
        _ => Err(problem(StatusCode::SERVICE_UNAVAILABLE, "the node does not answer")),
    }
}

async fn healthz(State(ask): State<Ask>) -> Response {
    match report(&ask).await {
        Ok(report) => match report.writes_refused {
            None => Json(json!({ "status": "ok" })).into_response(),
            Some(why) => problem(StatusCode::SERVICE_UNAVAILABLE, &why),
        },
        Err(response) => response,
    }
}

async fn status(State(ask): State<Ask>) -> Response {
    match report(&ask).await {
        Ok(report) => Json(report).into_response(),
        Err(response) => response,
    }
}

async fn metrics_text(State(ask): State<Ask>) -> Response {
    let report = match report(&ask).await {
        Ok(report) => report,
        Err(response) => return response,
    };
    match metrics::text(report) {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(_) => problem(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written"),
    }
}

async fn membership(State(ask): State<Ask>, Json(order): Json<tidemark_contract::Exclusion>) -> Response {
    let (answer, answered) = oneshot::channel();
    if ask.send(Question::Membership(order, answer)).await.is_err() {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "the node is stopping");
    }
    match tokio::time::timeout(PATIENCE, answered).await {
        Ok(Ok(Ok(told))) => Json(json!({ "partitions": told })).into_response(),
        Ok(Ok(Err(why))) => problem(StatusCode::BAD_REQUEST, &why),
        _ => problem(StatusCode::SERVICE_UNAVAILABLE, "the node does not answer"),
    }
}

async fn order(deed: Deed, State(ask): State<Ask>, body: Option<Json<Where>>) -> Response {
    let place = body.map(|Json(place)| place).unwrap_or_default();
    obeyed(&ask, |answer| Question::Order(Order { deed, place }, answer)).await
}

async fn group(State(ask): State<Ask>, Json(order): Json<GroupOrder>) -> Response {
    obeyed(&ask, |answer| Question::Group(order, answer)).await
}

async fn regroup(State(ask): State<Ask>, Json(order): Json<tidemark_contract::Regrouping>) -> Response {
    obeyed(&ask, |answer| Question::Regroup(order, answer)).await
}

/// Has the data thread do something, or refuse.
async fn obeyed(
    ask: &Ask,
    question: impl FnOnce(oneshot::Sender<Result<(), String>>) -> Question,
) -> Response {
    let (answer, answered) = oneshot::channel();
    if ask.send(question(answer)).await.is_err() {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "the node is stopping");
    }
    let Ok(answered) = tokio::time::timeout(PATIENCE, answered).await else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "the node does not answer");
    };
    match answered {
        Ok(Ok(())) => Json(json!({ "status": "ok" })).into_response(),
        Ok(Err(why)) => problem(StatusCode::BAD_REQUEST, &why),
        Err(_) => problem(StatusCode::SERVICE_UNAVAILABLE, "the node is stopping"),
    }
}
