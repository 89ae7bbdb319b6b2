//! Every key written once, before anything is measured.

use crate::connection::{Broken, Connection, Login};
use crate::live::Live;
use crate::{BenchError, Plan};
use std::sync::Arc;
use tidemark_workload::KeySpace;

/// How many writes are under way on one connection, at most, and how many bytes of values.
const DEPTH: usize = 64;
const DEPTH_BYTES: usize = 1 << 20;

/// Writes what falls to connection `number`. The error says what went wrong where.
pub(crate) async fn fill(
    number: usize,
    plan: &Plan,
    login: &Login,
    keys: &Arc<KeySpace>,
    live: &Live,
    stopped: impl Fn() -> bool,
) -> Result<(), BenchError> {
    let (region, address) = plan.place(number);
    let connection = Connection::open(address, login).await;
    let connection = connection.map_err(|reason| BenchError::Unreachable {
        region: plan.regions[region].name.clone(),
        address: address.into(),
        reason,
    })?;
    let written = write(connection, number, plan, keys, live, stopped).await;
    written.map_err(|reason| BenchError::Fill(format!("{address} {reason}")))
}

async fn write(
    mut connection: Connection,
    number: usize,
    plan: &Plan,
    keys: &Arc<KeySpace>,
    live: &Live,
    stopped: impl Fn() -> bool,
) -> Result<(), String> {
    let broken = |broken: Broken| broken.to_string();
    let depth = (DEPTH_BYTES / plan.workload.value_bytes).clamp(1, DEPTH);
    let mut ops = plan.workload.load_ops(keys, number, plan.connections, plan.seed);
    loop {
        let mut queued = 0;
        for op in ops.by_ref().take(depth) {
            connection.queue(&op);
            queued += 1;
        }
        if queued == 0 || stopped() {
            return Ok(());
        }
        connection.flush().await.map_err(broken)?;
        for _ in 0..queued {
            let reply = connection.next().await.map_err(broken)?;
            if let Some(error) = reply.error() {
                return Err(format!("answers a SET with: {}", String::from_utf8_lossy(error)));
            }
            live.operation(0);
        }
    }
}
