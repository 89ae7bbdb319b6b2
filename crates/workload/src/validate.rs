//! Whether a description makes sense, by itself and for a store.

use crate::{Choice, Names, Pattern, Workload, WorkloadError};

/// The longest value: what servers of the Redis protocol take.
const VALUE_BYTES_MAX: usize = 512 << 20;

impl Pattern {
    /// The proportions of a social network with their names, and their sum.
    fn social_shares(&self) -> (Vec<(&'static str, f64)>, f64) {
        let Self::Social { read_wall, see_friends, message, post_status, add_friend, .. } = *self else {
            return (Vec::new(), 1.0);
        };
        let shares = [
            ("read-wall", read_wall),
            ("see-friends", see_friends),
            ("message", message),
            ("post-status", post_status),
            ("add-friend", add_friend),
        ];
        (shares.to_vec(), shares.iter().map(|(_, share)| share).sum())
    }
}

impl Workload {
    /// Whether the numbers make sense. Says which does not, and what would.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let share = |setting: &str, share: f64| match (0.0..=1.0).contains(&share) {
            true => Ok(()),
            false => Err(self.bad(setting, format!("a share is from 0 to 1, not {share}"))),
        };
        let one = |setting: &str, number: u64| match number {
            0 => Err(self.bad(setting, "at least 1".into())),
            _ => Ok(()),
        };
        one("keys", self.keys)?;
        one("value-bytes", self.value_bytes as u64)?;
        if self.value_bytes > VALUE_BYTES_MAX {
            return Err(
                self.bad("value-bytes", format!("at most {VALUE_BYTES_MAX}, not {}", self.value_bytes))
            );
        }
        if !(self.skew >= 0.0 && self.skew.is_finite()) {
            return Err(self.bad("skew", format!("a number from 0 (uniform) on, not {}", self.skew)));
        }
        share("locality", self.locality)?;
        one("locality-keys", self.locality_keys)?;
        share("remote", self.remote)?;
        self.guarantees()?;
        if self.checking().contains(&"") {
            return Err(self.bad("checking", "names of groups between commas, or *".into()));
        }
        match &self.pattern {
            Pattern::Mix { read, update, insert, scan, read_modify_write, scan_length, .. } => {
                let shares = [
                    ("read", read),
                    ("update", update),
                    ("insert", insert),
                    ("scan", scan),
                    ("read-modify-write", read_modify_write),
                ];
                shares.iter().try_for_each(|(setting, value)| share(setting, **value))?;
                let sum: f64 = shares.iter().map(|(_, share)| **share).sum();
                if (sum - 1.0).abs() > 1e-6 {
                    let names = "read, update, insert, scan and read-modify-write";
                    return Err(
                        self.bad("read", format!("{names} sum to {sum}, not to 1: set all that change"))
                    );
                }
                one("scan-length", u64::from(*scan_length))?;
            }
            Pattern::Social { friends, .. } => self.validate_social(*friends, share)?,
            Pattern::Transactions { write_share, span } => {
                share("write-share", *write_share)?;
                one("span", *span as u64)?;
            }
            Pattern::Ratio { reads, writes } => {
                if reads + writes == 0 {
                    return Err(self.bad("reads", "a request needs a read or a write".into()));
                }
            }
            Pattern::Snapshots { span } => one("span", *span as u64)?,
            Pattern::Amplified { factor, .. } => one("factor", u64::from(*factor))?,
            Pattern::Turns { .. } | Pattern::Apps { .. } if self.remote > 0.0 => {
                return Err(
                    self.bad("remote", "0: a client that waits for another's turn waits at home".into())
                );
            }
            Pattern::Turns { poll_us, .. } | Pattern::Apps { poll_us, .. } => one("poll-us", *poll_us)?,
            Pattern::Rounds {} | Pattern::RoundRobin {} | Pattern::Alternate { .. } => {}
        }
        self.validate_choice()
    }

    fn validate_social(
        &self,
        friends: u32,
        share: impl Fn(&str, f64) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        let (shares, sum) = self.pattern.social_shares();
        shares.iter().try_for_each(|(setting, value)| share(setting, *value))?;
        if (sum - 1.0).abs() > 1e-6 {
            let names = "read-wall, see-friends, message, post-status and add-friend";
            return Err(self.bad("read-wall", format!("{names} sum to {sum}, not to 1")));
        }
        let users = self.keys / crate::social::OBJECTS;
        match (1..users).contains(&u64::from(friends)) {
            true => Ok(()),
            false => Err(self.bad("friends", format!("1 or more, and fewer than the {users} users"))),
        }
    }

    /// Patterns that choose partitions need names that have one, and choose within it.
    fn validate_choice(&self) -> Result<(), WorkloadError> {
        if let Pattern::Mix { .. } = self.pattern {
            return Ok(());
        }
        if let Pattern::Social { .. } = self.pattern {
            return match (self.names, self.choice) {
                (Names::Ycsb, Choice::Uniform) => Ok(()),
                (Names::Tagged, _) => {
                    Err(self.bad("names", "\"ycsb\": objects of users lie anywhere".into()))
                }
                _ => Err(self.bad("choice", "\"uniform\": users are equally popular".into())),
            };
        }
        if self.names == Names::Ycsb {
            return Err(
                self.bad("names", "this workload chooses partitions, so its names are \"tagged\"".into())
            );
        }
        if self.choice == Choice::Latest {
            return Err(
                self.bad("choice", "\"uniform\" or \"zipfian\": only YCSB's mixes read the latest".into())
            );
        }
        if self.locality > 0.0 {
            return Err(
                self.bad("locality", "0: only YCSB's mixes have sessions with keys of their own".into())
            );
        }
        Ok(())
    }

    /// Whether the description also fits a store of `partitions` partitions.
    pub fn validate_for(&self, partitions: usize) -> Result<(), WorkloadError> {
        self.validate()?;
        let misfit = |reason: String| Err(WorkloadError::DoesNotFit { workload: self.name.clone(), reason });
        if !(1..=usize::from(tidemark_core::SLOTS)).contains(&partitions) {
            return misfit(format!("a store has 1 to {} partitions, not {partitions}", tidemark_core::SLOTS));
        }
        if self.keys < partitions as u64 && self.names == Names::Tagged {
            let keys = self.keys;
            return misfit(format!("{keys} keys do not suffice for {partitions} partitions: set `keys`"));
        }
        match self.pattern {
            Pattern::Transactions { span, .. } if span > partitions => misfit(format!(
                "a transaction spans {span} partitions, and there are {partitions}: set `span` to at most {partitions}"
            )),
            Pattern::Turns { partition, .. } | Pattern::Apps { partition, .. } if partition >= partitions => {
                misfit(format!(
                    "there is no partition {partition}: set `partition` to less than {partitions}"
                ))
            }
            _ => Ok(()),
        }
    }

    /// Whether so many clients can play it in a store of `partitions` partitions.
    pub fn validate_clients(&self, clients: usize, partitions: usize) -> Result<(), WorkloadError> {
        let misfit = |reason: String| Err(WorkloadError::DoesNotFit { workload: self.name.clone(), reason });
        let keys = self.keys / partitions.max(1) as u64;
        let keys_needed = clients.div_ceil(2) as u64 * self.pattern.keys_of_a_pair();
        if self.waits() && clients % 2 == 1 {
            return misfit(format!("of {clients} clients, one would have no partner: take an even number"));
        }
        match keys_needed > keys {
            true => misfit(format!("{clients} clients need {keys_needed} keys in a partition: set `keys`")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str, setting: &str, value: &str) -> String {
        let mut workload = Workload::named(name).unwrap();
        workload.set(setting, value).unwrap_err().to_string()
    }

    #[test]
    fn every_named_workload_makes_sense_and_survives_being_written_down() {
        for (name, line) in Workload::catalogue() {
            let workload = Workload::named(name).unwrap();
            workload.validate_for(8).unwrap();
            assert_eq!(workload.name, *name);
            assert!(!line.is_empty());
            let written = serde_json::to_string(&workload).unwrap();
            assert_eq!(serde_json::from_str::<Workload>(&written).unwrap(), workload, "{written}");
        }
    }

    #[test]
    fn a_description_is_a_base_and_what_differs() {
        let text = r#"{"base": "ycsb-a", "read": 0.75, "update": 0.25, "value-bytes": 64, "name": "mine"}"#;
        let workload: Workload = serde_json::from_str(text).unwrap();
        assert_eq!((workload.value_bytes, workload.name.as_str(), workload.keys), (64, "mine", 100_000));
        assert!(matches!(workload.pattern, Pattern::Mix { read: 0.75, update: 0.25, .. }));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        let unknown = Workload::named("ycsb-g").unwrap_err().to_string();
        assert!(unknown.contains("ycsb-a") && unknown.contains("\"ycsb-g\""), "{unknown}");
        let cases = [
            ("ycsb-a", "write-share", "0.1", "no setting"),
            ("ycsb-a", "read", "0.6", "sum to 1.1"),
            ("ycsb-a", "read", "1.5", "0 to 1"),
            ("ycsb-a", "skew", "-1", "from 0"),
            ("ycsb-a", "keys", "0", "at least 1"),
            ("ycsb-a", "keys", "many", "invalid type"),
            ("ycsb-a", "choice", "zipf", "unknown variant"),
            ("ycsb-a", "pattern", "rounds", "another"),
            ("ycsb-a", "remote", "1.1", "0 to 1"),
            ("ycsb-a", "read-guarantee", "writes-follow-reads", "monotonic-read, read-your-writes"),
            ("ycsb-a", "write-guarantee", "causal", "writes-follow-reads, monotonic-writes"),
            ("transactions", "write-share", "2", "0 to 1"),
            ("transactions", "span", "0", "at least 1"),
            ("transactions", "names", "ycsb", "tagged"),
            ("rounds", "choice", "latest", "uniform"),
            ("rounds", "locality", "0.5", "sessions"),
            ("amplified", "factor", "0", "at least 1"),
            ("ycsb-a", "checking", "left,", "between commas"),
            ("turns", "poll-us", "0", "at least 1"),
            ("turns", "remote", "0.5", "waits at home"),
            ("social", "read-wall", "0.9", "sum to 1.1"),
            ("social", "friends", "0", "1 or more"),
            ("social", "choice", "zipfian", "uniform"),
            ("apps", "poll-us", "0", "at least 1"),
            ("apps", "remote", "0.5", "waits at home"),
            ("apps", "swap-after-us", "-1", "invalid"),
        ];
        for (name, setting, value, reason) in cases {
            let refusal = refusal(name, setting, value);
            assert!(
                refusal.contains(reason) && refusal.contains(setting),
                "{name} {setting}={value}: {refusal}"
            );
        }
        for (text, reason) in [
            (r#"{"keys": 3}"#, "needs `base`"),
            (r#"{"base": "ycsb-a", "colour": 3}"#, "no setting \"colour\""),
        ] {
            let refusal = serde_json::from_str::<Workload>(text).unwrap_err().to_string();
            assert!(refusal.contains(reason), "{refusal}");
        }
    }

    #[test]
    fn what_does_not_fit_the_store_is_refused() {
        let transactions = Workload::named("transactions").unwrap();
        let refusal = transactions.validate_for(2).unwrap_err().to_string();
        assert!(refusal.contains("spans 4 partitions, and there are 2"), "{refusal}");
        let mut turns = Workload::named("turns").unwrap();
        turns.set("partition", "2").unwrap();
        assert!(turns.validate_for(2).unwrap_err().to_string().contains("no partition 2"));
        turns.set("keys", "6").unwrap();
        turns.validate_clients(2, 3).unwrap();
        assert!(turns.validate_clients(1, 3).unwrap_err().to_string().contains("even"));
        assert!(turns.validate_clients(4, 3).unwrap_err().to_string().contains("4 keys"));
        let mut apps = Workload::named("apps").unwrap();
        apps.set("partition", "2").unwrap();
        assert!(apps.validate_for(2).unwrap_err().to_string().contains("no partition 2"));
        apps.set("keys", "18").unwrap();
        apps.validate_clients(4, 3).unwrap();
        assert!(apps.validate_clients(3, 3).unwrap_err().to_string().contains("even"));
        assert!(apps.validate_clients(6, 3).unwrap_err().to_string().contains("need 9 keys in a partition"));
        let mut few = Workload::named("rounds").unwrap();
        few.set("keys", "3").unwrap();
        assert!(few.validate_for(4).unwrap_err().to_string().contains("3 keys do not suffice"));
        assert!(few.validate_for(0).is_err());
    }
}
