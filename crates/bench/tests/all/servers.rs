//! Servers under test: `redis-server`, and fake ones that do what a test says.

use bytes::BytesMut;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use tidemark_bench::{Limit, Plan, Region, Report, Stop, Tick, run};
use tidemark_patience::{PATIENCE, port, until};
use tidemark_wire::resp::RequestParser;
use tidemark_workload::Workload;

/// A `redis-server` of its own, gone when it is dropped.
pub(crate) struct Redis {
    process: Child,
    pub(crate) address: String,
    _dir: TempDir,
}

impl Redis {
    /// Starts one with `options`; none if the program is missing, which is an error where all tests have to run.
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        let found = Command::new("redis-server").arg("--version").output().is_ok();
        assert!(found || std::env::var_os("TIDEMARK_TEST_ALL").is_none(), "redis-server is missing");
        if !found {
            eprintln!("redis-server is missing: the test is left out");
            return None;
        }
        let (dir, port) = (TempDir::new().unwrap(), port());
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--save", "", "--dir"]).arg(dir.path()).args(options);
        let process = command.stdout(Stdio::null()).spawn().unwrap();
        let mut redis = Self { process, address: format!("127.0.0.1:{port}"), _dir: dir };
        until("redis-server starts", || {
            assert!(redis.process.try_wait().unwrap().is_none(), "redis-server has ended");
            TcpStream::connect(&redis.address).is_ok()
        });
        Some(redis)
    }

    /// What `redis-cli` prints.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let port = self.address.rsplit_once(':').unwrap().1;
        let output = Command::new("redis-cli").args(["-p", port]).args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().into()
    }

    /// Kills it as a power loss would.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// What a fake server does with a request.
pub(crate) enum Do {
    /// Sends these bytes.
    Answer(String),
    /// Keeps silent, and goes on reading.
    Nothing,
    /// Closes the connection.
    Close,
}

/// What a fake server is asked.
pub(crate) struct Ask {
    /// The command, in capitals, and its arguments as text.
    pub(crate) words: Vec<String>,
    /// Its number, from 0 on, on all connections; PING is not counted.
    pub(crate) number: u64,
}

/// Starts a fake server, and returns its address. It serves until the test's process ends.
pub(crate) fn fake(answer: impl Fn(&Ask) -> Do + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (answer, number) = (Arc::new(answer), Arc::new(AtomicU64::new(0)));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (answer, number) = (Arc::clone(&answer), Arc::clone(&number));
            thread::spawn(move || serve(stream, &*answer, &number));
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: &impl Fn(&Ask) -> Do, number: &AtomicU64) {
    // Several answers are several packets, which would wait for each other.
    stream.set_nodelay(true).unwrap();
    let (mut parser, mut input, mut piece) = (RequestParser::default(), BytesMut::new(), [0; 4096]);
    loop {
        while let Ok(Some(request)) = parser.parse(&mut input) {
            let words: Vec<String> =
                request.iter().map(|word| String::from_utf8_lossy(word).into()).collect();
            drop(request);
            let what = if words[0] == "PING" {
                Do::Answer("+PONG\r\n".into())
            } else {
                answer(&Ask { words, number: number.fetch_add(1, Ordering::Relaxed) })
            };
            match what {
                Do::Answer(text) if stream.write_all(text.as_bytes()).is_ok() => {}
                Do::Nothing => {}
                _ => return,
            }
        }
        match stream.read(&mut piece) {
            Ok(length) if length > 0 => input.extend_from_slice(&piece[..length]),
            _ => return,
        }
    }
}

/// An answer that suits GET and SET.
pub(crate) fn usual(ask: &Ask) -> Do {
    Do::Answer(if ask.words[0] == "SET" { "+OK\r\n".into() } else { "$1\r\nx\r\n".into() })
}

/// Short runs of small values on four connections, without warm-up, against `addresses`: regions a, b, ….
pub(crate) fn plan(workload: &str, addresses: &[&str], limit: Limit) -> Plan {
    let regions = addresses
        .iter()
        .zip('a'..)
        .map(|(address, name)| Region { name: name.to_string(), addresses: vec![address.to_string()] });
    let mut workload = Workload::named(workload).unwrap();
    workload.set("value-bytes", "16").unwrap();
    workload.set("keys", "1000").unwrap();
    let mut plan = Plan::new(regions.collect(), workload);
    (plan.connections, plan.threads, plan.warm_up, plan.limit) = (4, 2, Duration::ZERO, limit);
    plan.timeout = PATIENCE;
    plan
}

/// Plays a plan that can be played.
#[track_caller]
pub(crate) fn play(plan: &Plan) -> Report {
    let report = run(plan, &Stop::default(), &mut |_| {}).unwrap();
    println!("{}", report.text());
    report
}

/// Plays a plan that can be played until it is `enough`, which is asked every now and then.
#[track_caller]
pub(crate) fn play_until(plan: &Plan, mut enough: impl FnMut(&Tick) -> bool) -> Report {
    let stop = Stop::default();
    let report = run(plan, &stop.clone(), &mut |tick| {
        if enough(tick) {
            stop.ask();
        }
    });
    let report = report.unwrap();
    println!("{}", report.text());
    report
}

/// Plays a plan for a second, and for longer and longer, until it was `enough`.
#[track_caller]
pub(crate) fn play_enough(mut plan: Plan, enough: impl Fn(&Report) -> bool) -> Report {
    let mut time = Duration::from_secs(1);
    loop {
        plan.limit = Limit::Time(time);
        let report = play(&plan);
        if enough(&report) {
            return report;
        }
        assert!(time < PATIENCE, "not enough in {time:?}");
        time *= 2;
    }
}

/// How many operations of a kind were answered.
pub(crate) fn answered(report: &Report, kind: &str) -> u64 {
    report.summary.operations.get(kind).map_or(0, |latency| latency.count)
}
