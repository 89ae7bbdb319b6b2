//! A region that spans two nodes, from a cluster file that a person wrote.

use crate::harness::{Up, eventually, has, redis};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tidemark_patience::port;

/// Region `east` has two nodes with two partitions each, region `west` one with all four.
fn write_cluster(dir: &Path) {
    let mut text = "[cluster]\nname = \"spans\"\npartitions = 4\n\n[[region]]\nname = \"east\"\n[[region]]\nname = \"west\"\n".to_string();
    for (name, region, partitions) in
        [("east-1", "east", "\"0-1\""), ("east-2", "east", "[2, 3]"), ("west-1", "west", "\"all\"")]
    {
        text += &format!(
            "\n[[node]]\nname = \"{name}\"\nregion = \"{region}\"\npartitions = {partitions}\nlisten = \"127.0.0.1:{}\"\n\
             peer_listen = \"127.0.0.1:{}\"\nadmin_listen = \"127.0.0.1:{}\"\n",
            port(),
            port(),
            port()
        );
    }
    std::fs::write(dir.join("cluster.toml"), text).unwrap();
}

#[test]
fn both_nodes_of_a_region_serve_every_key() {
    if !has("redis-cli") {
        return;
    }
    let dir = TempDir::new().unwrap();
    write_cluster(dir.path());
    let up = Up::start_in(dir.path(), &[]);
    assert_eq!(up.pids().len(), 3);
    // Slots: foo 12182 (partition 2), bar 5061 (1), hello 866 (0), a 15495 (3).
    for key in ["foo", "bar", "hello", "a"] {
        assert_eq!(up.redis("east-1", &["SET", key, &format!("{key} from east-1")]), "OK");
        eventually(format!("{key} from east-1"), || up.redis("east-2", &["GET", key]));
        assert_eq!(up.redis("east-2", &["SET", key, &format!("{key} from east-2")]), "OK");
    }
    assert_eq!(up.redis("east-1", &["MGET", "foo", "hello"]).lines().count(), 2);
    for key in ["foo", "bar", "hello", "a"] {
        eventually(format!("{key} from east-2"), || up.redis("west-1", &["GET", key]));
    }
    assert!(up.order(&["kill", "east"]).contains("east-1, east-2"));
    assert_eq!(up.redis("west-1", &["SET", "foo", "west goes on"]), "OK");
    up.order(&["restart", "east-2"]);
    up.order(&["restart", "east-1"]);
    eventually("west goes on".into(), || up.redis("east-1", &["GET", "foo"]));
    up.stop();
}

/// `serve` without a supervisor, as a service manager starts it.
#[test]
fn nodes_are_served_one_by_one_with_flags_and_environment() {
    if !has("redis-cli") {
        return;
    }
    let dir = TempDir::new().unwrap();
    write_cluster(dir.path());
    let port = port();
    let ready = dir.path().join("ready");
    let mut command = Command::new(crate::harness::binary());
    command
        .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--log-format", "json", "--ready-file"])
        .arg(&ready);
    command.env("TIDEMARK_CONFIG", dir.path().join("cluster.toml")).env("TIDEMARK_NODE", "west-1");
    command.env("TIDEMARK_DIR", dir.path().join("elsewhere")).env("TIDEMARK_REQUIREPASS", "sesame");
    let log = std::fs::File::create(dir.path().join("log")).unwrap();
    let mut node = Node(command.stderr(log).stdout(Stdio::null()).spawn().unwrap());
    eventually(true, || ready.exists());
    assert!(redis(port, &["GET", "x"]).contains("NOAUTH"));
    assert_eq!(redis(port, &["--no-auth-warning", "-a", "sesame", "SET", "x", "1"]), "OK");
    assert!(dir.path().join("elsewhere").is_dir());
    let pid = node.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(node.0.wait().unwrap().success());
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    for line in log.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
}

struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
