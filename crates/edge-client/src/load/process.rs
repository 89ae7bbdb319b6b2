//! What a process uses, from `/proc`, and how many files it may open.

use super::LoadError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::io::{Error, ErrorKind, Result};

/// A process of this machine.
pub(super) struct Process {
    pid: u32,
}

impl Process {
    pub(super) fn of(pid: u32) -> std::result::Result<Self, LoadError> {
        let process = Self { pid };
        process.cpu().map_err(|why| LoadError::Process { pid, why })?;
        Ok(process)
    }

    /// Seconds of processors that it has used so far.
    pub(super) fn cpu(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        // The command stands in parentheses and may contain anything; user and system time are the 14th and 15th of all fields.
        let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split_whitespace().skip(11).take(2));
        let ticks: Option<Vec<u64>> =
            fields.and_then(|fields| fields.map(|field| field.parse().ok()).collect());
        let ticks = ticks.ok_or_else(|| Error::new(ErrorKind::InvalidData, "/proc is not as expected"))?;
        Ok(ticks.iter().sum::<u64>() as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// Bytes of memory that it has now (its resident set).
    pub(super) fn memory(&self) -> Result<u64> {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.pid))?;
        let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
        let pages = pages.ok_or_else(|| Error::new(ErrorKind::InvalidData, "/proc is not as expected"))?;
        Ok(pages * rustix::param::page_size() as u64)
    }
}

/// Lets this process open `needed` files, if the system allows that. Returns how many it may open.
pub(super) fn raise_open_files(needed: u64) -> u64 {
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= needed) {
        return now.current.unwrap_or(u64::MAX);
    }
    let wanted = Rlimit { current: Some(now.maximum.unwrap_or(needed).min(needed)), ..now };
    let _ = setrlimit(Resource::Nofile, wanted);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
