//! The session helpers of `clients/session`: a shop in two regions, behind a client whose requests alternate between them.
//! Without the helper the user's cart is not the one that was just filled; with it, it always is.

use crate::harness::resp::{Client, text};
use crate::harness::up::Up;
use crate::harness::{Cluster, Scratch};
use crate::install;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use tidemark_patience::{PATIENCE, wait_for};

const ROUNDS: usize = 6;
/// What a version takes from one region to the other, in milliseconds.
const LINK_MS: u64 = 300;

/// A web application that runs until this value ends.
struct Shop {
    child: Child,
    address: SocketAddr,
}

impl Shop {
    fn start(command: &mut Command, redis: SocketAddr, mode: &[&str]) -> Self {
        command.args([redis.ip().to_string(), redis.port().to_string()]).args(mode);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the shop runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let port = line.trim().strip_prefix("port ").and_then(|port| port.parse().ok());
        let port: u16 = port.unwrap_or_else(|| panic!("the shop said {line:?}"));
        Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)) }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A user's browser: it sends back the token that came last, in a header or in a cookie.
#[derive(Default)]
struct User {
    token: Option<String>,
    cookie: Option<&'static str>,
}

impl User {
    /// The status and the body of the response.
    fn request(&mut self, shop: &Shop, method: &str, body: &str) -> (u16, String) {
        self.ask(shop, &format!("{method} /cart"), body)
    }

    fn ask(&mut self, shop: &Shop, what: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(shop.address).expect("the shop listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let token = match (&self.token, self.cookie) {
            (None, _) => String::new(),
            (Some(token), None) => format!("Tide-Session: {token}\r\n"),
            (Some(token), Some(name)) => format!("Cookie: theme=dark; {name}={token}\r\n"),
        };
        let length = body.len();
        write!(
            stream,
            "{what} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n{token}Content-Length: {length}\r\n\r\n{body}"
        )
        .expect("the shop reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the shop answers");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {answer:?}"));
        let header = |wanted: &str| {
            let fields = head.lines().filter_map(|line| line.split_once(": "));
            let found = fields.filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.to_string()).next()
        };
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let given = header(if self.cookie.is_some() { "Set-Cookie" } else { "Tide-Session" });
        if let Some(given) = given {
            let value = given.split(';').next().unwrap_or_default();
            self.token = Some(value.split_once('=').map_or(value, |(_, value)| value).to_string());
        }
        // Node sends the body in chunks where no length was said.
        let chunked = header("Transfer-Encoding").is_some_and(|coding| coding == "chunked");
        let body = if chunked { body.lines().nth(1).unwrap_or_default() } else { body };
        (status, body.to_string())
    }

    /// How often the cart that was filled in one region is not found in the other.
    fn alternate(&mut self, shops: &[Shop; 2], what: &str) -> usize {
        let mut stale = 0;
        for n in 0..ROUNDS {
            let cart = format!("{what}-{n}");
            let (here, there) = (&shops[n % 2], &shops[1 - n % 2]);
            assert_eq!(self.request(here, "POST", &cart), (200, "ok".to_string()));
            // The helper waits a second for a region that is behind, and the server two; a machine may need longer.
            let found = wait_for("the region has caught up", || match self.request(there, "GET", "") {
                (200, found) => Some(found),
                (503, _) => None,
                other => panic!("{other:?}"),
            });
            stale += usize::from(found != cart);
        }
        stale
    }
}

/// Tokens that no server has made are refused, and harm nobody.
fn refuses_garbage(shop: &Shop, token: &str) {
    let other = if token.as_bytes()[8] == b'A' { 'B' } else { 'A' };
    let damaged = format!("{}{other}{}", &token[..8], &token[9..]);
    let long = format!("tm1.{}", "A".repeat(6000));
    for garbage in ["rubbish", "tm1.", "tm1.AAAA", "tm9.AAAA", "tm1.a b", "\u{e9}\u{fc}", &damaged, &long] {
        let mut user = User { token: Some(garbage.to_string()), ..User::default() };
        let (status, body) = user.request(shop, "GET", "");
        assert_eq!(status, 400, "{garbage}: {body}");
    }
    assert_eq!(User::default().request(shop, "GET", "").0, 200, "it goes on");
}

/// A client library connects again when its connection breaks, and says nothing. The new connection is another session.
fn notices_a_lost_connection(shop: &Shop, user: &mut User) {
    let token = user.token.clone();
    let (status, body) = user.ask(shop, "POST /lost", "lost");
    assert!(status >= 500, "{status} {body}");
    assert_eq!(user.token, token, "no token of the new session");
    assert_eq!(user.request(shop, "GET", "").0, 200, "it goes on");
}

