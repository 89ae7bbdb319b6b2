//! What redis-server 7.0.15 answers when libraries are loaded and their functions are called, and what this interpreter does.
//!
//! A line that begins with `> ` is a library, its ends of lines written as `\n`; or, behind `@`, a function of `library.lua`.

use crate::support::{Fixture, render};
use std::time::Duration;
use tidemark_core::Reply;
use tidemark_script::Ended;

const LIBRARY: &str = include_str!("../transcripts/library.lua");

#[test]
fn libraries_of_functions_answer_as_in_redis() {
    let lines: Vec<&str> = include_str!("../transcripts/functions.txt").lines().collect();
    assert!(lines.len() > 100, "the transcript is missing");
    let mut fixture = Fixture::new();
    let mut wrong = Vec::new();
    for pair in lines.chunks(2) {
        let source = pair[0].strip_prefix("> ").expect("a library or a function");
        fixture.limits.run = Duration::from_millis(if source.contains("while true") { 30 } else { 20_000 });
        let reply = match source.strip_prefix('@') {
            None => fixture.load(&source.replace("\\n", "\n")),
            Some(function) => match fixture.end_function(LIBRARY, Some(function)) {
                Ended::Answered(reply) => reply,
                Ended::Stopped(limit) => panic!("{function} was stopped: {limit}"),
            },
        };
        let answer = render(&reply);
        if answer != pair[1] {
            wrong.push(format!("{source}\n  redis    {}\n  tidemark {answer}", pair[1]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_function_that_runs_too_long_is_stopped_and_a_script_finds_nothing_of_it() {
    let mut fixture = Fixture::new();
    fixture.limits.run = Duration::from_millis(30);
    let endless = "#!lua name=l\nredis.register_function('f', function() while true do end end)";
    assert_eq!(fixture.end_function(endless, Some("f")), Ended::Stopped("time"));
    assert_eq!(fixture.end_function(LIBRARY, Some("f")), Ended::Answered(Reply::Int(1)));
    let told = fixture.run("return redis.register_function");
    assert_eq!(told, Reply::Null, "scripts register nothing");
}
