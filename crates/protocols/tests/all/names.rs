//! The names of protocols and of their variants.

use tidemark_protocols::{
    CAUSAL, NAMES, Protocol, Rule, published, variants, with_any_protocol, with_protocol,
};

#[test]
fn every_name_leads_to_its_protocol() {
    for name in NAMES {
        assert_eq!(with_protocol!(name, P => P::INFO.name, otherwise ""), *name);
        assert_eq!(with_any_protocol!(*name, P, v => (P::INFO.name, v), otherwise ("", None)), (*name, None));
    }
    for (name, variant) in variants() {
        assert_eq!(with_protocol!(variant.name, P => P::INFO.name, otherwise "-"), "-");
        let found = with_any_protocol!(variant.name, P, v => (P::INFO.name, v), otherwise ("", None));
        assert_eq!(found, (name, Some(variant)));
    }
    assert_eq!(with_protocol!("causal", P => P::INFO.name, otherwise ""), CAUSAL);
    assert_eq!(with_protocol!("none", P => P::INFO.name, otherwise "-"), "-");
}

#[test]
fn every_name_is_given_once_and_every_variant_lacks_rules_of_its_protocol() {
    let mut names: Vec<&str> = NAMES.iter().copied().chain(variants().map(|(_, v)| v.name)).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    for (name, variant) in variants() {
        let rules = with_protocol!(name, P => P::INFO.rules, otherwise &[]);
        let its = |rule: &Rule| rules.contains(rule);
        assert!(!variant.without.is_empty() && variant.without.iter().all(its), "{}", variant.name);
    }
    assert!(published().count() >= 6 && published().all(|name| name.ends_with("-published")));
}
