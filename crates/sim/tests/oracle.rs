use tidemark_node::factory_of;
use tidemark_protocols::*;
use tidemark_sim::{Measurement, measure};
fn show<P: Protocol>(what: &Measurement) {
    let m = measure(factory_of::<P>(), what);
    println!("{}", serde_json::to_string(&m).unwrap());
}
#[test]
fn dump() {
    let ops = std::env::var("OPS").ok().and_then(|x| x.parse().ok()).unwrap_or(20_000);
    let what = Measurement { ops, ..Measurement::default() };
    show::<Eventual>(&what);
    show::<Cops>(&what);
    show::<Contrarian>(&what);
    show::<GentleRain>(&what);
    show::<CausalSpartanX>(&what);
    show::<Tidemark>(&what);
    show::<CcLo>(&what);
    show::<Eiger>(&what);
    show::<Wren>(&what);
}
