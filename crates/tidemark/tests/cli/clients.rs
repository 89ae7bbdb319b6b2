//! Client libraries that people use, against a cluster: what one writes in a region, another reads in the next.

use crate::harness::{Up, eventually, has, said};
use std::path::PathBuf;
use std::process::{Command, Output};

const PYTHON: &str = r#"
import sys, redis
for protocol in (2, 3):
    r = redis.Redis(port=int(sys.argv[1]), protocol=protocol, decode_responses=True)
    assert r.ping()
    assert r.set("py", "plum") and r.get("py") == "plum"
    assert r.mget("py", "missing") == ["plum", None]
    assert r.exists("py") == 1 and r.delete("py") == 1 and r.get("py") is None
    pipe = r.pipeline(transaction=False)
    for n in range(100):
        pipe.set("py:%d" % n, n)
    assert all(pipe.execute())
    assert r.mget(["py:%d" % n for n in range(100)]) == [str(n) for n in range(100)]
r.set("py", "done")
print("fine")
"#;

const NODE: &str = r#"
const Redis = require("ioredis");
const assert = require("assert");
(async () => {
  const r = new Redis(Number(process.argv[2]), "127.0.0.1");
  assert.strictEqual(await r.set("js", "plum"), "OK");
  assert.strictEqual(await r.get("js"), "plum");
  assert.deepStrictEqual(await r.mget("js", "missing"), ["plum", null]);
  const pipe = r.pipeline();
  for (let n = 0; n < 100; n++) pipe.set("js:" + n, n);
  for (const [error, answer] of await pipe.exec()) assert(error === null && answer === "OK");
  assert.strictEqual(await r.get("js:99"), "99");
  await r.set("js", "done");
  await r.quit();
  console.log("fine");
})().catch((error) => { console.error(error); process.exit(1); });
"#;

/// Where `./x test` has put something; none if it did not.
fn installed(variable: &str) -> Option<PathBuf> {
    let place = std::env::var_os(variable).map(PathBuf::from);
    assert!(place.is_some() || std::env::var_os("TIDEMARK_TEST_ALL").is_none(), "{variable} is not set");
    if place.is_none() {
        eprintln!("{variable} is not set: the test is left out; `./x test` runs it");
    }
    place
}

#[track_caller]
fn is_fine(output: &Output, up: &Up) {
    assert!(output.status.success() && said(output).contains("fine"), "{}\n{}", said(output), up.logs());
}

#[test]
fn redis_py() {
    let Some(python) = installed("TIDEMARK_TEST_PYTHON") else { return };
    let up = Up::start(&["--regions", "2"]);
    let output = Command::new(python).args(["-c", PYTHON, &up.port("a").to_string()]).output().unwrap();
    is_fine(&output, &up);
    eventually("done".into(), || up.redis("b", &["GET", "py"]));
    up.stop();
}

#[test]
fn ioredis() {
    let Some(modules) = installed("TIDEMARK_TEST_NODE_MODULES").filter(|_| has("node")) else { return };
    let up = Up::start(&["--regions", "2"]);
    let script = up.dir.join("client.js");
    std::fs::write(&script, NODE).unwrap();
    let output =
        Command::new("node").arg(script).arg(up.port("a").to_string()).env("NODE_PATH", modules).output();
    is_fine(&output.unwrap(), &up);
    eventually("done".into(), || up.redis("b", &["GET", "js"]));
    up.stop();
}
