//! Cluster files with one thing wrong each, and what is said about it.

use super::*;
use tidemark_core::{DcId, PartitionId};

const TWO_REGIONS: &str = r#"
[cluster]
name = "shop"
partitions = 4

[[region]]
name = "east"
[[region]]
name = "west"

[[node]]
name = "east-1"
region = "east"
listen = "127.0.0.1:7001"
peer_listen = "127.0.0.1:7101"
admin_listen = "127.0.0.1:8001"
partitions = "0-1"
[[node]]
name = "east-2"
region = "east"
listen = "127.0.0.1:7002"
peer_listen = "127.0.0.1:7102"
admin_listen = "127.0.0.1:8002"
partitions = [2, 3]
[[node]]
name = "west-1"
region = "west"
listen = "127.0.0.1:7003"
peer_listen = "127.0.0.1:7103"
admin_listen = "127.0.0.1:8003"
"#;

fn parsed(text: &str) -> Result<Cluster, ConfigError> {
    parse(text, "cluster.toml", Path::new("/etc/tidemark"), &Overrides::default(), None)
}

/// What is said about the file with `from` replaced by `to`.
fn said(from: &str, to: &str) -> String {
    assert!(TWO_REGIONS.contains(from), "{from}");
    parsed(&TWO_REGIONS.replacen(from, to, 1)).expect_err(to).to_string()
}

#[test]
fn a_sound_file_says_who_holds_what() {
    let cluster = parsed(TWO_REGIONS).unwrap();
    assert_eq!(cluster.nodes[1].partitions, [PartitionId(2), PartitionId(3)]);
    assert_eq!(cluster.nodes[2].partitions.len(), 4);
    assert_eq!(cluster.protocol, tidemark_registry::CAUSAL);
    assert_eq!(cluster.find_region("B"), Some(DcId(1)));
    assert_eq!(cluster.find_region("West"), Some(DcId(1)));
    assert_eq!(cluster.nodes[0].dir, Path::new("/etc/tidemark/data/east-1"));
    assert_eq!(cluster.fsync, Fsync::EverySec);
    assert_eq!(cluster.wan, None);
}

#[test]
fn keys_are_held_by_the_regions_that_are_named() {
    let placed = |tables: &str| {
        parsed(
            &TWO_REGIONS
                .replace("[[node]]\nname = \"east-1\"", &format!("{tables}\n[[node]]\nname = \"east-1\"")),
        )
    };
    let cluster = placed("[[placement]]\nprefix = \"eu:\"\nregions = [\"West\"]").unwrap();
    let holders = |key: &str| cluster.topology.holders(key.as_bytes()).iter().collect::<Vec<_>>();
    assert_eq!((holders("eu:1"), holders("us:1")), (vec![DcId(1)], vec![DcId(0), DcId(1)]));
    let wrong = |table: &str| placed(&format!("[[placement]]\n{table}")).expect_err(table).to_string();
    assert!(wrong("regions = [\"west\"]").contains("a rule is about the keys of a prefix, or about slots"));
    assert!(wrong("prefix = \"\"\nregions = [\"west\"]").contains("an empty prefix is that of every key"));
    assert!(wrong("slots = \"0-16384\"\nregions = [\"west\"]").contains("are no slots"));
    assert!(wrong("slots = \"9-1\"\nregions = [\"west\"]").contains("are no slots"));
    assert!(wrong("prefix = \"eu:\"\nregions = []").contains("no region would hold these keys"));
    assert!(wrong("prefix = \"eu:\"\nregions = [\"wst\"]").contains("did you mean west?"));
    let cops = TWO_REGIONS.replace("partitions = 4", "partitions = 4\nprotocol = \"cops\"");
    let cops =
        cops.replacen("[[node]]", "[[placement]]\nprefix = \"eu:\"\nregions = [\"west\"]\n[[node]]", 1);
    assert!(parsed(&cops).unwrap_err().to_string().contains("cops looks for each dependency"));
}

#[test]
fn the_groups_of_a_protocol_have_to_fit_the_cluster() {
    let accf =
        |more: &str| {
            parsed(&TWO_REGIONS.replace(
                "partitions = 4",
                &format!("partitions = 4\nprotocol = \"accf\"\n[protocol]\n{more}"),
            ))
        };
    assert!(
        accf("tracking = \"server\"\nchecking = { both = [\"a/*\", \"B/1\"], zero = [\"*/0\"] }").is_ok()
    );
    let wrong = |more: &str| accf(more).expect_err(more).to_string();
    assert!(
        wrong("tracking = \"galaxy\"").contains("write \"server\", \"partition\", \"region\" or \"system\"")
    );
    assert!(wrong("tracking = { x = [\"A/*\"], y = [\"A/0\"] }").contains("A/0 belongs to x and to y"));
    assert!(wrong("checking = { x = [\"C/0\"] }").contains("there are 2 regions with 4 partitions"));
}

