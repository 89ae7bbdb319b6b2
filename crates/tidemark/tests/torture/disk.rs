//! What is wrong with a data directory: a tail that was torn, records that were damaged, directories of others, two
//! processes, a disk that is full. A node either goes on from what is whole, or refuses and says what to do.

use crate::findings::{over, told};
use crate::harness::admin::{http, status};
use crate::harness::nodes::{Nodes, Plan};
use crate::harness::resp::Client;
use crate::harness::{Cluster, Scratch, said, wait_for};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tidemark_wire::resp::Reply;

/// Starts a node in the foreground; what it said when it refused.
fn refusal(nodes: &Nodes) -> String {
    let mut child = nodes.command(0).stderr(std::process::Stdio::piped()).spawn().expect("the program runs");
    wait_for("the node refuses to start", || child.try_wait().expect("a child"));
    let output = child.wait_with_output().expect("a child");
    assert!(!output.status.success(), "{}", said(&output));
    said(&output)
}

/// The newest segment that holds something, and where its data ends.
fn newest_segment(data: &Path) -> (PathBuf, u64) {
    let files = fs::read_dir(data).expect("the data directory").map(|entry| entry.expect("an entry").path());
    let mut segments: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "log")).collect();
    segments.sort();
    for segment in segments.into_iter().rev() {
        let bytes = fs::read(&segment).expect("a segment");
        if let Some(end) = bytes.iter().rposition(|byte| *byte != 0)
            && end > 200
        {
            return (segment, end as u64 + 1);
        }
    }
    panic!("no segment in {} holds anything", data.display());
}

fn overwrite(file: &Path, offset: u64, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).open(file).expect("the segment");
    file.write_all_at(bytes, offset).expect("the segment");
}

fn write_many(client: &mut Client, from: usize, to: usize) {
    for n in from..to {
        assert_eq!(
            client.ask(&["SET", &format!("key{n}"), &format!("value{n}")]),
            Reply::Simple("OK".into())
        );
    }
}

/// How many of the first `count` keys are there; those that are hold what was written.
fn present(client: &mut Client, count: usize) -> Vec<usize> {
    let holds = |n: &usize| match client.ask(&["GET", &format!("key{n}")]) {
        Reply::Null => false,
        reply => {
            assert_eq!(reply, Reply::Bulk(format!("value{n}").into()));
            true
        }
    };
    (0..count).filter(holds).collect()
}

/// A power failure can leave the last batch half-written. It was then acknowledged at most under `everysec`.
#[test]
fn a_torn_tail_is_cut_and_reported() {
    for garbage in [&[0_u8; 9][..], &[0xA5; 9]] {
        let scratch = Scratch::new("disk-torn");
        let nodes = Nodes::start(&scratch, &Plan::default());
        write_many(&mut nodes.client(0), 0, 500);
        nodes.kill(0);
        let (segment, end) = newest_segment(&nodes.data(0));
        overwrite(&segment, end - 9, garbage);
        nodes.restart(0);
        let found = present(&mut nodes.client(0), 500);
        assert!(found.len() >= 499, "one batch was torn, but only {} of 500 keys are there", found.len());
        assert!(found.iter().copied().eq(0..found.len()), "what is left is not a prefix");
        let name = segment.file_name().expect("a name").to_string_lossy().into_owned();
        let log = nodes.log(0);
        let reported = log.lines().any(|line| line.contains(&name) && line.contains("cut"));
        assert!(reported, "the cut of {name} is not reported:\n{log}");
    }
}

/// Killed processes tear nothing: what was acknowledged had been given to the operating system.
#[test]
fn a_killed_process_loses_nothing() {
    let scratch = Scratch::new("disk-killed");
    let nodes = Nodes::start(&scratch, &Plan { fsync: "no", ..Plan::default() });
    for round in 0..5 {
        write_many(&mut nodes.client(0), 200 * round, 200 * (round + 1));
        nodes.kill(0);
        nodes.restart(0);
        assert_eq!(present(&mut nodes.client(0), 200 * (round + 1)).len(), 200 * (round + 1));
    }
}

