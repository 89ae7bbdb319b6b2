//! The helper of `clients/doc` with the real Yjs: two people edit a text in two regions, over cuts.

use crate::harness::up::Up;
use crate::harness::{Cluster, Scratch};
use crate::install;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

#[test]
fn yjs_in_two_regions() {
    let Some(folder) = install::node_modules() else { return };
    let here = folder.join(format!("yjs-{}", std::process::id()));
    std::fs::create_dir_all(&here).expect("a folder");
    // Modules are found from where a script lies.
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/yjs.mjs");
    for (from, name) in [
        (script.to_string(), "yjs.mjs"),
        (format!("{}/doc/node/tide-doc.mjs", install::CLIENTS), "tide-doc.mjs"),
    ] {
        std::fs::copy(from, here.join(name)).expect("a file");
    }
    let scratch = Scratch::new("clients-yjs");
    let up = Up::start(&scratch, &["--regions", "2"]);
    let mut command = Command::new("node");
    command.arg(here.join("yjs.mjs"));
    for node in &up.nodes()[..2] {
        command.args([node.redis.ip().to_string(), node.redis.port().to_string()]);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the script runs");
    let mut answers = child.stdin.take().expect("a pipe");
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("a line");
        match &line[..] {
            "CUT" => up.cut("A", "B", false),
            "HEAL" => up.heal(),
            _ => {
                said.push(line);
                continue;
            }
        }
        answers.write_all(b"done\n").expect("the script listens");
    }
    assert!(child.wait().expect("it ends").success(), "{said:?}");
    assert_eq!(said, ["both regions have the same text"]);
    std::fs::remove_dir_all(here).expect("the copies");
}
