//! A script that uses too much is stopped, and cannot help it.

mod support;

use std::time::{Duration, Instant};
use support::Fixture;
use tidemark_core::Reply;
use tidemark_script::Ended;

fn hasty() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.limits.run = Duration::from_millis(30);
    fixture
}

#[test]
fn a_script_that_runs_too_long_is_stopped_whatever_it_catches() {
    let mut fixture = hasty();
    let endless = [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() end) end",
        "local c = coroutine.wrap(function() while true do end end) c()",
        "while true do local c = coroutine.create(function() while true do end end) coroutine.resume(c) end",
        "while true do redis.call('ping') end",
        "while true do redis.pcall('nosuch') end",
        "local function f() return f() end f()",
        "local t = setmetatable({}, {__index = function() while true do end end}) return t.x",
    ];
    for source in endless {
        let begin = Instant::now();
        assert_eq!(fixture.end(source), Ended::Stopped("time"), "{source}");
        assert!(begin.elapsed() < Duration::from_secs(5), "{source}");
        assert_eq!(fixture.run("return 1"), Reply::Int(1), "after {source}");
    }
}

#[test]
fn a_script_that_holds_too_much_is_stopped_and_the_next_one_runs() {
    let mut fixture = Fixture::new();
    let greedy = [
        "local s = string.rep('a', 100000000) return s",
        "local t = {} while true do t[#t + 1] = string.rep('a', 100000) .. #t end",
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
    ];
    for source in greedy {
        assert_eq!(fixture.end(source), Ended::Stopped("memory"), "{source}");
        assert_eq!(
            fixture.run("return string.rep('a', 1000000):len()"),
            Reply::Int(1_000_000),
            "after {source}"
        );
    }
}

#[test]
fn a_script_leaves_nothing_to_the_next_one() {
    let mut fixture = Fixture::new();
    fixture
        .run("local t = KEYS t[1] = 'a' redis.setresp(3) math.random() cjson.encode_max_depth(1) return 1");
    assert_eq!(fixture.run("return #KEYS"), Reply::Int(0));
    assert_eq!(fixture.run("return true"), Reply::Int(1));
    assert_eq!(fixture.run("return cjson.encode({{1}})"), Reply::bulk(b"[[1]]"));
    let draw = "return {math.random(1000000), math.random(1000000)}";
    assert_eq!(fixture.run(draw), fixture.run(draw), "the same seed draws the same");
}

#[test]
fn commands_are_carried_out_once_for_each_call_and_lines_are_logged() {
    let mut fixture = Fixture::new();
    fixture.run("for i = 1, 5 do redis.call('ping') end redis.log(redis.LOG_WARNING, 'a', 'b')");
    assert_eq!((fixture.calls, fixture.logged.get()), (5, 1));
}
