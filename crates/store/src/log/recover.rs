//! Opening a log: find its segments, read it from where replay begins, cut a torn tail, refuse damage, and begin a new
//! segment above everything that was there.
//!
//! The steps, and why a crash between any two of them does no harm:
//!
//! 1. Segments are found by their headers. What is not reachable (a spare made ahead, what followed a cut) is an orphan.
//! 2. Frames are read from the segment that holds `replay_from` along the seals, up to the first place without a good
//!    frame. The log ends at the last commit frame before it.
//! 3. All bytes after that place are searched for commit frames that call a later position durable: then it is damage.
//! 4. What no commit frame calls durable is written again and synced (I5 of [`super`]).
//! 5. A new segment is made, above all others, planned ones too; on a full disk of the ballast. Until the seal is written it is an orphan.
//! 6. The seal is written at the cut, and the rest of that file is given back. A torn seal is a torn tail.
//! 7. Orphans are removed. One that comes back is an orphan again.

use std::collections::VecDeque;
use std::sync::Arc;

use super::reader::{FrameReader, Next, holds_a_batch};
use super::report::{Cut, RecoveryReport};
use super::segment::{self, Segment, SegmentHeader};
use super::{LogConfig, LogError, LogResult, Position, ballast, frame};
use crate::disk::Disk;

const CHUNK: usize = 256 * 1024;

/// How far the frames go.
struct Scan {
    /// Indices of the segments read, in order.
    chain: Vec<usize>,
    /// The end of the last commit frame, and the index of its segment.
    committed: (Position, usize),
    marked: Position,
    records: u64,
    batches: u64,
    /// Where reading stopped, in the last segment of the chain, and why.
    stop: Position,
    detail: &'static str,
}

pub(super) fn recover(
    disk: &Arc<dyn Disk>,
    config: &LogConfig,
) -> LogResult<(VecDeque<Segment>, RecoveryReport)> {
    let found = find_segments(&**disk, config)?;
    if found.is_empty() {
        return create(&**disk, config);
    }
    let base = find_base(&found, config)?;
    let scan = scan(&found, base, config)?;
    let last_byte = search_marks(&found, &scan, config)?;
    let (end, cut_at) = scan.committed;
    if end < config.replay_from {
        return Err(LogError::EndsBeforeSnapshot { end, replay_from: config.replay_from });
    }
    let cut_segment = &found[cut_at];
    let cut = (last_byte > end.0).then(|| Cut {
        file: segment::name_of(cut_segment.header.number),
        offset: end.0 - cut_segment.header.first,
        bytes: last_byte - end.0,
        detail: scan.detail,
    });

    let chain: Vec<usize> = scan.chain.iter().copied().take_while(|&i| i <= cut_at).collect();
    rewrite(&found, &chain, scan.marked, end)?;
    let kept = keep(&found, &chain);
    let new = begin(&**disk, &found, &kept, cut_segment, config)?;
    seal(cut_segment, end, new.header.number)?;

    let orphans = remove_orphans(&**disk, &found, &kept)?;
    let mut segments: VecDeque<Segment> = kept.iter().map(|&i| found[i].clone()).collect();
    segments.push_back(new);
    let report = RecoveryReport {
        created: false,
        oldest: oldest(&segments[0].header),
        end,
        marked: scan.marked,
        records: scan.records,
        batches: scan.batches,
        cut,
        orphans,
    };
    Ok((segments, report))
}

fn oldest(header: &SegmentHeader) -> Position {
    if header.first == 0 { Position::START } else { header.data_start() }
}

fn full_or_disk(error: crate::disk::DiskError) -> LogError {
    if error.is_no_space() { LogError::Full(error) } else { LogError::Disk(error) }
}

fn create(disk: &dyn Disk, config: &LogConfig) -> LogResult<(VecDeque<Segment>, RecoveryReport)> {
    if !config.may_create || config.replay_from != Position::START {
        return Err(LogError::NoLog);
    }
    let header = SegmentHeader {
        incarnation: config.incarnation,
        number: 1,
        first: 0,
        capacity: config.segment_bytes,
        previous: 0,
    };
    let segment = segment::create(disk, header).map_err(full_or_disk)?;
    let report = RecoveryReport {
        created: true,
        oldest: Position::START,
        end: header.data_start(),
        marked: Position::START,
        records: 0,
        batches: 0,
        cut: None,
        orphans: 0,
    };
    Ok((VecDeque::from([segment]), report))
}

