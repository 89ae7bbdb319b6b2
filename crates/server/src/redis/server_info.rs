//! What commands are told about the server.

use tidemark_contract::grouping::NamedGroup;
use tidemark_core::Micros;

/// What the server knows about itself, and about the session of the connection.
pub trait ServerInfo {
    /// The figures at this moment.
    fn facts(&mut self) -> Facts;

    /// Sets the counters among them to zero.
    fn reset_statistics(&mut self);

    /// Begins to take a snapshot, after which the older part of the log can go.
    ///
    /// # Errors
    /// Why none is taken now.
    fn begin_snapshot(&mut self) -> Result<(), &'static str> {
        Err("this server takes no snapshots")
    }

    /// The name of its consistency protocol.
    fn protocol(&self) -> &'static str;

    /// Whether the protocol carries data types.
    fn has_types(&self) -> bool;

    /// Whether operations may ask the protocol for weaker guarantees.
    fn has_guarantees(&self) -> bool;

    /// The checking groups of the protocol, if it has some.
    fn checking_groups(&mut self) -> &[NamedGroup];

    /// The token of the connection's session, as text.
    fn session_token(&mut self) -> String;
}

/// The figures of INFO.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// 40 hexadecimal digits, new at each start.
    pub run_id: String,
    /// The process's number.
    pub process_id: u32,
    /// The port for Redis clients.
    pub tcp_port: u16,
    /// When the server started.
    pub started_at: Micros,
    /// Whether recovery is still under way.
    pub loading: bool,
    /// Bytes that the server has allocated.
    pub used_memory_bytes: u64,
    /// The most that it ever had.
    pub used_memory_peak_bytes: u64,
    /// Bytes of memory that the system has given to the process.
    pub resident_memory_bytes: u64,
    /// Bytes of the keys and values that this node's partitions hold, all versions included.
    pub dataset_bytes: u64,
    /// Bytes of memory that the machine has.
    pub system_memory_bytes: u64,
    /// Whether the last write of the log succeeded.
    pub log_is_good: bool,
    /// Bytes of disk that the log takes.
    pub log_bytes: u64,
    /// Whether a snapshot is being taken.
    pub snapshot_is_running: bool,
    /// Whether the last snapshot failed.
    pub snapshot_failed: bool,
    /// When the last snapshot was taken, or when the server started: seconds since 1970.
    pub last_snapshot_s: u64,
    /// Seconds of processor time: system, user.
    pub cpu_seconds: (f64, f64),
    /// Connections accepted since the start.
    pub connections_received: u64,
    /// Connections refused since the start.
    pub connections_rejected: u64,
    /// Commands executed since the start.
    pub commands_processed: u64,
    /// Commands a second, lately.
    pub commands_per_second: u64,
    /// Bytes received from clients.
    pub input_bytes: u64,
    /// Bytes sent to clients.
    pub output_bytes: u64,
    /// Reads that found their key.
    pub keyspace_hits: u64,
    /// Reads that did not.
    pub keyspace_misses: u64,
    /// Keys that this node's partitions hold.
    pub keys: u64,
    /// Those of them that have deadlines.
    pub keys_with_deadlines: u64,
    /// Keys that have expired since the start.
    pub expired_keys: u64,
    /// Keys that were evicted since the start.
    pub evicted_keys: u64,
    /// Lines of the section that only Tidemark has: region, protocol, lags.
    pub tidemark: Vec<(String, String)>,
}