#[test]
fn a_record_damaged_in_the_middle_is_refused_by_file_and_offset() {
    let scratch = Scratch::new("disk-corrupt");
    let nodes = Nodes::start(&scratch, &Plan::default());
    write_many(&mut nodes.client(0), 0, 500);
    nodes.stop(0);
    let (segment, end) = newest_segment(&nodes.data(0));
    let whole = fs::read(&segment).expect("the segment");
    let middle = end / 2;
    overwrite(&segment, middle, &[whole[middle as usize] ^ 0x10]);
    let said = refusal(&nodes);
    let name = segment.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(said.contains(&name) && said.contains("corrupt at offset"), "{said}");
    overwrite(&segment, middle, &[whole[middle as usize]]);
    nodes.restart(0);
    assert_eq!(present(&mut nodes.client(0), 500).len(), 500, "mended, it is all there");
}

#[test]
fn a_directory_of_another_protocol_or_topology_is_refused() {
    let scratch = Scratch::new("disk-other");
    let nodes = Nodes::start(&scratch, &Plan::default());
    write_many(&mut nodes.client(0), 0, 10);
    nodes.stop(0);
    for (plan, word) in [
        (Plan { protocol: "eventual", ..Plan::default() }, "protocol"),
        (Plan { partitions: 4, ..Plan::default() }, "topology"),
        (Plan { regions: vec![vec!["all"], vec!["all"]], ..Plan::default() }, "topology"),
    ] {
        let said = refusal(&Nodes::plan(&scratch, &plan));
        assert!(said.contains("the data directory was written with") && said.contains(word), "{said}");
    }
    let again = Nodes::start(&scratch, &Plan::default());
    assert_eq!(present(&mut again.client(0), 10).len(), 10, "nobody has changed it");
}

#[test]
fn two_processes_do_not_share_a_directory() {
    let scratch = Scratch::new("disk-shared");
    let nodes = Nodes::start(&scratch, &Plan::default());
    // Other ports, the same directory.
    let second = Nodes::plan(&scratch, &Plan::default());
    let said = refusal(&second);
    assert!(said.contains("in use"), "{said}");
    assert_eq!(
        nodes.client(0).ask(&["PING"]),
        Reply::Simple("PONG".into()),
        "the first one is not disturbed"
    );
}

/// A file system of a few megabytes, unmounted in the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where mounting is not permitted.
    fn mount(at: PathBuf, megabytes: u32) -> Option<Self> {
        fs::create_dir_all(&at).expect("a directory");
        let size = format!("size={megabytes}m,mode=0700");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tidemark-test"]).arg(&at).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("cannot unmount {}", self.0.display());
        }
    }
}

#[test]
fn on_a_full_disk_writes_are_refused_and_reads_go_on() {
    let scratch = Scratch::new("disk-full");
    let Some(disk) = SmallDisk::mount(scratch.join("data"), 12) else {
        eprintln!(
            "SKIPPED on_a_full_disk_writes_are_refused_and_reads_go_on: mounting a tmpfs is not permitted here"
        );
        return;
    };
    let limits = "log_segment = \"1MiB\"\nlog_retain = \"4MiB\"\nsnapshot_every = \"64MiB\"";
    let nodes = Nodes::start(&scratch, &Plan { limits, ..Plan::default() });
    let ballast = disk.0.join("ballast");
    fs::write(&ballast, vec![0_u8; 6 << 20]).expect("room for ballast");
    let mut client = nodes.client(0);
    let value = "x".repeat(10_000);
    let mut written = 0;
    let error = loop {
        assert!(written < 10_000, "the disk never fills");
        match client.ask(&["SET", &format!("key{written}"), &value]) {
            Reply::Error(error) => break String::from_utf8_lossy(&error).into_owned(),
            reply => assert_eq!(reply, Reply::Simple("OK".into())),
        }
        written += 1;
    };
    assert!(error.starts_with("UNAVAILABLE") && error.contains("the disk is full"), "{error}");
    println!("after {written} writes of 10 kB: {error}");
    // What is left of the last segment still takes small writes, until they are refused as well: the smallest that are made here.
    let mut refused = || client.ask(&["SET", "s", ""]).error().is_some();
    assert!((0..100_000).any(|_| refused()), "small writes are never refused");
    let refused = wait_for("its status", || status(&nodes.nodes()[0]));
    assert!(refused["writes_refused"].as_str().is_some_and(|why| why.contains("full")), "{refused}");
    let all_there = |client: &mut Client| {
        let holds = |n| client.ask(&["STRLEN", &format!("key{n}")]) == Reply::Integer(value.len() as i64);
        (0..written).all(holds)
    };
    assert!(all_there(&mut client), "reads go on");
    assert!(client.ask(&["DEL", "key0"]).error().is_some(), "a delete is a write");
    // Full disks and crashes come together: the node starts again, and still serves reads.
    drop(client);
    nodes.kill(0);
    fs::remove_file(&ballast).expect("the ballast");
    nodes.restart(0);
    let mut client = nodes.client(0);
    assert!(all_there(&mut client), "nothing acknowledged is lost");
    let accepted = || (client.ask(&["SET", "after", "1"]) == Reply::Simple("OK".into())).then_some(());
    wait_for("writes are accepted again", accepted);
}