/// All segments of the directory by number. Temporaries are removed.
fn find_segments(disk: &dyn Disk, config: &LogConfig) -> LogResult<Vec<Segment>> {
    ballast::clean(disk)?;
    let mut found = Vec::new();
    for name in disk.list()? {
        if segment::is_temporary(&name) {
            disk.remove(&name)?;
        } else if segment::number_of(&name).is_some() {
            let file = disk.open(&name)?;
            let header = SegmentHeader::read(&*file, &name, config.incarnation)?;
            found.push(Segment { header, file });
        }
    }
    found.sort_by_key(|s| s.header.number);
    for pair in found.windows(2) {
        if pair[1].header.first < pair[0].header.end() {
            return Err(LogError::HeaderDamaged {
                file: segment::name_of(pair[1].header.number),
                detail: "it covers positions of the segment before it",
            });
        }
    }
    Ok(found)
}

fn find_base(found: &[Segment], config: &LogConfig) -> LogResult<usize> {
    if let Some(base) = found.iter().position(|s| s.header.covers(config.replay_from)) {
        return Ok(base);
    }
    let newest = found.last().expect("called with segments").header;
    if newest.end() <= config.replay_from.0 {
        let end = Position(newest.end());
        return Err(LogError::EndsBeforeSnapshot { end, replay_from: config.replay_from });
    }
    let after = found.iter().find(|s| s.header.first > config.replay_from.0).expect("the newest is");
    Err(LogError::MissingSegment {
        file: segment::name_of(after.header.previous.max(1)),
        detail: format!("replay begins at position {}, which no segment here holds", config.replay_from),
    })
}

/// Step 2.
fn scan(found: &[Segment], base: usize, config: &LogConfig) -> LogResult<Scan> {
    let header = found[base].header;
    let mut at = base;
    let mut scan = Scan {
        chain: vec![base],
        committed: (header.data_start(), base),
        marked: config.replay_from,
        records: 0,
        batches: 0,
        stop: header.data_start(),
        detail: "",
    };
    let mut reader =
        FrameReader::new(found[at].file.clone(), config.incarnation, header.first, segment::HEADER);
    let mut open = 0;
    loop {
        let header = found[at].header;
        match reader.next(header.capacity)? {
            Next::Frame(frame, _) => match frame.kind {
                frame::KIND_COMMIT => {
                    scan.committed = (Position(header.first + reader.offset()), at);
                    scan.marked = scan.marked.max(Position(frame.seq));
                    scan.batches += 1;
                    scan.records += std::mem::take(&mut open);
                }
                frame::KIND_SEAL => {
                    at = follow(found, at, frame.seq)?;
                    scan.chain.push(at);
                    reader.switch(found[at].file.clone(), found[at].header.first, segment::HEADER);
                }
                _ => open += 1,
            },
            Next::End => {
                scan.detail = "the last batch was not finished";
                break;
            }
            Next::Bad(detail) => {
                scan.detail = detail;
                break;
            }
        }
    }
    scan.stop = Position(found[at].header.first + reader.offset());
    Ok(scan)
}

/// The segment that a seal names. It was durable before the seal was written, so it has to exist.
fn follow(found: &[Segment], at: usize, number: u64) -> LogResult<usize> {
    let from = found[at].header.number;
    match found.binary_search_by_key(&number, |s| s.header.number) {
        Ok(next) if found[next].header.previous == from => Ok(next),
        Ok(_) => Err(LogError::HeaderDamaged {
            file: segment::name_of(number),
            detail: "it does not follow the segment that names it",
        }),
        Err(_) => Err(LogError::MissingSegment {
            file: segment::name_of(number),
            detail: format!("{} says that the log continues there", segment::name_of(from)),
        }),
    }
}

/// Step 3: refuses when anything behind `scan.stop` says that more was durable. Returns the position after the last
/// byte that is not zero (or the end of the committed data).
fn search_marks(found: &[Segment], scan: &Scan, config: &LogConfig) -> LogResult<u64> {
    let stopped = *scan.chain.last().expect("a chain has its base");
    let corrupt = |synced| LogError::Corrupt {
        file: segment::name_of(found[stopped].header.number),
        offset: scan.stop.0 - found[stopped].header.first,
        detail: scan.detail,
        synced,
    };
    if scan.stop < scan.marked {
        return Err(corrupt(scan.marked));
    }
    let mut last_byte = scan.stop.0;
    for (i, segment) in found.iter().enumerate().skip(stopped) {
        let from = if i == stopped { scan.stop.0 - segment.header.first } else { segment::HEADER };
        // A seal is written again if what it led to has no whole batch, and that may tear it. Nothing stands between it and there.
        let follows =
            scan.stop == scan.committed.0 && segment.header.previous == found[stopped].header.number;
        let known = match follows && !holds_a_batch(segment, config.incarnation)? {
            true => segment.header.data_start(),
            false => scan.stop,
        };
        let (mark, last) = search_segment(segment, from, known, config.incarnation)?;
        if let Some(mark) = mark {
            return Err(corrupt(mark));
        }
        last_byte = last_byte.max(last);
    }
    Ok(last_byte)
}

