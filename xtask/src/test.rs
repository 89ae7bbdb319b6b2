//! `./x test`: everything that CI runs.
//!
//! Nothing is compiled twice: clippy checks, and one `cargo test` builds all tests in the dev profile, also the binary that
//! the end-to-end tests run. It is optimised a little, and looks after itself: an overflow or a broken assumption ends it.

use crate::check::steps_of_check;
use crate::client_tests;
use crate::fetch;
use crate::lanes;
use crate::redis_tests;
use crate::run::Steps;
use anyhow::Result;

pub(crate) fn test() -> Result<()> {
    let mut steps = Steps::new();
    let ready = steps.step("fetch", fetch::fetch_full);
    steps_of_check(&mut steps);
    if ready {
        steps.step("tests", tests);
        steps.step("redis-tests", || redis_tests::run(&[]));
        steps.step("client-tests", client_tests::run_with_python);
        steps.step("differential", differential);
    }
    steps.finish()
}

/// As many commands as take one or two minutes, the same each time.
fn differential() -> Result<()> {
    crate::differential(&["--seed", "1", "--commands", "150000"].map(String::from))
}

fn tests() -> Result<()> {
    // With this set, a test whose tools are missing fails instead of saying that it was left out.
    let mut environment = vec![("TIDEMARK_TEST_ALL", "1".to_string())];
    // A run that fails fails again. Other inputs: PROPTEST_RNG_SEED=N ./x test, or `cargo test`, which draws anew.
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        environment.push(("PROPTEST_RNG_SEED", "1".to_string()));
    }
    lanes::run_all(&environment)
}
