//! One connection: a WebSocket that is being made, or is there.

use crate::Endpoint;
use bytes::Bytes;
use futures_util::{Sink, Stream};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tidemark_edge::frames::FRAME_MAX;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};

/// Frames are small: a buffer of the library's size would be most of a client's memory.
const BUFFER: usize = 4 << 10;

/// A gateway from which nothing was heard for so long is gone: it sends a ping every 20 s. A machine that loses its network ends no
/// connection.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

type WebSocket = WebSocketStream<TcpStream>;
type Connecting = Pin<Box<dyn Future<Output = Result<WebSocket, Error>> + Send>>;

/// A connection and what is to be sent on it.
pub(crate) struct Socket {
    pub(crate) connection: u64,
    state: State,
    outbox: VecDeque<Message>,
    silence: Duration,
    /// When the silence has lasted too long, or before that.
    deadline: Pin<Box<Sleep>>,
    heard: Instant,
}

enum State {
    Connecting(Connecting),
    Open(Box<WebSocket>),
}

/// What a connection does.
pub(crate) enum Happens {
    Opened,
    Received(Bytes),
    Ended,
}

impl Socket {
    pub(crate) fn connect(connection: u64, endpoint: &Endpoint, silence: Duration) -> Self {
        let (authority, url) = (endpoint.authority.clone(), endpoint.to_string());
        let connecting = Box::pin(async move {
            let stream = TcpStream::connect(authority).await?;
            stream.set_nodelay(true)?;
            let config = WebSocketConfig::default()
                .read_buffer_size(BUFFER)
                .write_buffer_size(BUFFER)
                .max_message_size(Some(FRAME_MAX))
                .max_frame_size(Some(FRAME_MAX));
            let (socket, _) = tokio_tungstenite::client_async_with_config(url, stream, Some(config)).await?;
            Ok(socket)
        });
        Self {
            connection,
            state: State::Connecting(connecting),
            outbox: VecDeque::new(),
            silence,
            deadline: Box::pin(sleep(silence)),
            heard: Instant::now(),
        }
    }

    pub(crate) fn send(&mut self, frame: Vec<u8>) {
        self.outbox.push_back(Message::Binary(frame.into()));
    }

    /// Sends what there is, and takes what has come.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Happens> {
        while self.deadline.as_mut().poll(cx).is_ready() {
            if self.heard.elapsed() >= self.silence {
                return Poll::Ready(Happens::Ended);
            }
            self.deadline.as_mut().reset(self.heard + self.silence);
        }
        let socket = match &mut self.state {
            State::Connecting(connecting) => {
                return Poll::Ready(match ready!(connecting.as_mut().poll(cx)) {
                    Ok(socket) => {
                        self.state = State::Open(Box::new(socket));
                        Happens::Opened
                    }
                    Err(_) => Happens::Ended,
                });
            }
            State::Open(socket) => socket,
        };
        if let Poll::Ready(Err(_)) = flush(socket, &mut self.outbox, cx) {
            return Poll::Ready(Happens::Ended);
        }
        loop {
            let message = ready!(Pin::new(&mut *socket).poll_next(cx));
            self.heard = Instant::now();
            match message {
                Some(Ok(Message::Binary(frame))) => return Poll::Ready(Happens::Received(frame)),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {} // the library answers
                // Gateways send nothing else.
                Some(Ok(_) | Err(_)) | None => return Poll::Ready(Happens::Ended),
            }
        }
    }

    /// Ready when all that was to be sent is with the system.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match &mut self.state {
            State::Connecting(_) => Poll::Ready(Ok(())),
            State::Open(socket) => flush(socket, &mut self.outbox, cx),
        }
    }
}

fn flush(
    socket: &mut WebSocket,
    outbox: &mut VecDeque<Message>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), Error>> {
    let mut socket = Pin::new(socket);
    while !outbox.is_empty() {
        ready!(socket.as_mut().poll_ready(cx))?;
        if let Some(frame) = outbox.pop_front() {
            socket.as_mut().start_send(frame)?;
        }
    }
    socket.poll_flush(cx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tidemark_patience::PATIENCE;
    use tokio::net::TcpListener;

    /// A gateway that is there but whose words do not arrive any more, as behind a network that has gone.
    #[tokio::test]
    async fn a_connection_that_falls_silent_has_ended() {
        // On a busy machine the gateway itself may be silent for too long once, but not each time.
        let begun = Instant::now();
        while !pings_keep_a_connection().await {
            assert!(begun.elapsed() < PATIENCE, "pings do not keep it open"); // time: of many connections none lasts
        }
    }

    /// Whether a connection on which four pings come in 600 ms lasts for longer than that, where 300 ms of silence end it.
    async fn pings_keep_a_connection() -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = listener.local_addr().unwrap().to_string().parse().unwrap();
        let mut socket = Socket::connect(1, &endpoint, Duration::from_millis(300));
        let gateway = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut gateway = tokio_tungstenite::accept_async(stream).await.unwrap();
            for _ in 0..4 {
                let ping = Message::Ping(Bytes::new());
                poll_fn(|cx| Pin::new(&mut gateway).poll_ready(cx)).await.unwrap();
                Pin::new(&mut gateway).start_send(ping).unwrap();
                poll_fn(|cx| Pin::new(&mut gateway).poll_flush(cx)).await.unwrap();
                sleep(Duration::from_millis(150)).await;
            }
            gateway
        });
        let began = Instant::now();
        if !matches!(poll_fn(|cx| socket.poll(cx)).await, Happens::Opened) {
            gateway.abort();
            return false; // it took too long to open
        }
        assert!(matches!(poll_fn(|cx| socket.poll(cx)).await, Happens::Ended));
        let lasted = began.elapsed();
        gateway.abort();
        lasted > Duration::from_millis(600)
    }
}
