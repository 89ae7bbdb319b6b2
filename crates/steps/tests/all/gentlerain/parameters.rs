//! The tree, and what the numbers do.

use super::*;

/// Reference: 001 §4.5.
#[test]
fn sec_4_5_values_go_up_the_tree_and_gst_comes_down() {
    let mut lab = Lab::<GentleRain>::new(1, 4, Params { fan_out: 2, ..Params::default() });
    lab.set_clocks(6_000);
    (0..4).for_each(|p| lab.fire(server(0, p), Timer::Delta));
    let (root, inner, leaf, other) = (server(0, 0), server(0, 1), server(0, 3), server(0, 2));
    lab.fire(root, Timer::Theta);
    assert!(!lab.deliver_message(root, inner), "nothing is known of the children");
    lab.fire(leaf, Timer::Theta);
    assert!(lab.deliver_message(leaf, inner) && lab.deliver_message(inner, root));
    assert!(!lab.deliver_message(root, inner), "the other child has not reported");
    lab.fire(other, Timer::Theta);
    assert!(lab.report(other, root) && lab.deliver_message(root, inner));
    assert!(lab.deliver_message(inner, leaf) && lab.deliver_message(root, other));
    assert_eq!([0, 1, 2, 3].map(|p| gst(&lab, 0, p)), [at(6_000); 4]);
}

/// Reference: 001 §4.5.
#[test]
fn the_fan_out_shapes_the_tree() {
    for (fan_out, parents) in [(1, [0, 1, 2]), (2, [0, 0, 1]), (3, [0, 0, 0])] {
        let mut lab = Lab::<GentleRain>::new(2, 4, Params { fan_out, ..Params::default() });
        for child in (1..4).rev() {
            let (from, parent) = (server(0, child), parents[usize::from(child) - 1]);
            lab.fire(from, Timer::Theta);
            for to in (0..4).filter(|to| *to != child && *to != parent) {
                assert!(!lab.deliver_message(from, server(0, to)), "fan-out {fan_out}: {child} to {to}");
            }
            assert!(lab.deliver_message(from, server(0, parent)), "fan-out {fan_out}: {child} to {parent}");
        }
    }
}

/// Reference: 001 §4.2: θ and Δ.
#[test]
fn the_intervals_are_those_of_the_timers() {
    let due = |params: Params, timer| {
        let mut lab = Lab::<GentleRain>::new(2, 1, params);
        let first = lab.due(server(0, 0), timer).unwrap();
        lab.set_clocks(1_000_000);
        lab.fire(server(0, 0), timer);
        [first, lab.due(server(0, 0), timer).unwrap()]
    };
    let params = |theta_us, delta_us| Params { theta_us, delta_us, ..Params::default() };
    let later = |timer, slow: Params| {
        let (fast, slow) = (due(params(5_000, 5_000), timer), due(slow, timer));
        [slow[0] - fast[0], slow[1] - fast[1]]
    };
    assert_eq!(later(Timer::Theta, params(9_000, 5_000)), [4_000; 2]);
    assert_eq!(later(Timer::Theta, params(5_000, 9_000)), [0; 2]);
    assert_eq!(later(Timer::Delta, params(5_000, 9_000)), [4_000; 2]);
}
