//! Commands about the client itself, and its reports in words.

use super::session::{Session, print_line};
use super::show;
use crate::output::print;
use anyhow::bail;
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;
use tidemark_edge::client::{Report, Status};

/// Longer than anybody waits.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

impl Session {
    pub(super) async fn sync(&mut self) -> anyhow::Result<ExitCode> {
        let (mut before, wait) = (None, self.wait.unwrap_or(FOR_EVER));
        let delivered = async {
            loop {
                self.hear();
                let (pending, status) = (self.client().pending(), self.client().status());
                if pending == 0 {
                    return;
                }
                if status != Status::Connecting && before.replace(status) != Some(status) && !self.json {
                    eprintln!("{pending} pending, {}", in_a_word(status));
                }
                self.driver.step().await;
                if self.refused().is_some() || self.offline {
                    return;
                }
            }
        };
        let in_time = tokio::time::timeout(wait, delivered).await.is_ok();
        let pending = self.client().pending();
        if self.json {
            print_line(json!({ "pending": pending }).to_string().as_bytes());
        }
        match pending {
            0 => {
                if !self.json {
                    print("everything is delivered\n");
                }
                Ok(ExitCode::SUCCESS)
            }
            _ if in_time => bail!("{pending} pending: {}", self.why_not()),
            _ => bail!("{pending} pending, and the time is over"),
        }
    }

    pub(super) fn keys(&self) {
        for key in self.client().watched() {
            match self.json {
                true => print_line(json!({ "key": show::json_bytes(key) }).to_string().as_bytes()),
                false => print_line(key),
            }
        }
    }

    pub(super) async fn status(&mut self) {
        self.until(|client| client.base_regions() > 0).await;
        let client = self.client();
        let (status, welcome) = (client.status(), client.welcome());
        let cid: String = client.cid().iter().map(|byte| format!("{byte:02x}")).collect();
        let region = welcome.map(|welcome| String::from_utf8_lossy(&welcome.name).into_owned());
        let (pending, unsent, kept) = (client.pending(), client.unsent(), client.watched().count());
        let (wants, has) = (client.regions(), client.base_regions());
        if self.json {
            let state = json!({
                "status": in_a_word(status), "region": region, "gateway": self.driver.endpoint().to_string(),
                "folder": self.path, "client": cid, "base_us": client.base().newest_us(), "k": wants,
                "base_k": has, "isolated": client.is_isolated(), "pending": pending, "unsent": unsent, "keys": kept
            });
            return print_line(state.to_string().as_bytes());
        }
        let at = match region {
            Some(region) => {
                let isolated =
                    if client.is_isolated() { ", which is cut off from too many others" } else { "" };
                format!(" at region {region} ({}){isolated}", self.driver.endpoint())
            }
            None => format!(": {}", self.why_not()),
        };
        let base = match client.base().newest_us() {
            0 => "none yet".into(),
            _ if has == 0 => format!("{} old", self.age()),
            _ => format!("{} old, in {has} regions or more (K {wants})", self.age()),
        };
        print(&format!(
            "{}{at}\nbase     {base}\npending  {pending}, of which {unsent} are not delivered\nkeys     {kept} kept\n\
             folder   {}, client {cid}\n",
            in_a_word(status),
            self.path.display()
        ));
    }
}

pub(super) fn in_a_word(status: Status) -> &'static str {
    match status {
        Status::Offline => "offline",
        Status::Connecting => "connecting",
        Status::Behind => "behind",
        Status::Live => "live",
    }
}

pub(super) fn in_words(report: &Report) -> String {
    match report {
        Report::Refused { k, operation, code, text } => {
            let (code, text) = (String::from_utf8_lossy(code), String::from_utf8_lossy(text));
            format!("write {} of transaction {k} had no effect: {code} {text}", operation + 1)
        }
        Report::Forked { dropped } if dropped.is_empty() => {
            "a copy of this folder is in use elsewhere: this one goes on as a new client; nothing is lost"
                .into()
        }
        Report::Forked { dropped } => format!(
            "a copy of this folder is in use elsewhere: this one goes on as a new client. The transactions {dropped:?} are not sent \
             again; see whether the copy has delivered them"
        ),
        Report::Lost { k } => format!(
            "transactions of this client after {k}, which were delivered before, are lost: so were as many regions as K, or more. What is \
             not delivered yet goes on without them"
        ),
        Report::Error { code, text } => {
            format!("{}: {}", String::from_utf8_lossy(code), String::from_utf8_lossy(text))
        }
    }
}
