//! Routes.

use super::faults::{Deed, FaultOrder, Where};
use super::leased::Wanted;
use super::orders::GroupOrder;
use super::report::Report;
use super::{Query, metrics};
use axum::extract::{Json, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use serde::Serialize;
use serde_json::json;
use std::net::TcpListener;
use std::time::Duration;
use tidemark_contract::grouping::Regrouping;
use tidemark_contract::order::Order as ProtocolOrder;
use tidemark_contract::removal::{Exclusion, Standing};
use tidemark_core::PartitionId;
use tidemark_node::Order;
use tokio::sync::{mpsc, oneshot};

type Ask = mpsc::Sender<Query>;

/// How long the data thread may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves at `listener` until `stopped`. With a password, every request but those about health has to carry it as a bearer
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
        .route("/admin/cut", post(|ask, body| fault(Deed::Cut, ask, body)))
        .route("/admin/slow", post(|ask, body| fault(Deed::Slow, ask, body)))
        .route("/admin/skew", post(|ask, body| fault(Deed::Skew, ask, body)))
        .route("/admin/heal", post(|ask, body| fault(Deed::Heal, ask, body)))
        .route("/admin/faults", post(faults))
        .route("/admin/membership", post(membership))
        .route("/admin/group", post(group))
        .route("/admin/groupings", post(regroup))
        .layer(middleware::from_fn(from_page))
        .layer(from_fn_with_state(password, authorised));
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/healthz", get(healthz))
        .merge(guarded)
        .with_state(ask)
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
        ask.send(Query::Report(answer)).await.ok()?;
        answered.await.ok()
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Some(report)) => Ok(report),
        _ => Err(problem(StatusCode::SERVICE_UNAVAILABLE, "the node does not answer")),
    }
}

/// Whether the node answers: one that does not is restarted.
async fn livez(State(ask): State<Ask>) -> Response {
    match report(&ask).await {
        Ok(_) => Json(json!({ "status": "ok" })).into_response(),
        Err(response) => response,
    }
}

/// Whether clients should be sent here.
async fn readyz(State(ask): State<Ask>) -> Response {
    match report(&ask).await {
        Ok(report) => match report.unready {
            None => Json(json!({ "status": "ok" })).into_response(),
            Some(why) => {
                let body = json!({ "status": "unready", "error": why });
                (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
            }
        },
        Err(response) => response,
    }
}

/// Whether all works, or at least nothing needs an operator; and what there is to know.
async fn healthz(State(ask): State<Ask>) -> Response {
    match report(&ask).await {
        Ok(report) => match report.stuck() {
            None => Json(json!({ "status": "ok", "findings": report.findings })).into_response(),
            Some(why) => {
                let body = json!({ "status": "stuck", "error": why, "findings": report.findings });
                (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
            }
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

/// Where one partition stands.
#[derive(Clone, Copy, Debug, Serialize)]
struct Told {
    partition: PartitionId,
    #[serde(flatten)]
    standing: Standing,
}

async fn membership(State(ask): State<Ask>, Json(order): Json<Exclusion>) -> Response {
    match obeyed(&ask, |answer| Query::Order(Order::Protocol(ProtocolOrder::Exclusion(order)), answer)).await
    {
        Ok(told) => {
            let told = told.into_iter().map(|(partition, standing)| Told { partition, standing });
            Json(json!({ "partitions": told.collect::<Vec<_>>() })).into_response()
        }
        Err(response) => response,
    }
}

async fn regroup(State(ask): State<Ask>, Json(order): Json<Regrouping>) -> Response {
    done(obeyed(&ask, |answer| Query::Order(Order::Protocol(ProtocolOrder::Regrouping(order)), answer)).await)
}

async fn group(State(ask): State<Ask>, Json(order): Json<GroupOrder>) -> Response {
    done(obeyed(&ask, |answer| Query::Group(order, answer)).await)
}

async fn fault(deed: Deed, State(ask): State<Ask>, body: Option<Json<Where>>) -> Response {
    let place = body.map(|Json(place)| place).unwrap_or_default();
    done(obeyed(&ask, |answer| Query::Fault(FaultOrder::One { deed, place }, answer)).await)
}

async fn faults(State(ask): State<Ask>, Json(wanted): Json<Wanted>) -> Response {
    done(obeyed(&ask, |answer| Query::Fault(FaultOrder::All(wanted), answer)).await)
}

fn done<T>(obeyed: Result<T, Response>) -> Response {
    match obeyed {
        Ok(_) => Json(json!({ "status": "ok" })).into_response(),
        Err(response) => response,
    }
}

/// Has the data thread do something, or refuse.
async fn obeyed<T>(
    ask: &Ask,
    query: impl FnOnce(oneshot::Sender<Result<T, String>>) -> Query,
) -> Result<T, Response> {
    let (answer, answered) = oneshot::channel();
    let unavailable = |what| problem(StatusCode::SERVICE_UNAVAILABLE, what);
    if ask.send(query(answer)).await.is_err() {
        return Err(unavailable("the node is stopping"));
    }
    match tokio::time::timeout(PATIENCE, answered).await {
        Ok(Ok(answer)) => answer.map_err(|why| problem(StatusCode::BAD_REQUEST, &why)),
        Ok(Err(_)) => Err(unavailable("the node is stopping")),
        Err(_) => Err(unavailable("the node does not answer")),
    }
}
