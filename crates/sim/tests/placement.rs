//! Keys that some data centres hold, and others ask them for: 000 §7.2 with partial replicas, under two protocols. The other
//! protocols are in `campaigns.rs`.

use tidemark_protocols::{Accf, CausalSpartanX, Cops, Protocol};
use tidemark_sim::{Campaign, Options, Placed, campaign};

/// Two by two, full replicas, are everybody's; four by one; and keys that are held here and there.
fn cleared<P: Protocol>() {
    for (dcs, placement) in [(4, Placed::ByPartition), (2, Placed::Random), (3, Placed::Random)] {
        let options =
            Options { dcs, partitions: 2, placement, sessions: 2 * dcs, ops: 50, ..Options::default() };
        options.validate::<P>().expect("it may");
        let summary = campaign::<P>(&Campaign { jobs: 2, ..Campaign::new(options, 0..1_000) }, |_| ());
        let told: Vec<String> = summary.convictions.iter().map(ToString::to_string).collect();
        assert!(summary.violations == 0, "{}", told.join("\n"));
    }
}

#[test]
fn accf_keeps_its_promise_wherever_keys_are_held() {
    cleared::<Accf>();
}

#[test]
fn causal_spartan_x_keeps_its_promise_wherever_keys_are_held() {
    cleared::<CausalSpartanX>();
}

#[test]
fn who_looks_for_each_dependency_needs_every_version() {
    let options = Options { placement: Placed::Random, ..Options::default() };
    assert!(options.validate::<Cops>().unwrap_err().contains("cannot do without"));
    assert!("everywhere".parse::<Placed>().is_ok() && "nowhere".parse::<Placed>().is_err());
}
