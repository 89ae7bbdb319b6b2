//! `tidemark protocols --map`: where each protocol stands among the consistency models.

use crate::harness::{said, tidemark};
use serde_json::Value;
use std::collections::BTreeMap;

fn json(args: &[&str]) -> Value {
    let output = tidemark(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)))
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// Every protocol that is served stands once, at the model that it declares; variants for study stand nowhere.
#[test]
fn every_served_protocol_stands_once_where_it_declares() {
    let map = json(&["protocols", "--map", "--json"]);
    let mut placed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for model in map["models"].as_array().unwrap() {
        for protocol in words(&model["protocols"]) {
            placed.entry(protocol).or_default().push(model["promise"].as_str().unwrap());
        }
    }
    let list = json(&["protocols", "--json"]);
    let served = list.as_array().unwrap().iter().filter(|protocol| protocol["served"] == true);
    let declared: BTreeMap<&str, Vec<&str>> = served
        .map(|protocol| (protocol["name"].as_str().unwrap(), vec![protocol["promise"].as_str().unwrap()]))
        .collect();
    assert_eq!(placed, declared);
    assert!(declared.len() > 15, "{declared:?}");
    let text = said(&tidemark(&["protocols", "--map"]));
    for protocol in declared.keys() {
        let lists = text.lines().filter(|line| !line.contains("->"));
        let names = lists.flat_map(|line| line.split([' ', ','])).filter(|word| word == protocol).count();
        // `eventual` is a model, too.
        assert_eq!(names, 1 + usize::from(*protocol == "eventual"), "{protocol} in {text}");
    }
    assert_eq!(text.matches("(default)").count(), 1);
    assert!(text.contains("tidemark (default)") && !text.contains("-published"), "{text}");
}

#[test]
fn stronger_models_stand_above_what_they_imply() {
    let map = json(&["protocols", "--map", "--json"]);
    let models = map["models"].as_array().unwrap();
    let model = |name: &str| models.iter().find(|model| model["name"] == name).unwrap();
    for (stronger, weaker) in [
        ("causal-immediate", "causal-snapshot"),
        ("causal-snapshot", "causal"),
        ("causal", "session"),
        ("session", "eventual"),
    ] {
        assert!(words(&model(stronger)["implies"]).contains(&weaker), "{stronger} {weaker}");
        assert!(!words(&model(weaker)["implies"]).contains(&stronger), "{stronger} {weaker}");
    }
    for stronger in models {
        let level = stronger["level"].as_u64().unwrap();
        let all = words(&stronger["implies"]);
        assert!(all.iter().all(|weaker| model(weaker)["level"].as_u64().unwrap() < level), "{stronger}");
        assert!(words(&stronger["implies_directly"]).iter().all(|weaker| all.contains(weaker)), "{stronger}");
    }
    let sequential = |model: &&Value| model["name"].as_str().unwrap().starts_with("sequential");
    let others = models.iter().filter(|model| !sequential(model)).count();
    assert_eq!(
        words(&model("causal-immediate")["implies"]).len(),
        others - 1,
        "the strongest but for one order of all writes"
    );
    assert!(
        map["implications"].as_array().unwrap().iter().all(|i| !i["because"].as_str().unwrap().is_empty())
    );
}

#[test]
fn the_map_is_drawn_with_its_protocols_and_fits_a_terminal() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("map.svg");
    let output = tidemark(&["protocols", "--map", "--svg", file.to_str().unwrap(), "cops", "causal"]);
    assert!(output.status.success(), "{}", said(&output));
    let text = said(&output);
    assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
    assert!(text.contains("protocols: cops\n") && !text.contains("gentlerain"), "{text}");
    let picture = std::fs::read_to_string(&file).unwrap();
    assert!(picture.starts_with("<svg ") && !picture.contains("gentlerain"), "{picture}");
    let map = json(&["protocols", "--map", "--json"]);
    let models = map["models"].as_array().unwrap();
    for model in models {
        assert_eq!(picture.matches(&format!(">{}<", model["name"].as_str().unwrap())).count(), 1, "{model}");
    }
    assert!(picture.contains(">cops<"), "{picture}");
    let default = picture.lines().find(|line| line.contains(">tidemark (default)<")).unwrap();
    assert!(default.contains("marked"), "{default}");
    let lines: usize = models.iter().map(|model| words(&model["implies_directly"]).len()).sum();
    assert_eq!(picture.matches("class=\"line\"").count(), lines);
    for wrong in [&["protocols", "--map", "--table"][..], &["protocols", "--svg", "x.svg"]] {
        assert_eq!(tidemark(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