/// While the regions are cut off from each other, a user who changes region is told so before the patience of a test ends.
fn is_stale_behind_a_cut(up: &Up, shops: &[Shop; 2], user: &mut User) {
    up.cut("A", "B", false);
    assert_eq!(user.request(&shops[0], "POST", "behind the cut").0, 200);
    let token = user.token.clone();
    let (status, body) = user.request(&shops[1], "GET", "");
    assert_eq!(status, 503, "{body}");
    assert_eq!(user.token, token, "the user keeps the token");
    up.heal();
    let found = wait_for("it is stale no more", || match user.request(&shops[1], "GET", "") {
        (200, found) => Some(found),
        (503, _) => None,
        other => panic!("{other:?}"),
    });
    assert_eq!(found, "behind the cut");
}

/// Of customers who order at once, over two processes, as many get something as there is: transactions that are checked lose no update.
fn sells_no_more_than_there_is(up: &Up, shops: &[Shop; 2]) {
    const STOCK: usize = 5;
    let mut client = Client::connect(up.nodes()[0].redis).expect("a connection");
    assert_eq!(text(&client.ask(&["MSET", "stock", &STOCK.to_string(), "sold", "0"])), "OK");
    let answers: Vec<String> = std::thread::scope(|scope| {
        let customer =
            |n: usize| scope.spawn(move || User::default().ask(&shops[n % 2], "POST /order", "").1);
        let customers: Vec<_> = (0..2 * STOCK).map(customer).collect();
        customers.into_iter().map(|customer| customer.join().expect("an answer")).collect()
    });
    let got = |answer: &str| answers.iter().filter(|given| *given == answer).count();
    assert_eq!((got("ok"), got("sold out")), (STOCK, STOCK), "{answers:?}");
}

/// The whole story of one helper; `shop` is the program, which takes host, port and mode.
fn tells_users_their_carts(name: &str, shop: impl Fn() -> Command, last: &[&str]) {
    let scratch = Scratch::new(&format!("clients-session-{name}"));
    let up = Up::start(&scratch, &["--regions", "2"]);
    let shops = |mode: &str| {
        let arguments = [&[mode], last].concat();
        [0, 1].map(|region| Shop::start(&mut shop(), up.nodes()[region].redis, &arguments))
    };
    let (plain, helped) = (shops("plain"), shops("session"));
    let slow = |by| {
        up.slow("A", "B", by);
        up.slow("B", "A", by);
    };
    slow(10 * LINK_MS);
    let stale = User::default().alternate(&plain, "plain");
    slow(LINK_MS);
    assert!(stale > 0, "without the helper nothing is missed, and the test shows nothing");
    let mut user = User::default();
    assert_eq!(user.alternate(&helped, "session"), 0, "of {ROUNDS}");
    let token = user.token.clone().expect("a token");
    println!(
        "{name}: {stale} of {ROUNDS} carts missed without the helper, 0 with it; a token has {} bytes",
        token.len()
    );
    refuses_garbage(&helped[0], &token);
    notices_a_lost_connection(&helped[0], &mut user);
    is_stale_behind_a_cut(&up, &helped, &mut user);
    let here = [0, 1].map(|_| Shop::start(&mut shop(), up.nodes()[0].redis, &[&["session"], last].concat()));
    sells_no_more_than_there_is(&up, &here);
}

#[test]
fn session_helper_for_redis_py() {
    let Some(python) = install::python() else { return };
    let shop = || {
        let mut command = Command::new(&python);
        command.arg(format!("{}/session/python/shop.py", install::CLIENTS));
        command
    };
    tells_users_their_carts("python", shop, &[]);
    let scratch = Scratch::new("clients-session-cookie");
    let up = Up::start(&scratch, &["--regions", "2"]);
    let arguments = ["session", "tide-session"];
    let shops = [0, 1].map(|region| Shop::start(&mut shop(), up.nodes()[region].redis, &arguments));
    up.slow("A", "B", LINK_MS);
    let mut user = User { cookie: Some("tide-session"), ..User::default() };
    assert_eq!(user.alternate(&shops, "cookie"), 0, "the token travels in a cookie");
}

/// Scripts are copied into the folder, since modules are found from where a script lies.
fn node(library: &str) {
    let Some(folder) = install::node_modules() else { return };
    let here = folder.join(format!("session-{library}-{}", std::process::id()));
    std::fs::create_dir_all(&here).expect("a folder");
    for file in ["tidemark-session.mjs", "shop.mjs"] {
        std::fs::copy(format!("{}/session/node/{file}", install::CLIENTS), here.join(file)).expect("a file");
    }
    let shop = || {
        let mut command = Command::new("node");
        command.arg(here.join("shop.mjs"));
        command
    };
    tells_users_their_carts(library, shop, &[library]);
    std::fs::remove_dir_all(here).expect("the copies");
}

#[test]
fn session_helper_for_ioredis() {
    node("ioredis");
}

#[test]
fn session_helper_for_node_redis() {
    node("node-redis");
}

#[test]
fn session_helper_for_go_redis() {
    let Some(program) = install::session_go() else { return };
    tells_users_their_carts("go", || Command::new(&program), &[]);
}
