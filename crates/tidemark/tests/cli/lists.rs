//! What is listed, and what the help says.

use crate::harness::{said, tidemark};

#[test]
fn protocols_are_listed_with_their_promises() {
    let text = said(&tidemark(&["protocols"]));
    assert!(text.contains("tidemark (default)") && text.contains("Consistency models (PROMISE):"), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&tidemark(&["protocols", "--json"]).stdout).unwrap();
    let json = json.as_array().unwrap();
    assert_eq!(json.iter().filter(|protocol| protocol["default"] == true).count(), 1);
    assert!(json.iter().all(|protocol| !protocol["promise_means"].as_str().unwrap().is_empty()));
    let causal = json.iter().find(|protocol| protocol["default"] == true).unwrap();
    assert_eq!(causal["params"]["theta_us"], 5_000);
    let mget = |name: &str| json.iter().find(|protocol| protocol["name"] == name).map(|p| p["mget"].clone());
    assert_eq!(mget("eventual"), Some("several GETs".into()));
    assert_eq!(mget("tidemark"), Some("snapshot".into()));
    let atomic = |protocol: &serde_json::Value| {
        ["tidemark", "cure", "wren", "eiger", "occult"].iter().any(|name| protocol["name"] == *name)
    };
    assert!(json.iter().all(|protocol| (protocol["mset"] == "atomic") == atomic(protocol)));
    let immediate =
        |name: &str| json.iter().find(|protocol| protocol["name"] == name).map(|p| p["immediate"].clone());
    assert_eq!(immediate("causal-spartan-x"), Some(true.into()));
    assert_eq!(immediate("contrarian"), Some(false.into()));
    assert!(text.contains("IMMEDIATE"), "{text}");
    let unserved = json.iter().filter(|protocol| protocol["served"] == false);
    assert!(unserved.clone().count() > 0);
    assert!(unserved.clone().all(|protocol| protocol["name"].as_str().unwrap().ends_with("-published")));
}

#[test]
fn help_begins_with_what_it_is_and_ends_with_examples() {
    let help = tidemark(&["--help"]);
    assert!(help.status.success());
    assert!(said(&help).starts_with("A geo-replicated") && said(&help).contains("Examples:"));
    for verb in ["up", "cut", "heal", "slow"] {
        assert!(said(&tidemark(&[verb, "--help"])).contains("Examples:"), "{verb}");
    }
    assert_eq!(tidemark(&["nonsense"]).status.code(), Some(2));
    assert!(said(&tidemark(&["--version"])).starts_with("tidemark "));
}

