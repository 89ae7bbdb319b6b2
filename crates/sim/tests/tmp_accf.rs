mod mutants;
use mutants::few;
use tidemark_protocols::accf::Accf;
use tidemark_sim::{Campaign, campaign};
#[test]
fn tmp() {
    let n = |name: &str, d: u64| std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(d);
    let options =
        tidemark_sim::Options { dcs: n("DCS", 2) as usize, partitions: n("PARTS", 2) as usize, ..few() };
    let what = Campaign {
        jobs: 2,
        explain: n("EXPLAIN", 1) as usize,
        ..Campaign::new(options, n("FROM", 0)..n("TO", 1000))
    };
    let s = campaign::<Accf>(&what, |_| ());
    println!("{:?} {:?}", s.violating_seeds, s.by_verdict);
    for e in &s.convictions {
        println!("{e:#?}");
    }
}
