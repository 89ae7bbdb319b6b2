//! A store that follows another holds the same, also where a key goes and comes back within a turn.

use tidemark_core::{DcId, Hlc, Regions, Stamp, Write};
use tidemark_crdt::Effect;
use tidemark_crdt::effect::{Bound, Change, Datum, Kill, Kind, Name};
use tidemark_store::{Store, Version};

fn store() -> Store<()> {
    Store::new(1).with_types(|_, _| (), 1, Regions::NONE)
}

fn version(ts: u64, write: Write) -> Version<()> {
    Version { stamp: Stamp::new(Hlc(ts), DcId(0)), meta: (), write }
}

fn apply(floor: u64, change: Change) -> Write {
    Write::Apply(Effect { floor: Hlc(floor), changes: vec![change] }.encode())
}

#[test]
fn what_comes_after_a_key_went_stays() {
    let (mut leads, mut follows) = (store(), store());
    leads.keep_journal();
    let (name, datum) = (Name::of(b"f"), Datum::bytes(b"v"));
    let set = Change::Assign { kind: Kind::Hash, name, datum, bound: Bound::None, kill: Kill::default() };
    let clear = Change::Clear { kind: None, dots: Vec::new(), cuts: Vec::new() };
    let writes = [(1, apply(0, set)), (6, apply(5, clear)), (11, Write::Assign((*b"again").into()))];
    for (ts, write) in writes {
        leads.insert(b"k", version(ts, write.clone()));
        follows.insert(b"k", version(ts, write));
        if ts < 11 {
            leads.raise_floor(Hlc(ts + 4));
            leads.collect(10, |_| true, |_| true);
        }
    }
    let told = leads.take_folded();
    assert!(told.last().is_some_and(|last| last.gone), "{told:?}");
    follows.follow_folded(&told);
    for store in [&leads, &follows] {
        let chain: Vec<u64> = store.chain(b"k").map(|version| version.stamp.ts.0).collect();
        assert_eq!((chain, store.is_typed(b"k")), (vec![11], false), "a register again");
    }
    assert_eq!(follows.totals(), leads.totals());
    assert_eq!(
        follows.floor(),
        Hlc(10),
        "who follows may lead next: its floor is where elements were settled"
    );
}
