//! A file of the size of a segment, beside the log: on a full disk the next opening makes its segment of it, so that a server that
//! was killed there starts. While it is missing, writes are refused, and it is made anew as soon as there is room.

use std::sync::Arc;

use super::segment::{self, Segment, SegmentHeader};
use super::{Log, LogConfig, LogError, LogResult};
use crate::disk::{Disk, DiskError, DiskErrorKind, DiskResult};

/// The name of the file.
pub const BALLAST: &str = "ballast";
const TEMPORARY: &str = "ballast.tmp";
/// The smallest segment that an opening makes.
const SMALLEST: u64 = 512;

/// Whether there is ballast.
#[derive(Debug)]
pub(super) enum Ballast {
    There,
    /// Why there is none.
    Missing(DiskError),
    /// A job makes it.
    Making(DiskError),
}

impl Ballast {
    /// Makes it, if it is not there.
    ///
    /// # Errors
    /// `Disk`: another failure than a full disk.
    pub(super) fn at_opening(disk: &dyn Disk, config: &LogConfig) -> LogResult<Self> {
        match make_ballast(disk, config.segment_bytes) {
            Ok(()) => Ok(Self::There),
            Err(error) if error.is_no_space() => Ok(Self::Missing(error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns an error if nothing may be written.
    pub(super) fn check(&self) -> LogResult<()> {
        match self {
            Self::There => Ok(()),
            Self::Missing(error) | Self::Making(error) => Err(LogError::Full(error.clone())),
        }
    }
}

/// Makes the ballast of a log with segments of `bytes` bytes, durable when this returns, unless it is there.
///
/// # Errors
/// `NoSpace`, `Io`; no file is left behind.
pub fn make_ballast(disk: &dyn Disk, bytes: u64) -> DiskResult<()> {
    if disk.list()?.iter().any(|name| name == BALLAST) {
        return Ok(());
    }
    remove(disk, TEMPORARY)?;
    let file = disk.create(TEMPORARY, bytes)?;
    let made = file.sync().and_then(|()| disk.rename(TEMPORARY, BALLAST)).and_then(|()| disk.sync_dir());
    made.inspect_err(|_| drop(disk.remove(TEMPORARY)))
}

/// Removes what is left of ballast whose making was interrupted.
pub(super) fn clean(disk: &dyn Disk) -> DiskResult<()> {
    remove(disk, TEMPORARY)
}

fn remove(disk: &dyn Disk, name: &str) -> DiskResult<()> {
    match disk.remove(name) {
        Err(error) if error.kind != DiskErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes an opening's segment, durable when this returns. On a full disk that is the ballast; without any it takes the place of `dead`
/// segments, and a smaller one will do: a server must be able to start in order to be read and cleaned.
pub(super) fn next_segment(
    disk: &dyn Disk,
    mut header: SegmentHeader,
    dead: &[&Segment],
) -> LogResult<Segment> {
    let mut cut = false;
    loop {
        match segment::create(disk, header) {
            Err(error) if !error.is_no_space() => return Err(error.into()),
            Err(error) => {
                if let Some(segment) = of_ballast(disk, header)? {
                    return Ok(segment);
                }
                if !std::mem::replace(&mut cut, true) {
                    // Their names stay: no position that they had is given again.
                    dead.iter().try_for_each(|segment| segment.file.set_len(segment::HEADER))?;
                } else if header.capacity / 2 >= SMALLEST {
                    header.capacity /= 2;
                } else {
                    return Err(LogError::Full(error));
                }
            }
            Ok(segment) => return Ok(segment),
        }
    }
}

/// Makes a segment of the ballast, whose space is reserved and empty: a header and another name are missing. Killed between the two, it is ballast still.
fn of_ballast(disk: &dyn Disk, header: SegmentHeader) -> DiskResult<Option<Segment>> {
    let file = match disk.open(BALLAST) {
        Err(error) if error.kind == DiskErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let header = SegmentHeader { capacity: file.size()?, ..header };
    if header.capacity < SMALLEST {
        return Ok(None);
    }
    file.write_at(0, &header.encode())?;
    file.sync()?;
    disk.rename(BALLAST, &segment::name_of(header.number))?;
    disk.sync_dir()?;
    Ok(Some(Segment { header, file }))
}

/// Makes ballast where that may block.
#[derive(Debug)]
#[must_use = "the log refuses writes until there is ballast"]
pub struct BallastJob {
    disk: Arc<dyn Disk>,
    bytes: u64,
}

/// Whether there is ballast now.
#[derive(Debug)]
#[must_use = "hand it to Log::ballast_made"]
pub struct BallastDone(DiskResult<()>);

impl BallastJob {
    /// Makes it; blocks for as long as the disk takes.
    pub fn run(self) -> BallastDone {
        BallastDone(make_ballast(&*self.disk, self.bytes))
    }
}

impl Log {
    /// A job that makes ballast, if it is missing: a driver asks each second. Its result is given to [`Self::ballast_made`].
    pub fn ballast_job(&mut self) -> Option<BallastJob> {
        let Ballast::Missing(error) = &self.ballast else { return None };
        self.ballast = Ballast::Making(error.clone());
        Some(BallastJob { disk: self.disk.clone(), bytes: self.config.segment_bytes })
    }

    /// Takes the result of such a job.
    pub fn ballast_made(&mut self, BallastDone(made): BallastDone) {
        self.ballast = match made {
            Ok(()) => Ballast::There,
            Err(error) => Ballast::Missing(error),
        };
    }
}
