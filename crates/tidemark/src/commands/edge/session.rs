//! A client at work: commands carried out with its driver.

use super::folder::Folder;
use super::operations::operations;
use super::state::in_words;
use super::verbs::{Verb, all_bytes, bytes};
use super::writing::{counter_of, read_transaction};
use super::{Common, watch};
use crate::Usage;
use anyhow::Context;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use tidemark_edge::client::{Client, Effect, Event, Report, Status};
use tidemark_edge::file::ClientFile;
use tidemark_edge::frames::Value;
use tidemark_edge_client::{Driver, Endpoint, Setup};

/// How long to wait for a gateway, if nothing else is said.
const WAIT: Duration = Duration::from_secs(5);

pub(super) struct Session {
    pub(super) driver: Driver<ClientFile>,
    pub(super) json: bool,
    pub(super) changed: BTreeSet<Bytes>,
    pub(super) path: PathBuf,
    pub(super) wait: Option<Duration>,
    pub(super) offline: bool,
    endpoints: Vec<Endpoint>,
    /// Whether other commands follow, so that nothing has to be delivered before the next one.
    pub(super) goes_on: bool,
    /// How many gateways were tried in vain since one took the client.
    failures: usize,
    /// Why gateways do not take the client, if they have said so.
    refused: Option<String>,
    /// A region has refused a part of what was written.
    without_effect: bool,
}

impl Session {
    /// Begins to connect.
    pub(super) fn start(folder: Folder, common: &Common) -> Self {
        let Folder { path, file, endpoints } = folder;
        let setup = Setup {
            endpoints: endpoints.clone().into(),
            token: common.token(),
            lowers: common.lower,
            keep_values: true,
        };
        let mut driver = Driver::new(file, setup);
        let regions = common.regions.filter(|regions| *regions != driver.client().regions());
        if let Some(regions) = regions {
            driver.tell(Event::SetRegions { regions });
        }
        if !common.offline {
            driver.tell(Event::Start);
        }
        Self {
            driver,
            json: common.json,
            changed: BTreeSet::new(),
            path,
            endpoints,
            wait: common.wait,
            offline: common.offline,
            goes_on: false,
            failures: 0,
            refused: None,
            without_effect: false,
        }
    }

    /// Other commands follow.
    pub(super) fn going_on(mut self) -> Self {
        self.goes_on = true;
        self
    }

    pub(super) fn client(&self) -> &Client {
        self.driver.client()
    }

    pub(super) async fn run(&mut self, verb: Verb) -> anyhow::Result<ExitCode> {
        match verb {
            Verb::Get { keys } => self.get(&all_bytes(keys)).await?,
            Verb::Hget { key, field } => self.hget(bytes(key), bytes(field)).await?,
            Verb::Hgetall { key } => self.all_of(bytes(key), "a hash").await?,
            Verb::Smembers { key } => self.all_of(bytes(key), "a set").await?,
            Verb::Lrange { key, start, stop } => self.lrange(bytes(key), start, stop).await?,
            Verb::Write(write) => {
                let counter = counter_of(&write);
                self.write(operations(write)?, counter).await?;
            }
            Verb::Tx { writes } => {
                let all = read_transaction(writes, self.goes_on)?;
                self.write(all, None).await?;
            }
            Verb::Watch { keys, count } => {
                watch::run(self, all_bytes(keys), count, std::future::pending()).await?;
            }
            Verb::Keys => self.keys(),
            Verb::Forget { keys } => {
                all_bytes(keys).into_iter().for_each(|key| self.driver.tell(Event::Unwatch { key }));
            }
            Verb::Status => self.status().await,
            Verb::Sync => return self.sync().await,
            Verb::Bench(_) => return Err(Usage("bench has a process of its own".into()).into()),
        }
        let whole = !std::mem::take(&mut self.without_effect);
        Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Takes note of what the client has told.
    pub(super) fn hear(&mut self) {
        for effect in self.driver.news() {
            match effect {
                Effect::Changed { keys } => self.changed.extend(keys),
                Effect::Status(Status::Offline) => self.failures += 1,
                Effect::Status(Status::Live) => (self.failures, self.refused) = (0, None),
                Effect::Report(Report::Error { code, text }) => {
                    let (code, text) = (String::from_utf8_lossy(&code), String::from_utf8_lossy(&text));
                    self.refused = Some(match &*code {
                        "NOAUTH" => "the gateway wants another password: give it with --password".into(),
                        _ => format!("the gateway says {code}: {text}"),
                    });
                }
                Effect::Report(report) => {
                    self.without_effect |= matches!(report, Report::Refused { .. });
                    eprintln!("{}", in_words(&report));
                }
                _ => {}
            }
        }
    }

    /// Waits until it is so. False if that is not to be expected: no gateway answers, or it takes too long.
    pub(super) async fn until(&mut self, done: impl Fn(&Client) -> bool) -> bool {
        let wait = self.wait.unwrap_or(WAIT);
        let reached = async {
            loop {
                self.hear();
                if done(self.driver.client()) {
                    return true;
                }
                if self.offline || self.failures >= self.endpoints.len() || self.refused.is_some() {
                    return false;
                }
                self.driver.step().await;
            }
        };
        tokio::time::timeout(wait, reached).await.unwrap_or(false)
    }

    /// Why gateways do not take the client, if they have said so.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Why there is no connection, in words.
    pub(super) fn why_not(&self) -> String {
        if self.offline {
            return "--offline was given".into();
        }
        if let Some(welcome) = self.client().welcome() {
            let region = String::from_utf8_lossy(&welcome.name);
            return format!("region {region} has not got so far yet");
        }
        let tried: Vec<String> = self.endpoints.iter().map(ToString::to_string).collect();
        self.refused.clone().unwrap_or_else(|| format!("no gateway answers at {}", tried.join(", ")))
    }

    /// The values of keys: those of now if a gateway answers, or else those that are kept.
    pub(super) async fn values(&mut self, keys: &[Bytes]) -> anyhow::Result<Vec<Value>> {
        for key in keys {
            self.driver.tell(Event::Watch { key: key.clone() });
        }
        let all = |client: &Client| keys.iter().all(|key| client.read(key).is_some());
        let fresh = self.until(|client| client.base_regions() > 0 && all(client)).await;
        let mut values = Vec::new();
        for key in keys {
            values.push(self.client().read(key).with_context(|| {
                let key = String::from_utf8_lossy(key);
                format!("{key} is not kept here, and cannot be asked for: {}", self.why_not())
            })?);
        }
        if !fresh {
            eprintln!("offline ({}): as of {} ago", self.why_not(), self.age());
        }
        Ok(values)
    }

    /// How old the base is, in words.
    pub(super) fn age(&self) -> String {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let base = Duration::from_micros(self.client().base().newest_us());
        let age = now.saturating_sub(base);
        humantime::format_duration(match age.as_secs() {
            0 => Duration::from_millis(age.as_millis() as u64),
            seconds => Duration::from_secs(seconds),
        })
        .to_string()
    }

    /// Waits until a region has accepted everything, and says if none has.
    pub(super) async fn deliver(&mut self) -> bool {
        let delivered = self.until(|client| client.unsent() == 0).await;
        if !delivered {
            let unsent = self.client().unsent();
            eprintln!(
                "not delivered yet: {unsent}, because {}; `tidemark edge sync` delivers",
                self.why_not()
            );
        }
        delivered
    }
}

/// Prints bytes as they are, and ends the line. A reader that has gone away is no error.
pub(super) fn print_line(line: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
}
