//! Vector clocks, dense and pooled: one a session, and one for each version that is still to be read.

use crate::index::NONE;

/// Entry-wise maximum.
#[inline]
pub(super) fn join(into: &mut [u32], other: &[u32]) {
    for (mine, theirs) in into.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

pub(super) struct Clocks {
    columns: usize,
    sessions: Vec<u32>,
    /// Per version: its row in `pool`, or NONE.
    row: Vec<u32>,
    pool: Vec<u32>,
    /// Per row: how many reads are still to come.
    readers: Vec<u32>,
    free: Vec<u32>,
}

impl Clocks {
    pub(super) fn new(sessions: usize, columns: usize, versions: usize) -> Self {
        let (pool, readers, free) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            columns,
            sessions: vec![0; sessions * columns],
            row: vec![NONE; versions],
            pool,
            readers,
            free,
        }
    }

    #[inline]
    pub(super) fn of_session(&self, session: u32) -> &[u32] {
        &self.sessions[session as usize * self.columns..][..self.columns]
    }

    #[inline]
    pub(super) fn of_session_mut(&mut self, session: u32) -> &mut [u32] {
        &mut self.sessions[session as usize * self.columns..][..self.columns]
    }

    #[inline]
    pub(super) fn of_version(&self, version: u32) -> Option<&[u32]> {
        let row = self.row[version as usize];
        (row != NONE).then(|| &self.pool[row as usize * self.columns..][..self.columns])
    }

    /// Copies the clock of `session` for `version`, until it was released `readers` times.
    pub(super) fn keep(&mut self, session: u32, version: u32, readers: u32) -> &mut [u32] {
        let row = self.free.pop().unwrap_or_else(|| {
            self.pool.resize(self.pool.len() + self.columns, 0);
            self.readers.push(0);
            self.readers.len() as u32 - 1
        });
        self.row[version as usize] = row;
        self.readers[row as usize] = readers;
        let from = session as usize * self.columns;
        let clock = &mut self.pool[row as usize * self.columns..][..self.columns];
        clock.copy_from_slice(&self.sessions[from..from + self.columns]);
        clock
    }

    /// One of the reads of `version` has happened.
    pub(super) fn release(&mut self, version: u32) {
        let row = self.row[version as usize];
        if row == NONE {
            return;
        }
        self.readers[row as usize] -= 1;
        if self.readers[row as usize] == 0 {
            self.row[version as usize] = NONE;
            self.free.push(row);
        }
    }
}
