//! The results database: real files, several writers, and queries that only read.

use crate::common::{rows_of, run_toy};
use serde_json::json;
use std::path::Path;
use tidemark_experiments::{NewRun, Reader, Row, Store};

fn row(value: serde_json::Value) -> Row {
    serde_json::from_value(value).unwrap()
}

fn begin(store: &mut Store, experiment: &str) -> i64 {
    let run = NewRun { experiment, part: "simulated", options: "{}", ..NewRun::default() };
    store.begin(&run).unwrap()
}

#[test]
fn every_experiment_has_a_view_with_all_columns_that_its_rows_have_had() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("results.sqlite")).unwrap();
    let first = begin(&mut store, "gentlerain-fig9.10");
    store.add_point(first, 0, &row(json!({"dcs": 3})), &[row(json!({"dcs": 3, "get-us": 1.5}))]).unwrap();
    let second = begin(&mut store, "gentlerain-fig9.10");
    store
        .add_point(second, 0, &Row::new(), &[row(json!({"put.us": 2})), row(json!({"put.us": true}))])
        .unwrap();
    let all =
        rows_of(folder.path(), "SELECT run, line, dcs, get_us, put_us FROM gentlerain_fig9_10 ORDER BY 1, 2");
    let wanted = json!([
        {"run": 1, "line": 0, "dcs": 3, "get_us": 1.5, "put_us": null},
        {"run": 2, "line": 0, "dcs": null, "get_us": null, "put_us": 2},
        {"run": 2, "line": 1, "dcs": null, "get_us": null, "put_us": 1},
    ]);
    assert_eq!(all, wanted);
    let views = Reader::open(&folder.path().join("results.sqlite")).unwrap().views().unwrap();
    let view = views.iter().find(|view| view.name == "gentlerain_fig9_10").unwrap();
    assert_eq!(view.columns[..3], ["run", "part", "started"]);
}

#[test]
fn throughput_and_latency_are_found_in_rows_of_all_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("results.sqlite")).unwrap();
    let measured = json!({"protocol": "cops", "workload": "95:5", "clients": 8, "throughput": 1000,
                          "get_p50_us": 110, "put_p99_9_us": 900});
    store.add_bench(&row(measured), "1", "a machine").unwrap();
    let throughput =
        rows_of(folder.path(), "SELECT experiment, protocol, mix, clients, throughput FROM throughput");
    let wanted =
        json!({"experiment": "bench", "protocol": "cops", "mix": "95:5", "clients": 8, "throughput": 1000});
    assert_eq!(throughput, json!([wanted]));
    let latency = rows_of(folder.path(), "SELECT operation, percentile, latency_us FROM latency ORDER BY 1");
    let get = json!({"operation": "get", "percentile": "p50", "latency_us": 110});
    let put = json!({"operation": "put", "percentile": "p99_9", "latency_us": 900});
    assert_eq!(latency, json!([get, put]));
    assert_eq!(rows_of(folder.path(), "SELECT clients FROM bench"), json!([{"clients": 8}]));
}

#[test]
fn two_runs_are_compared_where_they_measured_the_same_points() {
    let folder = tempfile::tempdir().unwrap();
    let first = run_toy(folder.path(), "", true).parts[0].run;
    let second = run_toy(folder.path(), "", false).parts[0].run;
    let sql = format!(
        "SELECT count(*) AS n, min(ratio) AS low, max(ratio) AS high, min(name) AS name
                       FROM compare WHERE a = {first} AND b = {second}"
    );
    let found = rows_of(folder.path(), &sql);
    assert_eq!(found, json!([{"n": 4, "low": 1.0, "high": 1.0, "name": "throughput"}]));
}

#[test]
fn a_query_cannot_change_anything_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    run_toy(folder.path(), "", true);
    let path = folder.path().join("results.sqlite");
    let reader = Reader::open(&path).unwrap();
    let said = |sql: &str| format!("{:#}", reader.query(sql).unwrap_err());
    for write in [
        "DELETE FROM runs",
        "INSERT INTO rows VALUES (1, 2, 3, '{}')",
        "DROP VIEW toy_1",
        "CREATE TABLE mine (a)",
        "PRAGMA user_version = 7",
        "ATTACH 'other.sqlite' AS other",
        "VACUUM",
    ] {
        assert!(said(write).starts_with("queries only read"), "{write}: {}", said(write));
    }
    assert_eq!(said("SELECT 1; DELETE FROM runs"), "give one query, not several");
    assert_eq!(said("SELECT goodput FROM runs"), "no such column: goodput");
    assert_eq!(said("SELECT"), "incomplete input");
    assert!(said("").starts_with("this is no query"), "{}", said(""));
    let median = reader.query("SELECT median(throughput) AS m FROM toy_1").unwrap();
    assert_eq!(median.json(), json!([{"m": 300.0}]));
    assert_eq!(reader.query("SELECT count(*) AS n FROM runs").unwrap().json(), json!([{"n": 1}]));
}