#[test]
fn the_fingerprint_follows_what_must_agree_and_nothing_else() {
    let print = |from: &str, to: &str| parsed(&TWO_REGIONS.replace(from, to)).unwrap().fingerprint();
    let plain = print("", "");
    assert_eq!(
        plain, 5_369_088_793_223_358_102,
        "it stands in data directories: never change how it is reckoned"
    );
    assert_eq!(plain, print(":7001", ":7009"));
    assert_eq!(plain, print("\"east-1\"", "\"east-one\""));
    for (from, to) in [
        ("shop", "shed"),
        ("\"west\"", "\"far-west\""),
        ("name = \"shop\"", "name = \"shop\"\nprotocol = \"eventual\""),
    ] {
        assert_ne!(plain, print(from, to), "{to}");
    }
}

#[test]
fn what_is_wrong_is_said_with_line_place_and_remedy() {
    let said = said("region = \"west\"", "region = \"wset\"");
    assert!(said.contains("cluster.toml:27: node[2].region: there is no region \"wset\""), "{said}");
    assert!(said.contains("did you mean \"west\"? the regions are east, west"), "{said}");
    assert!(
        said.contains("no node of region west holds partition 0, 1, 2, 3"),
        "all problems at once: {said}"
    );
}

#[test]
fn nodes_of_a_group_share_all_they_hold() {
    let crossed = TWO_REGIONS.replacen("partitions = 4", "partitions = 4\nreplicas = 2", 1);
    let crossed = crossed.replacen("partitions = [2, 3]", "partitions = [1, 2, 3]", 1);
    let said = parsed(&crossed).expect_err("they share one").to_string();
    assert!(said.contains("east-1 and east-2 share some of their partitions"), "{said}");
}

#[test]
fn each_mistake_has_its_own_words() {
    let mistakes = [
        ("name = \"east-2\"", "name = \"east-1\"", "two nodes called \"east-1\""),
        ("name = \"west\"", "name = \"East\"", "two regions called \"East\""),
        ("name = \"west\"", "name = \"a\"", "this one is B"),
        ("name = \"west\"", "name = \"we st\"", "is no name"),
        ("partitions = [2, 3]", "partitions = [1, 2, 3]", "both east-1 and east-2 hold partition 1"),
        ("partitions = [2, 3]", "partitions = [2]", "no node of region east holds partition 3"),
        ("partitions = [2, 3]", "partitions = [2, 3, 4]", "numbered 0 to 3"),
        ("partitions = [2, 3]", "partitions = \"2 to 3\"", "write \"all\", [0, 1] or \"0-3\""),
        ("partitions = [2, 3]", "partitions = []", "holds nothing"),
        ("127.0.0.1:7002", "localhost:7001", "localhost:7001 is listen of east-1 already"),
        ("127.0.0.1:8003", "127.0.0.1:7003", "is listen of west-1 already"),
        ("127.0.0.1:7002", "0.0.0.0:7002", "clients need no password"),
        ("127.0.0.1:7102", "10.0.0.2:7102", "anybody may pose as a peer"),
        ("127.0.0.1:7102", "10.0.0.2:7102", "east-2 cannot reach 127.0.0.1:7101"),
        ("127.0.0.1:7102", "0.0.0.0:7102", "nobody can connect to 0.0.0.0:7102"),
        ("127.0.0.1:8002", "10.0.0.2:8002", "anybody may change the cluster"),
        ("127.0.0.1:7002", "127.0.0.1", "has no port"),
        ("partitions = 4", "partitions = 0", "choose 1 to 16384"),
        ("partitions = 4", "partitions = 4\nreplicas = 0", "choose 1 to 9"),
        ("partitions = 4", "partitions = 4\nreplicas = 2", "with replicas = 2 each is held by 2 nodes"),
        (
            "partitions = 4",
            "partitions = 4\n[limits]\nelection_timeout = \"1ms\"",
            "no time to wait for a leader",
        ),
        ("partitions = 4", "partitions = 4\nprotocol = \"evntual\"", "did you mean \"eventual\""),
        ("partitions = 4", "partitions = 4\nmax_skew = \"5 apples\"", "is no length of time"),
        ("partitions = 4", "partitions = 4\nmax_skew = 5", "has no unit"),
        ("partitions = 4", "partitions = 4\nmax_skew = \"0s\"", "such as \"500ms\""),
        ("partitions = 4", "partitions = 4\nfsync = \"often\"", "everysec"),
        ("partitions = 4", "partitions = 4\nsession_scope = \"pool\"", "client-name"),
        (
            "partitions = 4",
            "partitions = 4\nprotocol = \"eventual\"\nsession_scope = \"gateway\"",
            "sessions of eventual remember nothing",
        ),
        ("partitions = 4", "partitions = 4\nfsinc = \"no\"", "unknown field `fsinc`"),
        ("partitions = 4", "partitions = 4\nrequirepass = \"\"", "protects nothing"),
        ("partitions = 4", "partitions = 4\n[protocol]\nteta_us = 5", "did you mean theta_us?"),
        ("partitions = 4", "partitions = 4\n[limits]\nlog_segment = \"64\"", "at least 1MiB"),
        ("partitions = 4", "partitions = 4\n[limits]\nmax_clients = 0", "zero is not possible"),
        ("partitions = 4", "partitions = 4\n[limits]\nrelay_after = \"9ms\"", "at least 100ms, or 0s"),
        ("partitions = 4", "partitions = 4\n[wan]\npreset = \"nukw\"", "did you mean \"nukv\""),
        ("partitions = 4", "partitions = 4\n[wan]\njitter = \"1ms\"", "no round-trip time for east–west"),
        (
            "admin_listen = \"127.0.0.1:8003\"",
            "admin_listen = \"127.0.0.1:8003\"\ndir = \"data/east-1\"",
            "directory of east-1",
        ),
    ];
    for (from, to, words) in mistakes {
        let said = said(from, to);
        assert!(said.contains(words), "{to}: expected {words:?} in\n{said}");
        assert!(said.contains("cluster.toml:"), "{to}: no line in\n{said}");
    }
}

