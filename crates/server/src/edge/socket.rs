//! WebSockets: one binary message a frame.

use super::hub::Hub;
use axum::Router;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tidemark_edge::frames::FRAME_MAX;
use tokio::sync::oneshot;

/// A client that is silent is asked whether it is there so often; after two such times it is gone.
const PING: Duration = Duration::from_secs(20);

/// How long a client may take to read one frame.
const PATIENCE: Duration = Duration::from_secs(20);

/// How much is read at a time, and so how much memory is held for that: frames are small, and clients are many.
const BUFFER: usize = 2 << 10;

/// How long what a client has sent is read after its connection was closed.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves at `listener` until `stopped`.
pub(super) fn run(listener: TcpListener, hub: Arc<Hub>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.and_then(|runtime| {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let router = Router::new().route("/edge", get(upgrade)).with_state(hub.clone());
            tokio::select! {
                served = axum::serve(listener, router) => served,
                () = hub.run() => Ok(()),
                _ = stopped => Ok(()),
            }
        })
    });
    if let Err(error) = served {
        tracing::error!("the server of edge clients has ended: {error}");
    }
}

async fn upgrade(
    State(hub): State<Arc<Hub>>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    match upgrade {
        Ok(upgrade) => upgrade
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER)
            .max_message_size(FRAME_MAX)
            .max_frame_size(FRAME_MAX)
            .on_upgrade(|socket| serve(socket, hub)),
        Err(_) => {
            let text =
                "edge clients connect here by WebSocket, with tidemark's own frames: see docs/edge.md\n";
            (StatusCode::UPGRADE_REQUIRED, text).into_response()
        }
    }
}

/// One connection, until it ends.
async fn serve(mut socket: WebSocket, hub: Arc<Hub>) {
    let Some((id, mut frames)) = hub.open() else {
        let full =
            CloseFrame { code: 1013, reason: "this node has as many edge clients as it may have".into() };
        let _ = socket.send(Message::Close(Some(full))).await;
        return;
    };
    let mut silent = 0;
    let mut asks = tokio::time::interval(PING);
    asks.reset();
    loop {
        tokio::select! {
            frame = frames.recv() => {
                let Some(frame) = frame else { break };
                if !send(&mut socket, Message::Binary(frame)).await {
                    break;
                }
            }
            message = socket.recv() => {
                silent = 0;
                match message {
                    Some(Ok(Message::Binary(frame))) => hub.frame(id, &frame),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Text(_))) => break, // nobody sends text here
                    Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                }
            }
            _ = asks.tick() => {
                silent += 1;
                if silent > 2 || !send(&mut socket, Message::Ping(bytes::Bytes::new())).await {
                    break;
                }
            }
        }
    }
    hub.close(id);
    let farewell = async {
        let _ = socket.send(Message::Close(None)).await;
        // What the client has sent meanwhile is read: a socket that is closed before resets the connection, and an Error is lost on the way.
        while let Some(Ok(_)) = socket.recv().await {}
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(tokio::time::timeout(PATIENCE, socket.send(message)).await, Ok(Ok(())))
}
