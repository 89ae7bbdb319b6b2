//! Programs that tests run if they are there, and packages that `./x fetch --full` has installed as they are pinned. Nothing is
//! installed here, so that a registry that does not answer is no test that failed.

use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tidemark_differential::servers::check_redis;

/// Clients of ours that are not written in Rust.
pub(crate) const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients");

/// The versions of what is installed.
const PINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/pins");

/// Where it is installed.
const FETCHED: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/../fetched");

/// Runs a command to its end, and ends the processes that it leaves behind; what it printed. That goes through a file: a pipe would stay
/// open for as long as one of those lives.
///
/// # Panics
/// If it fails, with everything that it said.
pub(crate) fn run(command: &mut Command) -> String {
    let mut file = tempfile::tempfile().expect("a file");
    let end = || file.try_clone().expect("another handle");
    command.stdin(Stdio::null()).stdout(end()).stderr(end()).process_group(0);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let status = child.wait().expect("it ends");
    let group = format!("-{}", child.id());
    let kill = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    kill.expect("kill can be run"); // and fails if none is left
    let mut said = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut said)).expect("what it said");
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(status.success(), "{command:?}: {status}\n{said}");
    said
}

/// Leaves out what needs something that is not there; where all tests have to run, that is an error of the environment.
fn left_out<T>(what: &str) -> Option<T> {
    let said = format!("environment: {what}; `./x fetch --full` installs what tests need");
    assert!(std::env::var_os("TIDEMARK_TEST_ALL").is_none(), "{said}");
    eprintln!("{said}. What needs it is left out.");
    None
}

/// Whether a program is in the PATH.
pub(crate) fn has(program: &str, argument: &str) -> bool {
    let found = Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success());
    found || left_out::<()>(&format!("{program} is missing")).is_some()
}

/// Whether redis-server is there, in the version with which replies are compared.
pub(crate) fn has_redis_server() -> bool {
    match check_redis() {
        Ok(()) => true,
        Err(error) => left_out::<()>(&format!("{error:#}")).is_some(),
    }
}

/// A folder of installed packages, if its lock file is the pinned one.
fn fetched(name: &str, lock: &str, pinned: &Path) -> Option<PathBuf> {
    let folder = Path::new(FETCHED).join(name);
    let pinned = std::fs::read(pinned).expect("pins");
    let same = std::fs::read(folder.join(lock)).is_ok_and(|installed| installed == pinned);
    if same { Some(folder) } else { left_out(&format!("{name} is not installed as it is pinned")) }
}

fn python_of(name: &str) -> Option<PathBuf> {
    let pinned = Path::new(PINS).join(format!("python/{name}.txt"));
    let folder = fetched(&format!("python-{name}"), "requirements.txt", &pinned)?;
    Some(folder.join("bin/python3"))
}

/// A Python with redis-py.
pub(crate) fn python() -> Option<PathBuf> {
    python_of("libraries")
}

/// A Python with Celery and Django.
pub(crate) fn python_of_applications() -> Option<PathBuf> {
    python_of("applications")
}

fn modules_of(name: &str) -> Option<PathBuf> {
    let pinned = Path::new(PINS).join(format!("node/{name}/package-lock.json"));
    fetched(&format!("node-{name}"), "package-lock.json", &pinned)
}

/// A folder whose scripts can import ioredis, node-redis and Yjs.
pub(crate) fn node_modules() -> Option<PathBuf> {
    modules_of("libraries")
}

/// A folder whose scripts can import BullMQ, with the ioredis that it wants.
pub(crate) fn bullmq() -> Option<PathBuf> {
    modules_of("bullmq")
}

/// A Chromium: the one that `CHROMIUM` names, else the pinned one.
pub(crate) fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    named.or_else(|| Some(modules_of("chromium")?.join("chromium")))
}

/// A package of ours with its modules, beside `clients`.
pub(crate) fn package(path: &str) -> Option<PathBuf> {
    let folder = Path::new(CLIENTS).join(path);
    let read = |file: &str| std::fs::read(folder.join(file)).ok();
    if read("node_modules/.installed-lock.json") == read("package-lock.json") {
        return Some(folder);
    }
    left_out(&format!("the modules of {path} are not installed as they are pinned"))
}

/// Go, with the modules of one of our programs in its cache: it is not to ask for others.
fn go(folder: &str) -> Option<Command> {
    if !has("go", "version") {
        return None;
    }
    let go = || {
        let mut go = Command::new("go");
        go.current_dir(folder).env("GOPROXY", "off");
        go
    };
    let there = go().args(["mod", "download"]).output().is_ok_and(|output| output.status.success());
    if there { Some(go()) } else { left_out(&format!("the modules of {folder} are not in Go's cache")) }
}

/// Where programs are built that are kept between runs.
fn shelf(name: &str) -> PathBuf {
    let shelf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(name);
    std::fs::create_dir_all(&shelf).expect("a directory under target/");
    shelf
}

/// Builds a program in Go. Version control is left alone: it may belong to another user than the one who runs tests.
fn build(go: &mut Command, program: &Path, package: &str) {
    run(go.args(["build", "-buildvcs=false", "-o"]).arg(program).arg(package));
}

/// The shop of `clients/session/go`, which is also vetted. That it does not compile is no reason to leave it out.
pub(crate) fn session_go() -> Option<PathBuf> {
    let folder = format!("{CLIENTS}/session/go");
    let program = shelf("session-go").join("shop");
    run(go(&folder)?.args(["vet", "./..."]));
    build(&mut go(&folder)?, &program, "./shop");
    Some(program)
}

/// The program of `clients/ycsb-go`.
pub(crate) fn ycsb_go() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = || {
        let program = shelf("ycsb-go").join("ycsb-go");
        build(&mut go(&format!("{CLIENTS}/ycsb-go"))?, &program, ".");
        Some(program)
    };
    BUILT.get_or_init(built).as_deref()
}

/// The folder of jars of `clients/ycsb`, whose own tests have passed.
pub(crate) fn ycsb_java() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = || {
        if !has("javac", "--version") || !has("mvn", "--version") {
            return None;
        }
        let folder = format!("{CLIENTS}/ycsb");
        let repository = fetched("maven", "pom.xml", &Path::new(&folder).join("pom.xml"))?.join("repository");
        let target = shelf("ycsb-java");
        let mut maven = Command::new("mvn");
        maven.args(["-q", "-B", "--offline", &format!("-Dmaven.repo.local={}", repository.display())]);
        maven.arg(format!("-Dtidemark.target={}", target.display())).arg("package");
        run(maven.current_dir(folder));
        Some(target.join("lib"))
    };
    BUILT.get_or_init(built).as_deref()
}