#[test]
fn a_file_that_is_none_of_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let said = |path: &Path| Store::open(path).err().map(|error| error.to_string()).unwrap_or_default();
    std::fs::write(path("text"), "no database, and long enough to be seen as something else\n".repeat(50))
        .unwrap();
    assert!(said(&path("text")).contains("is no SQLite database"), "{}", said(&path("text")));
    let read = Reader::open(&path("text")).err().unwrap().to_string();
    assert!(read.contains("is no SQLite database"), "{read}");
    let other = rusqlite::Connection::open(path("other")).unwrap();
    other.execute_batch("CREATE TABLE theirs (a)").unwrap();
    assert!(said(&path("other")).contains("is a database of something else"), "{}", said(&path("other")));
    let read = Reader::open(&path("other")).err().unwrap().to_string();
    assert!(read.contains("has no results of tidemark"), "{read}");
    let tables: i64 = other.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
    assert!(said(&path("no/where")).contains("there is no directory"), "{}", said(&path("no/where")));
    let read = Reader::open(&path("missing")).err().unwrap().to_string();
    assert!(read.contains("there are no results in") && !path("missing").exists(), "{read}");
    // Views of an older version are made again.
    drop(Store::open(&path("newer")).unwrap());
    let older = rusqlite::Connection::open(path("newer")).unwrap();
    older.execute_batch("DROP VIEW latency; PRAGMA user_version = 1").unwrap();
    drop(Store::open(&path("newer")).unwrap());
    assert!(Reader::open(&path("newer")).unwrap().query("SELECT latency_us FROM latency").is_ok());
    rusqlite::Connection::open(path("newer")).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(said(&path("newer")).contains("newer version of tidemark"), "{}", said(&path("newer")));
}

#[test]
fn what_is_no_row_is_refused_and_nothing_of_its_point_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("results.sqlite")).unwrap();
    let id = begin(&mut store, "toy-1");
    let bad = [row(json!({"a": 1})), row(json!({"a": [1]}))];
    let error = store.add_point(id, 0, &Row::new(), &bad).unwrap_err().to_string();
    assert_eq!(error, "a row's a is [1]: no number, word or truth value");
    let error = store.add_point(id, 0, &Row::new(), &[row(json!({"run": 1}))]).unwrap_err();
    assert!(format!("{error:#}").contains("\"run\" is a column that every view has"), "{error:#}");
    assert!(store.add_point(99, 0, &Row::new(), &[]).unwrap_err().to_string().contains("there is no run 99"));
    store.add_point(id, 0, &Row::new(), &[row(json!({"a": 1}))]).unwrap();
    assert_eq!(rows_of(folder.path(), "SELECT count(*) AS n FROM rows"), json!([{"n": 1}]));
}

/// Adds points to a run of its own, each with a column that no other has.
fn write_some(path: &Path, writer: usize) {
    let mut store = Store::open(path).unwrap();
    let id = begin(&mut store, "shared");
    for number in 0..20 {
        let row =
            Row::from([(format!("c{writer}_{number}"), json!(number)), ("writer".into(), json!(writer))]);
        store.add_point(id, number, &Row::new(), &[row]).unwrap();
    }
    store.finish(id).unwrap();
}

/// Run by the next test in processes of their own.
#[test]
fn writer() {
    if let Some(path) = std::env::var_os("TIDEMARK_TEST_WRITER") {
        write_some(Path::new(&path), std::process::id() as usize);
    }
}

#[test]
fn several_processes_write_one_new_file_at_once_while_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let start = || {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "results::writer"]).env("TIDEMARK_TEST_WRITER", &path).spawn().unwrap()
    };
    let mut writers: Vec<_> = (0..4).map(|_| start()).collect();
    write_some(&path, 0);
    let during = rows_of(folder.path(), "SELECT count(*) AS n FROM shared");
    assert!(during[0]["n"].as_i64().unwrap() >= 20);
    for writer in &mut writers {
        assert!(writer.wait().unwrap().success());
    }
    let sql =
        "SELECT count(*) AS n, count(DISTINCT writer) AS writers, count(DISTINCT run) AS runs FROM shared";
    assert_eq!(rows_of(folder.path(), sql), json!([{"n": 100, "writers": 5, "runs": 5}]));
    let views = Reader::open(&path).unwrap().views().unwrap();
    let view = views.iter().find(|view| view.name == "shared").unwrap();
    // Those that every view has, `writer`, and twenty of each.
    assert_eq!(view.columns.len(), 6 + 1 + 100);
}
