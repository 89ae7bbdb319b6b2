//! Transactions that follow what was lost with regions.

use super::*;
use tidemark_protocols::tidemark::LOGS_GO_ON;

/// Only a region that is lost for good had the transactions before it, and the client has seen them in a base of that.
#[test]
fn d17_after_a_loss_a_transaction_is_accepted_without_those_before() {
    let mut lab = edge(2);
    let x = lab.key("x", 0);
    let (a, b) = (lab.client(0), lab.client(1));
    let mut client = Client::new(1);
    let all = ["1", "2", "3"].map(|value| client.commit(200_000, vec![set(&x, value)]));
    let [one, two, three] = all;
    lab.set_clocks(250_000);
    assert_eq!(accept(&mut lab, a, two.clone()), Ok(Acceptance::Missing(0)));
    let two = EdgeTransaction { after_loss: true, before: [7; 32], ..two };
    let said = without(&[LOGS_GO_ON], || accept(&mut lab, a, two.clone()));
    assert_eq!(said, Ok(Acceptance::Missing(0)), "else it waits for ever: nobody can send the one before");
    for session in [a, b] {
        assert_eq!(accept(&mut lab, session, two.clone()), taken(), "wherever the client goes on");
        assert_eq!(accept(&mut lab, session, two.clone()), Ok(Acceptance::Known));
    }
    // A copy of its disk of long ago has the first one still.
    assert_eq!(accept(&mut lab, a, one), Ok(Acceptance::Known));
    let other = EdgeTransaction { digest: [9; 32], ..two };
    assert_eq!(accept(&mut lab, a, other), Ok(Acceptance::Forked(2)));
    assert_eq!(accept(&mut lab, a, three), taken());
    settle(&mut lab, 300_000);
    assert_eq!((lab.get(a, &x), lab.get(b, &x)), ("3".into(), "3".into()));
}
