//! The tables of docs/types.md, row by row: two regions, a cut after the first column, both sides, a heal.

use crate::support::{Client, Cluster, eventually, text};
use tidemark_patience::{Sought, wait_for};
use tidemark_wire::resp::Reply;

/// A row: before, A, B, the question and its answer.
struct Row {
    line: String,
    parts: [Vec<Vec<String>>; 3],
    question: Vec<String>,
    answer: String,
}

fn commands(cell: &str) -> Vec<Vec<String>> {
    let words = |command: &str| command.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    cell.trim().trim_matches('`').split(';').map(words).filter(|words| !words.is_empty()).collect()
}

fn rows() -> Vec<Row> {
    let document = include_str!("../../../../docs/types.md");
    let rows = document.lines().filter(|line| line.starts_with('|') && line.contains('→'));
    let rows: Vec<Row> = rows
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            let (question, answer) = cells[3].split_once('→').expect("the line has an arrow");
            let parts = [commands(cells[0]), commands(cells[1]), commands(cells[2])];
            let question = commands(question).remove(0);
            Row { line: line.into(), parts, question, answer: answer.trim().trim_matches('`').into() }
        })
        .collect();
    assert!(rows.len() > 50, "{} rows", rows.len());
    rows
}

/// The words of a command, on the key of row `number`.
fn words(command: &[String], number: usize) -> Vec<String> {
    let own = |word: &String| match word.as_str() {
        "k" | "other" => format!("{word}:{number}"),
        word => word.to_string(),
    };
    command.iter().map(own).collect()
}

fn run(client: &mut Client, command: &[String], number: usize) -> Reply {
    let words = words(command, number);
    client.call(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// All words of a reply; those of a set or a hash in order, and those of a document without the token.
fn shown(reply: &Reply, question: &str) -> String {
    let mut words = flat(reply);
    if question == "TIDE.DOC" {
        words.remove(0);
    }
    let mut words: Vec<String> = match question {
        "HGETALL" => words.chunks(2).map(|pair| pair.join(" ")).collect(),
        _ => words,
    };
    if ["HGETALL", "SMEMBERS"].contains(&question) {
        words.sort();
    }
    if words.is_empty() { "(empty array)".into() } else { words.join(" ") }
}

fn flat(reply: &Reply) -> Vec<String> {
    match reply.items() {
        Some(items) => items.iter().flat_map(flat).collect(),
        None => vec![text(reply)],
    }
}

#[test]
fn regions_agree_on_what_the_tables_of_types_say() {
    let cluster = Cluster::regions("tidemark", 2, 2);
    let (rows, mut a, mut b) = (rows(), cluster.client(0), cluster.client(1));
    let play = |client: &mut Client, part: usize| {
        for (number, row) in rows.iter().enumerate() {
            for command in &row.parts[part] {
                let reply = run(client, command, number);
                assert!(reply.error().is_none(), "{}: {command:?}: {reply:?}", row.line);
            }
        }
    };
    play(&mut a, 0);
    a.ok(&["SET", "begun", "1"]);
    eventually("the other region has seen the beginning", || b.text(&["GET", "begun"]) == "1");
    assert!(cluster.admin(0, "/admin/cut", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
    eventually("the link is down", || {
        let page = cluster.page(0, "/status");
        page.contains(r#""stream_in":false"#) && page.contains(r#""stream_out":false"#)
    });
    play(&mut a, 1);
    a.ok(&["SET", "of a", "1"]);
    play(&mut b, 2);
    assert_eq!(b.text(&["GET", "of a"]), "-", "neither has seen the other");
    assert!(cluster.admin(0, "/admin/heal", "{}").contains("200 OK"));
    let wrong = |client: &mut Client| -> Vec<String> {
        let shows = |(number, row): (usize, &Row)| {
            let shown = shown(&run(client, &row.question, number), &row.question[0]);
            (shown != row.answer).then(|| format!("{} is {shown}", row.line))
        };
        rows.iter().enumerate().filter_map(shows).collect()
    };
    let sought = Sought::new("all rows are right in both regions");
    wait_for(&sought, || {
        let (a, b) = (wrong(&mut a), wrong(&mut b));
        sought.found(format!("in A: {a:#?}\nin B: {b:#?}"));
        (a.is_empty() && b.is_empty()).then_some(())
    });
}
