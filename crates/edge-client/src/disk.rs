//! Where a client keeps what outlives its process.

use std::io::Result;
use tidemark_edge::durable::{Durable, Row};
use tidemark_edge::file::ClientFile;

/// The disk of a client.
pub trait Disk {
    /// What is on it.
    fn state(&self) -> &Durable;

    /// Makes rows durable, together or not at all.
    ///
    /// # Errors
    /// They could not be written, and none of them is there.
    fn append(&mut self, rows: &[Row]) -> Result<()>;
}

impl Disk for ClientFile {
    fn state(&self) -> &Durable {
        Self::state(self)
    }

    fn append(&mut self, rows: &[Row]) -> Result<()> {
        Self::append(self, rows)
    }
}

/// Memory: for clients that begin anew with each process.
impl Disk for Durable {
    fn state(&self) -> &Durable {
        self
    }

    fn append(&mut self, rows: &[Row]) -> Result<()> {
        rows.iter().for_each(|row| self.apply(row));
        Ok(())
    }
}