/// Without a restart, too: what was refused is accepted once there is room.
#[test]
fn a_disk_that_has_room_again_is_used_again() {
    let scratch = Scratch::new("disk-room");
    let Some(disk) = SmallDisk::mount(scratch.join("data"), 12) else {
        eprintln!("SKIPPED a_disk_that_has_room_again_is_used_again: mounting a tmpfs is not permitted here");
        return;
    };
    let limits = "log_segment = \"1MiB\"\nlog_retain = \"4MiB\"\nsnapshot_every = \"64MiB\"";
    let nodes = Nodes::start(&scratch, &Plan { limits, ..Plan::default() });
    fs::write(disk.0.join("ballast"), vec![0_u8; 8 << 20]).expect("room for ballast");
    let mut client = nodes.client(0);
    let value = "x".repeat(10_000);
    let refused = |reply: Reply| reply.error().is_some();
    let count =
        (0..10_000).take_while(|n| !refused(client.ask(&["SET", &format!("key{n}"), &value]))).count();
    assert!((1..10_000).contains(&count), "{count} writes fit");
    assert!((0..100_000).any(|_| refused(client.ask(&["SET", "s", ""]))), "small writes are never refused");
    let node = &nodes.nodes()[0];
    for code in ["disk_full", "writes_refused"] {
        let finding = told(node, code, &node.name);
        let remedy = finding["remedy"].as_str().expect("words");
        assert!(remedy.contains("Free space"), "{finding}");
    }
    fs::remove_file(disk.0.join("ballast")).expect("the ballast");
    wait_for("writes are accepted again", || (!refused(client.ask(&["SET", "after", &value]))).then_some(()));
    assert_eq!(client.ask(&["STRLEN", "key0"]), Reply::Integer(10_000));
    for code in ["disk_full", "writes_refused"] {
        over(node, code);
    }
    assert_eq!(http(node.admin, "GET", "/healthz", "").map(|(code, _)| code), Some(200));
}

/// It was let in, and kept waiting for as long as the log took; clients that connect with a time limit gave up then.
#[test]
fn nobody_is_let_in_before_the_log_was_read_back() {
    let scratch = Scratch::new("disk-reading");
    let nodes = Nodes::start(&scratch, &Plan::default());
    let mut client = nodes.client(0);
    let value = "x".repeat(200);
    for n in 0..100 {
        let pairs = (0..1_000).flat_map(|m| [format!("key{n}-{m}"), value.clone()]);
        let command: Vec<String> = std::iter::once("MSET".to_string()).chain(pairs).collect();
        assert_eq!(client.ask(&command), Reply::Simple("OK".into()));
    }
    drop(client);
    nodes.kill(0);
    // A start is recorded in the log, behind all that was read back.
    let end = || newest_segment(&nodes.data(0));
    let before = end();
    nodes.spawn(0);
    wait_for("it lets a client in", || Client::connect(nodes.nodes()[0].redis).ok());
    assert_ne!(end(), before, "it had not read its log back");
    nodes.wait_until_it_serves(0);
    assert_eq!(nodes.client(0).ask(&["STRLEN", "key99-999"]), Reply::Integer(200));
}
