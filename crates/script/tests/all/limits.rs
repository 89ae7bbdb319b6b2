//! A script that uses too much is stopped, and cannot help it.

use crate::support::Fixture;
use std::time::Duration;
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
        let before = fixture.looks.get();
        assert_eq!(fixture.end(source), Ended::Stopped("time"), "{source}");
        // A look when it begins, and the 31st after it is beyond 30 ms.
        assert_eq!(fixture.looks.get() - before, 32, "{source}");
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

/// Values that Rust code holds take places of which there are 8,000: a script that needed more ended the process.
#[test]
fn many_values_are_no_danger() {
    let mut fixture = Fixture::new();
    let strings = "local t = {} for i = 1, 20000 do t['k' .. i] = 'v' .. i end ";
    let list = "local t = {} for i = 1, 20000 do t[i] = 'v' .. i end ";
    for (source, expected) in [
        (format!("{strings} local u = cmsgpack.unpack(cmsgpack.pack(t)) return u.k20000"), Ok("v20000")),
        (format!("{list} local u = cmsgpack.unpack(cmsgpack.pack(t)) return u[20000]"), Ok("v20000")),
        (format!("{strings} return cjson.decode(cjson.encode(t)).k20000"), Ok("v20000")),
        (format!("{list} return cjson.decode(cjson.encode(t))[20000]"), Ok("v20000")),
        (format!("{list} return select('#', unpack(t, 1, 7000)) .. ''"), Ok("7000")),
        ("local t = {} for i = 1, 7900 do t[i] = i end return redis.call('echo', unpack(t))".into(), Ok("1")),
        (
            "local t = {} for i = 1, 9000 do t[i] = i end return unpack(t)".into(),
            Err("too many results to unpack"),
        ),
        (format!("{list} return redis.call('echo', unpack(t, 1, 7000))"), Ok("v1")),
        (format!("{list} return redis.call('echo', unpack(t, 1, 7001))"), Err("too many results to unpack")),
        (format!("{list} return redis.call('echo', unpack(t))"), Err("too many results to unpack")),
        (format!("{list} return cmsgpack.unpack(cmsgpack.pack(unpack(t, 1, 7000)))"), Ok("v1")),
        ("return cmsgpack.unpack(string.rep('\\161x', 20000))".into(), Err("too many results to unpack")),
        (
            "return struct.unpack(string.rep('s', 20000), string.rep('x\\0', 20000))".into(),
            Err("too many results to unpack"),
        ),
    ] {
        let reply = fixture.run(&source);
        match (&reply, expected) {
            (Reply::Bulk(bytes), Ok(text)) => assert_eq!(bytes, text.as_bytes(), "{source}"),
            (Reply::Error(text), Err(why)) => assert!(text.contains(why), "{source}: {text}"),
            _ => panic!("{source}: {reply:?}, not {expected:?}"),
        }
    }
    for number in 0..2_000 {
        assert_eq!(fixture.run(&format!("return {number}")), Reply::Int(number));
    }
    let many: String =
        (0..401).map(|n| format!("redis.register_function('f{n}', function() end)\n")).collect();
    let reply = fixture.load(&format!("#!lua name=l\n{many}"));
    assert!(format!("{reply:?}").contains("at most 400 functions"), "{reply:?}");
}
