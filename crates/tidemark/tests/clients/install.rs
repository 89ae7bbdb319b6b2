//! Getting hold of the clients.

use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::panic::{UnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Clients of ours that are not written in Rust.
pub(crate) const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients");

/// One installation at a time.
static BUSY: Mutex<()> = Mutex::new(());

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

fn exists(program: &str, argument: &str) -> bool {
    Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success())
}

/// Makes sure that `program` can be run: installs Debian package `package` if it cannot.
pub(crate) fn program(program: &str, package: &str) {
    let _busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    if exists(program, "--version") {
        return;
    }
    eprintln!("installing {package} for {program}");
    let root = run(Command::new("id").arg("-u")).trim() == "0";
    let apt = |arguments: &[&str]| {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.args(["-n", "apt-get"]);
        }
        run(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update"]);
    apt(&["install", "--yes", "--no-install-recommends", package]);
    assert!(exists(program, "--version"), "{package} was installed, but {program} cannot be run");
}

/// Makes sure that Playwright's tests in `folder` find a Chromium: one that is there, else Debian's, else Playwright's own. Whether they do.
pub(crate) fn chromium(folder: &Path) -> bool {
    let names = ["chromium", "google-chrome", "chromium-browser"];
    if names.into_iter().any(|name| exists(name, "--version"))
        || catch_unwind(|| program("chromium", "chromium")).is_ok()
    {
        return true;
    }
    let playwright = || {
        let mut npx = Command::new("npx");
        run(npx.args(["playwright-core", "install", "--with-deps", "chromium"]).current_dir(folder));
    };
    or_left_out("Chromium", playwright).is_some()
}

/// Where installed libraries are kept between runs.
fn shelf(name: &str) -> PathBuf {
    let shelf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(name);
    std::fs::create_dir_all(&shelf).expect("a directory under target/");
    shelf
}

/// A Python with redis-py: the one that `./x test` has made, else one with the newest.
pub(crate) fn python() -> PathBuf {
    let _busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(python) = std::env::var_os("TIDEMARK_TEST_PYTHON") {
        return python.into();
    }
    let python = shelf("python").join("bin/python3");
    let has_it = |python: &Path| {
        let import = Command::new(python).args(["-c", "import redis"]).output();
        import.is_ok_and(|output| output.status.success())
    };
    if !has_it(&python) {
        eprintln!("installing redis-py with pip");
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(shelf("python")));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "redis"]));
    }
    python
}

/// A Python with the newest Celery and Django.
pub(crate) fn python_of_applications() -> PathBuf {
    let _busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    let python = shelf("applications").join("bin/python3");
    let imports = Command::new(&python).args(["-c", "import celery, django, redis, packaging"]).output();
    if !imports.is_ok_and(|output| output.status.success()) {
        eprintln!("installing Celery and Django with pip");
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(shelf("applications")));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "celery[redis]", "django"]));
    }
    python
}

/// A folder whose scripts can import the newest ioredis and node-redis.
pub(crate) fn node_modules() -> PathBuf {
    node_modules_of("node", &["ioredis", "redis"])
}

/// A folder whose scripts can import the newest Yjs and node-redis.
pub(crate) fn yjs() -> PathBuf {
    node_modules_of("yjs", &["redis", "yjs"])
}

/// A folder whose scripts can import the newest BullMQ, with the ioredis that it wants.
pub(crate) fn bullmq() -> PathBuf {
    node_modules_of("bullmq", &["bullmq", "ioredis"])
}

fn node_modules_of(name: &str, packages: &[&str]) -> PathBuf {
    let _busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = shelf(name);
    let has = |package: &&str| folder.join("node_modules").join(package).join("package.json").exists();
    if !packages.iter().all(has) {
        eprintln!("installing {} with npm", packages.join(" and "));
        std::fs::write(folder.join("package.json"), "{\"private\": true, \"type\": \"module\"}\n")
            .expect("a file");
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund"]).args(packages).current_dir(&folder);
        run(&mut npm);
    }
    folder
}

/// Whether a program can be run; where all tests have to run, it must be.
fn has(program: &str, argument: &str) -> bool {
    let found = exists(program, argument);
    assert!(found || std::env::var_os("TIDEMARK_TEST_ALL").is_none(), "{program} is missing");
    if !found {
        eprintln!("{program} is missing: what needs it is left out");
    }
    found
}

/// What `install` installs; none if it fails, as it does without a network, unless all tests have to run.
pub(crate) fn or_left_out<T>(what: &str, install: impl FnOnce() -> T + UnwindSafe) -> Option<T> {
    match catch_unwind(install) {
        Ok(installed) => Some(installed),
        Err(why) if std::env::var_os("TIDEMARK_TEST_ALL").is_some() => resume_unwind(why),
        Err(_) => {
            eprintln!("{what} cannot be installed (is there a network?): what needs it is left out");
            None
        }
    }
}

/// The shop of `clients/session/go`; none if there is no Go, or if what it imports cannot be had. That it does not compile is no reason to
/// leave it out.
pub(crate) fn session_go() -> Option<PathBuf> {
    let _busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    let program = shelf("session-go").join("shop");
    let folder = format!("{CLIENTS}/session/go");
    if !has("go", "version") {
        return None;
    }
    or_left_out("go-redis", || run(Command::new("go").args(["mod", "download"]).current_dir(&folder)))?;
    run(Command::new("go").args(["vet", "./..."]).current_dir(&folder));
    let build = ["build", "-buildvcs=false", "-o"];
    run(Command::new("go").args(build).arg(&program).arg("./shop").current_dir(&folder));
    Some(program)
}

/// The program of `clients/ycsb-go`; none if there is no Go.
pub(crate) fn ycsb_go() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let program = shelf("ycsb-go").join("ycsb-go");
        // Version control is left alone: it may belong to another user than the one who runs tests.
        let build = ["build", "-buildvcs=false", "-o"];
        let mut go = Command::new("go");
        go.args(build).arg(&program).arg(".").current_dir(format!("{CLIENTS}/ycsb-go"));
        has("go", "version").then(|| {
            run(&mut go);
            program
        })
    };
    BUILT.get_or_init(build).as_deref()
}

/// The folder of jars of `clients/ycsb`, whose own tests have passed; none if there is no Java or no Maven.
pub(crate) fn ycsb_java() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let target = shelf("ycsb-java");
        let target_is = format!("-Dtidemark.target={}", target.display());
        let mut maven = Command::new("mvn");
        maven.args(["-q", "-B", &target_is, "package"]).current_dir(format!("{CLIENTS}/ycsb"));
        (has("javac", "--version") && has("mvn", "--version")).then(|| {
            run(&mut maven);
            target.join("lib")
        })
    };
    BUILT.get_or_init(build).as_deref()
}
