use super::*;
use tidemark_registry::by_name;

fn line(name: &str, what: &Bound) {
        let factory = by_name(name).unwrap();
        let started = std::time::Instant::now();
        let b = bound(factory, what);
        eprintln!("{name:20} rounds {} hops {} versions {} blocks {} snap {} vis {} old {} distinct {}({})/{} bytes {}..{} failed {} kept {} {:?} {:?} {:?} {:?}",
            b.rounds, b.hops, b.versions, b.blocks, b.snapshot, b.visible, b.old_readers, b.distinct, b.distinct_answered, b.reader_sets, b.bytes_least, b.bytes_most, b.failed, b.kept, b.gives_up, b.side, started.elapsed(), b.without);
}
#[test]
fn show() {
    for name in tidemark_protocols::NAMES {
        line(name, &Bound { readers: 3, ..Bound::default() });
    }
    for n in 1..9 { line("cc-lo", &Bound { readers: n, ..Bound::default() }); }
    for rule in by_name("cc-lo").unwrap().info().rules { line("cc-lo", &Bound { without: vec![*rule], ..Bound::default() }); }
    line("cc-lo", &Bound { without: tidemark_protocols::variant("cc-lo-published").unwrap().1.without.to_vec(), ..Bound::default() });
    line("contrarian", &Bound { params: [("rounds".to_string(), "one-and-a-half".into())].into(), ..Bound::default() });
    for name in tidemark_protocols::NAMES {
        for seed in 2..30 {
            let b = bound(by_name(name).unwrap(), &Bound { readers: 1, seed, ..Bound::default() });
            if b.blocks || b.failed > 0 || !b.kept || !b.visible || b.distinct > 1 || b.old_readers != 1 || b.versions > 1 { eprint!("{name} {seed} {} {} {} {} {} {}; ", b.blocks, b.distinct, b.visible, b.kept, b.failed, b.old_readers); }
        }
        eprintln!();
    }
}