#[test]
fn without_a_cluster_there_is_nothing_to_act_on() {
    for args in [&["status"][..], &["cut", "a", "b"], &["heal"], &["kill", "a"], &["restart", "a"]] {
        let output = tidemark(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(said(&output).contains("no cluster runs; start one with `tidemark up`"), "{}", said(&output));
    }
}

#[test]
fn wishes_that_contradict_each_other_are_refused_before_anything_starts() {
    for (args, words) in [
        (&["up", "--latency", "nukv", "--regions", "3"][..], "has 2 sites (phoenix, salt-lake-city)"),
        (
            &["up", "--latency", "moon"],
            "neither a preset (none, gentlerain, spartan, nukv, swiftcloud) nor a file",
        ),
        (&["up", "--regions", "65"], "65 is not in 1..=64"),
        (&["up", "--protocol", "casual"], "did you mean \"causal\"?"),
        (&["up", "--protocol", "cops-published"], "choose \"cops\", or study it with `tidemark sim"),
        (&["up", "--fsync", "often"], "choose always, everysec or no"),
        (&["up", "--partitions", "0"], "choose 1 to 16384"),
    ] {
        let output = tidemark(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{args:?}: {}", said(&output));
    }
}

#[test]
fn a_protocol_is_played_without_a_rule_and_an_unknown_one_lists_those_that_there_are() {
    let small = ["--dcs", "2", "--partitions", "2", "--sessions", "4", "--ops", "40", "--seeds", "0..10"];
    let sim = |protocol: &str, rule: &str| {
        let chosen = ["sim", "--protocol", protocol, "--without", rule];
        tidemark(&[&chosen[..], &small].concat())
    };
    let mutant = sim("cops", "PUT_IS_NEAR");
    assert_eq!(mutant.status.code(), Some(1), "{}", said(&mutant));
    let replay = "tidemark sim --protocol cops --seeds 9..10 --dcs 2 --partitions 2 --sessions 4 --ops 40 --without PUT_IS_NEAR";
    assert!(said(&mutant).contains(replay), "{}", said(&mutant));
    let published = sim("cops", "CHECKS_THAT_UPDATE");
    assert!(said(&published).contains("schedules of cops-published"), "{}", said(&published));
    let unknown = sim("cops", "GET_FENCES");
    assert_eq!(unknown.status.code(), Some(2));
    let words = said(&unknown);
    assert!(
        words.contains("those of cops are READS_ARE_NEAR, PUT_IS_NEAR") && words.contains("VOTES"),
        "{words}"
    );
}

#[test]
fn histories_are_held_to_promises() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("run.txt");
    let path = file.to_str().unwrap();
    // Session 1 writes x, then y; session 2 reads y, and then finds no x.
    std::fs::write(&file, "w(1,10,1,0)\nw(2,20,1,1)\nr(2,20,2,2)\nr(1,0,2,3)\n").unwrap();
    let violated = tidemark(&["check", path, "--promise", "causal"]);
    assert_eq!(violated.status.code(), Some(1), "{}", said(&violated));
    assert!(said(&violated).contains("against causal: 1 violation"), "{}", said(&violated));
    let kept = tidemark(&["check", path, "--promise", "session", "--json"]);
    assert_eq!(kept.status.code(), Some(0), "{}", said(&kept));
    let report: serde_json::Value = serde_json::from_slice(&kept.stdout).unwrap();
    assert_eq!((report["violated"].as_u64(), report["ops"].as_u64()), (Some(0), Some(4)));
    std::fs::write(&file, "nonsense\n").unwrap();
    assert_eq!(tidemark(&["check", path, "--promise", "causal"]).status.code(), Some(2));
    assert_eq!(tidemark(&["check", "/no/such/file", "--promise", "causal"]).status.code(), Some(2));
    let unknown = tidemark(&["check", path, "--promise", "linearizable"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("causal-snapshot"), "{}", said(&unknown));
}

#[test]
fn each_guarantee_has_its_own_verdict() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("run.txt");
    let path = file.to_str().unwrap();
    // Session 1 writes x, then y; session 2 reads y, and then finds no x.
    std::fs::write(&file, "w(1,10,1,0)\nw(2,20,1,1)\nr(2,20,2,2)\nr(1,0,2,3)\n").unwrap();
    let all = tidemark(&["check", path]);
    assert_eq!(all.status.code(), Some(1), "{}", said(&all));
    let text = said(&all);
    assert!(text.contains("read-your-writes            holds\n"), "{text}");
    assert!(text.contains("monotonic-writes-global     violated     1 violation\n"), "{text}");
    assert!(text.contains("== causal\n"), "{text}");
    let kept = tidemark(&["check", path, "--guarantee", "monotonic-reads,session", "--json"]);
    assert_eq!(kept.status.code(), Some(0), "{}", said(&kept));
    let verdicts: serde_json::Value = serde_json::from_slice(&kept.stdout).unwrap();
    let names: Vec<&str> =
        verdicts["verdicts"].as_array().unwrap().iter().map(|v| v["guarantee"].as_str().unwrap()).collect();
    assert_eq!(names, ["monotonic-reads", "session"]);
    let svg = dir.path().join("violation.svg");
    let drawn = tidemark(&["check", path, "--guarantee", "causal", "--svg", svg.to_str().unwrap()]);
    assert_eq!(drawn.status.code(), Some(1));
    assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg "));
    let both = tidemark(&["check", path, "--guarantee", "causal", "--promise", "causal"]);
    assert_eq!(both.status.code(), Some(2), "{}", said(&both));
}

#[test]
fn transcripts_of_edge_clients_are_lines_of_json() {
    let sim =
        ["sim", "--dcs", "2", "--partitions", "2", "--ops", "20", "--seeds", "5..7", "--edge-transcripts"];
    let written = tidemark(&[&sim[..], &["--edge", "2"]].concat());
    assert!(written.status.success(), "{}", said(&written));
    let text = String::from_utf8(written.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let about: Vec<_> = lines.iter().filter_map(|line| line["about"].as_str()).collect();
    assert_eq!(about, ["seed 5", "seed 6"]);
    for client in [0, 1] {
        let of = |name: &str| {
            lines.iter().filter(|line| line["client"] == client && line.get(name).is_some()).count()
        };
        assert!(of("start") >= 2 && of("effects") > 20 && of("read") > 20, "{client}: {}", of("effects"));
    }
    let alone = tidemark(&sim);
    assert_eq!(alone.status.code(), Some(2), "{}", said(&alone));
    assert!(said(&alone).contains("--edge"), "{}", said(&alone));
}

#[test]
fn a_simulated_violation_is_drawn() {
    let dir = tempfile::TempDir::new().unwrap();
    let svg = dir.path().join("violation.svg");
    let args = ["sim", "--protocol", "eventual", "--promise", "causal", "--seeds", "0..50", "--svg"];
    let convicted = tidemark(&[&args[..], &[svg.to_str().unwrap()]].concat());
    assert_eq!(convicted.status.code(), Some(1), "{}", said(&convicted));
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("violated"), "{picture}");
}
