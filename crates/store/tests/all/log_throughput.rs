//! What an append costs. Not a test of anything: run it with
//! `cargo test --release -p tidemark-store --test all log_throughput -- --ignored --nocapture`.

use std::sync::Arc;
use std::time::Instant;

use tidemark_store::disk::RealDisk;
use tidemark_store::log::{Log, LogConfig, Position};

#[test]
#[ignore = "a measurement"]
fn appends() {
    let payload = [7_u8; 100];
    let records = 1_000_000_u64;
    for batch in [1, 16, 128] {
        for _ in 0..3 {
            let directory = tempfile::tempdir().unwrap();
            let disk = Arc::new(RealDisk::open(directory.path()).unwrap());
            let (mut log, _) = Log::open(disk.clone(), LogConfig::new(1)).unwrap();
            let begun = Instant::now();
            for seq in 0..records {
                log.append(1, 0, seq, |buffer| buffer.extend_from_slice(&payload)).unwrap();
                if seq % batch == batch - 1 {
                    log.flush().unwrap();
                }
            }
            log.flush().unwrap();
            let append = begun.elapsed();
            let begun = Instant::now();
            let mut cursor = log.cursor(Position::START).unwrap();
            let mut read = 0;
            while log.read(&mut cursor).unwrap().is_some() {
                read += 1;
            }
            let cursor = begun.elapsed();
            assert_eq!(read, records);
            log.sync().unwrap();
            drop(log);
            let begun = Instant::now();
            let (_, report) = Log::open(disk, LogConfig::new(1)).unwrap();
            let open = begun.elapsed();
            assert_eq!(report.records, records);
            let each = |time: std::time::Duration| time.as_nanos() as f64 / records as f64;
            println!(
                "batches of {batch:3}: append {:.0} ns a record ({:.0} MB/s), read {:.0} ns, open {:.0} ns",
                each(append),
                120e3 / each(append),
                each(cursor),
                each(open)
            );
        }
    }
}