/// Looks at every byte from `offset` on, since the frames' boundaries are lost.
fn search_segment(
    segment: &Segment,
    mut offset: u64,
    stop: Position,
    incarnation: u64,
) -> LogResult<(Option<Position>, u64)> {
    let mut last_byte = 0;
    let more_than_is_left = segment.header.capacity.saturating_sub(offset) as usize + frame::HEADER + 1;
    let mut buffer = vec![0; CHUNK.min(more_than_is_left)];
    loop {
        let n = segment.file.read_at(offset, &mut buffer)?;
        let bytes = &buffer[..n];
        if let Some(last) = frame::last_used(bytes) {
            let base = segment.header.first + offset;
            last_byte = base + last as u64 + 1;
            for range in frame::commit_candidates(bytes) {
                let position = base + range.start as u64;
                if let frame::Parsed::Frame(header) =
                    frame::parse(&bytes[range], frame::HEADER as u64, incarnation, position)
                    && header.seq > stop.0
                {
                    return Ok((Some(Position(header.seq)), last_byte));
                }
            }
        }
        if n < buffer.len() {
            return Ok((None, last_byte));
        }
        offset += (n - frame::HEADER) as u64; // chunks overlap, for a frame that lies across the boundary
    }
}

/// Step 4.
fn rewrite(found: &[Segment], chain: &[usize], marked: Position, end: Position) -> LogResult<()> {
    let mut buffer = vec![0; CHUNK.min(end.0.saturating_sub(marked.0) as usize)];
    for &i in chain {
        let Segment { header, file } = &found[i];
        let mut offset = marked.0.max(header.first).min(header.end()) - header.first;
        let until = end.0.min(header.end()) - header.first;
        if offset >= until {
            continue;
        }
        while offset < until {
            let n = (until - offset).min(CHUNK as u64) as usize;
            let n = file.read_at(offset, &mut buffer[..n])?;
            if n == 0 {
                break;
            }
            file.write_at(offset, &buffer[..n])?;
            offset += n as u64;
        }
        file.sync()?;
    }
    Ok(())
}

/// Step 5. What is not kept has no whole batch, and may make room.
fn begin(
    disk: &dyn Disk,
    found: &[Segment],
    kept: &VecDeque<usize>,
    cut: &Segment,
    config: &LogConfig,
) -> LogResult<Segment> {
    let newest = found.last().expect("a log was found").header;
    let header = SegmentHeader {
        incarnation: config.incarnation,
        number: config.used.number.max(newest.number + 1),
        first: config.used.first.max(newest.end()),
        capacity: config.segment_bytes,
        previous: cut.header.number,
    };
    let dead = found.iter().enumerate().filter(|(at, _)| !kept.contains(at)).map(|(_, segment)| segment);
    ballast::next_segment(disk, header, &dead.collect::<Vec<_>>())
}

/// Step 6.
fn seal(segment: &Segment, end: Position, next: u64) -> LogResult<()> {
    let mut bytes = Vec::with_capacity(frame::HEADER);
    frame::push_internal(&mut bytes, segment.header.incarnation, end.0, frame::KIND_SEAL, next);
    let offset = end.0 - segment.header.first;
    segment.file.write_at(offset, &bytes)?;
    segment.file.set_len(offset + bytes.len() as u64)?;
    segment.file.sync()?;
    Ok(())
}

/// The segments that stay: those read, and before them as far back as each one's predecessor is there.
fn keep(found: &[Segment], chain: &[usize]) -> VecDeque<usize> {
    let mut kept: VecDeque<usize> = chain.iter().copied().collect();
    loop {
        let previous = found[kept[0]].header.previous;
        match found.binary_search_by_key(&previous, |s| s.header.number) {
            Ok(i) => kept.push_front(i),
            Err(_) => return kept,
        }
    }
}

/// Step 7.
fn remove_orphans(disk: &dyn Disk, found: &[Segment], kept: &VecDeque<usize>) -> LogResult<usize> {
    let mut removed = 0;
    for (i, segment) in found.iter().enumerate() {
        if !kept.contains(&i) {
            disk.remove(&segment::name_of(segment.header.number))?;
            removed += 1;
        }
    }
    Ok(removed)
}
