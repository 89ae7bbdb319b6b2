//! Isolated regions, and the way back to the first endpoint.

use super::{NONE, keep};
use crate::support::script::{Script, base, set, string};
use tidemark_edge::frames::*;

#[test]
fn isolated() {
    let mut script = Script::lowering(
        "Fewer regions share what is new than the client wants: it tries the others, and lowers K until there are more.",
        true,
    );
    script.watch("a");
    script.open(base(&[10, 20, 30]), NONE, &[(0, string(5, "old"))]);
    script.down(ToClient::Shared { regions: 1 });
    for _ in 0..2 {
        script.pass(10_000_000);
        script.connect();
        script.disconnect();
    }
    script.pass(10_000_000);
    script.connect();
    script.welcome(0, [0; 8], true);
    script.down(ToClient::Shared { regions: 1 });
    let updates = vec![Update { reference: 0, change: Change::Whole(string(35, "of this region")) }];
    script.down(ToClient::Tick(Tick {
        to: base(&[40, 20, 30]),
        regions: 1,
        in_base: 0,
        check: [0; 8],
        have: 1,
        updates,
    }));
    script.write();
    script.read("a");
    script.commit(&[("a", set("mine"))]);
    script.write();
    script.down(ToClient::Shared { regions: 2 });
    let check = script.check(1);
    script.tick(base(&[60_000_000, 20, 30]), (1, check), &[(0, string(50, "mine"))]);
    script.write();
    keep("isolated", &script);
}

#[test]
fn back_to_the_first_endpoint() {
    let mut script = Script::new(
        "From another endpoint the client goes back to the first one, which has not caught up at first.",
    );
    script.open(base(&[10, 20, 30]), NONE, &[]);
    script.away(1_000_000);
    script.tick(base(&[40, 50, 60]), NONE, &[]);
    script.write();
    for us in [5_000_000, 56_000_000] {
        script.pass(us);
    }
    script.connect();
    script.welcome(0, [0; 8], false);
    script.pass(10_000_000);
    script.connect();
    script.welcome(0, [0; 8], true);
    script.tick(base(&[70, 80, 90]), NONE, &[]);
    script.write();
    for us in [5_000_000, 116_000_000] {
        script.pass(us);
    }
    script.connect();
    script.welcome(0, [0; 8], true);
    script.tick(base(&[170, 180, 190]), NONE, &[]);
    script.write();
    script.pass(200_000_000);
    keep("back-to-the-first-endpoint", &script);
}
