//! Keys that some data centres hold, and others ask them for.

use tidemark_protocols::*;
use tidemark_sim::*;

fn scratch<P: Protocol>() {
    let n: u64 = std::env::var("N").ok().map_or(2_000, |s| s.parse().unwrap());
    for (dcs, partitions, placement) in [
        (2, 2, Placed::Everywhere),
        (4, 2, Placed::ByPartition),
        (2, 2, Placed::Random),
        (3, 2, Placed::Random),
    ] {
        let options =
            Options { dcs, partitions, placement, sessions: 2 * dcs, ops: 50, ..Options::default() };
        let what = Campaign { jobs: 2, explain: 1, keep_going: true, ..Campaign::new(options, 0..n) };
        let summary = campaign::<P>(&what, |_| ());
        println!(
            "{} {dcs}x{partitions} {placement}: {} {:?} {:?} failed {}",
            P::NAME,
            summary.violations,
            summary.violating_seeds.iter().take(5).collect::<Vec<_>>(),
            summary.by_verdict,
            serde_json::to_string(&summary.stats).unwrap()
        );
        for e in &summary.convictions {
            println!("{}\n{}\n{}", e.explanation, e.timeline, e.replay);
        }
    }
}

#[test]
fn accf() {
    scratch::<Accf>();
}
#[test]
fn spartan() {
    scratch::<CausalSpartanX>();
}
#[test]
fn eventual() {
    scratch::<Eventual>();
}
