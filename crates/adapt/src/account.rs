//! What a controller tells of itself.

use crate::Settings;
use crate::controller::{Controller, Kept};
use crate::model::User;
use crate::watch::Touched;
use crate::words::names;
use serde::{Deserialize, Serialize};
use tidemark_core::Micros;

impl Controller {
    /// What it has decided, and what comes of it.
    pub fn account(&self) -> Account {
        let group = |(name, kept): (&String, &Kept)| {
            let user = |(touched, user): (&Touched, &User)| {
                let paid = self.paid(touched, user);
                let (reads, waits_us, older_us) = (user.reads(), paid.waits, paid.older);
                UserAccount { servers: touched.clone(), reads, waits_us, older_us }
            };
            GroupAccount {
                name: name.clone(),
                servers: kept.servers.clone(),
                why: kept.why.clone(),
                promised_us: kept.promised,
                saves_us: kept.saved,
                users: self.users_of(&kept.servers).map(user).collect(),
            }
        };
        Account {
            settings: self.settings,
            observed: self.observed,
            at: self.at,
            groups: self.kept.iter().map(group).collect(),
            changed: self.changed,
            changes: self.changes.iter().cloned().collect(),
        }
    }
}

/// What a controller has decided, and what comes of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    /// What it goes by.
    pub settings: Settings,
    /// How often it has looked.
    pub observed: u64,
    /// When it did last.
    pub at: Micros,
    /// Its groups.
    pub groups: Vec<GroupAccount>,
    /// How often it has changed something.
    pub changed: u64,
    /// What it changed, the latest last, and not all of it if that was long ago.
    pub changes: Vec<Change>,
}

/// One of the controller's groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupAccount {
    /// What it is called.
    pub name: String,
    /// Who is in it.
    #[serde(with = "names")]
    pub servers: Touched,
    /// Why it came.
    pub why: String,
    /// What it was to save, in microseconds of waiting for each read.
    pub promised_us: f64,
    /// What it does save, once that is known.
    pub saves_us: Option<f64>,
    /// Who uses it.
    pub users: Vec<UserAccount>,
}

/// Those who read at the same servers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserAccount {
    /// Where they read.
    #[serde(with = "names")]
    pub servers: Touched,
    /// How often in a second.
    pub reads: f64,
    /// How long each waits, in microseconds.
    pub waits_us: f64,
    /// How much older what they read is than if each server answered for itself, in microseconds, at most.
    pub older_us: f64,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// When, in microseconds of the clock of the observations.
    pub at: Micros,
    /// What, and why.
    pub what: String,
}