#[test]
fn there_are_regions_but_not_too_many() {
    assert!(parsed("[cluster]\nname = \"x\"").unwrap_err().to_string().contains("there is no region"));
    let many: String = (0..65).map(|n| format!("[[region]]\nname = \"region-{n}\"\n")).collect();
    let said = parsed(&format!("[cluster]\nname = \"x\"\n{many}")).unwrap_err().to_string();
    assert!(said.contains("65 regions are more than 64"), "{said}");
}

#[test]
fn machines_are_told_apart_by_the_address_that_others_dial() {
    let node = |name: &str, region: &str| {
        format!(
            "[[node]]\nname = \"{name}\"\nregion = \"{region}\"\nlisten = \"0.0.0.0:6379\"\n\
             peer_listen = \"0.0.0.0:7101\"\npeer_address = \"{name}.example:7101\"\nadmin_listen = \"127.0.0.1:8001\"\n"
        )
    };
    let head =
        "[cluster]\nname = \"x\"\npeer_secret = \"s\"\nrequirepass = \"p\"\n[[region]]\nname = \"e\"\n";
    let head = head.replace("\"e\"", "\"east\"") + "[[region]]\nname = \"west\"\n";
    let cluster = parsed(&(head + &node("east-1", "east") + &node("west-1", "west"))).unwrap();
    assert_eq!(cluster.nodes[1].peer_address.to_string(), "west-1.example:7101");
    assert_eq!(format!("{:?}", cluster.peer_secret), "Some((secret))");
}

#[test]
fn overrides_win_over_the_file_and_concern_one_node() {
    let overrides = Overrides {
        fsync: Some(Fsync::Always),
        session_scope: Some(SessionScope::Gateway),
        listen: Some("0.0.0.0:9000".parse().unwrap()),
        requirepass: Some(Secret("p".into())),
        dir: Some("/data".into()),
        ..Overrides::default()
    };
    let cluster = parse(TWO_REGIONS, "x", Path::new("/etc"), &overrides, Some("west-1")).unwrap();
    assert_eq!((cluster.fsync, cluster.session_scope), (Fsync::Always, SessionScope::Gateway));
    assert_eq!(cluster.nodes[0].listen.port, 7001);
    assert_eq!((cluster.nodes[2].listen.port, cluster.nodes[2].dir.as_path()), (9000, Path::new("/data")));
}

#[test]
fn a_file_survives_being_written_and_read_again() {
    let file: ClusterFile = toml::from_str(TWO_REGIONS).unwrap();
    let again = toml::to_string(&file).unwrap();
    let (one, two) = (parsed(TWO_REGIONS).unwrap(), parsed(&again).unwrap());
    assert_eq!((one.fingerprint(), one.nodes), (two.fingerprint(), two.nodes));
}

#[test]
fn the_schema_knows_every_table() {
    let schema = schema();
    for table in ["cluster", "protocol", "limits", "wan", "region", "node"] {
        assert!(schema["properties"].get(table).is_some(), "{table}");
    }
    assert_eq!(schema["additionalProperties"], false);
}
