//! Records that leave in parts.

use super::{Cluster, eventually, is_retried, shapes, text};
use tidemark_patience::wait_for;
use tidemark_wire::resp::encode_request;

/// Returns the answer to a command that may be carried out twice. It is sent again, over a new connection, while the node has no leader: the disk
/// of a slow machine may hold one up for so long that another is elected.
fn through(cluster: &Cluster, node: usize, command: &[&str]) -> String {
    wait_for(format!("an answer to {}", command[0]), || {
        let (mut client, mut bytes) = (cluster.client(node), Vec::new());
        encode_request(&mut bytes, command);
        client.send(&bytes);
        client.reply().map(|reply| text(&reply)).filter(|said| !is_retried(said))
    })
}

/// Records of more than 8 MiB: in parts between nodes, in segments of their own on disk, in snapshots, and after restarts.
#[test]
fn large_records_reach_every_node_and_survive_restarts() {
    let (bytes, keys) = (10 << 20, ["a", "b", "c", "d"].map(|tag| format!("{{{tag}}}large")));
    let value = "v".repeat(bytes);
    for shape in shapes().into_iter().skip(1) {
        let mut cluster = Cluster::start("tidemark", &shape, |config| {
            config.log_segment_bytes = 1 << 20;
            config.snapshot_every_bytes = 64 << 20;
        });
        cluster.meet(&["{a}met", "{b}met", "{c}met", "{d}met"]);
        for key in &keys {
            assert_eq!(through(&cluster, 0, &["SET", key, &value]), "OK");
            let length = (bytes + 3).to_string();
            assert_eq!(through(&cluster, 0, &["SETRANGE", key, &bytes.to_string(), "end"]), length);
            assert_eq!(through(&cluster, 0, &["COPY", key, &format!("{key}:copy"), "REPLACE"]), "1");
        }
        let ones: u32 = value.bytes().chain(*b"end").map(u8::count_ones).sum();
        let whole = |cluster: &Cluster| {
            let copies = keys.iter().flat_map(|key| [key.clone(), format!("{key}:copy")]);
            for (node, key) in copies.flat_map(|key| (0..shape.len()).map(move |node| (node, key.clone()))) {
                eventually(format!("node {node} has {key}"), || {
                    through(cluster, node, &["BITCOUNT", &key]) == ones.to_string()
                });
                assert_eq!(through(cluster, node, &["GETRANGE", &key, "-4", "-1"]), "vend");
            }
        };
        whole(&cluster);
        for node in 0..cluster.nodes.len() {
            cluster.stop(node);
            cluster.restart(node);
        }
        whole(&cluster);
    }
}
