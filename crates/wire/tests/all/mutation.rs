//! The fuzz targets' checks on seeded mutations of good traffic: no nightly compiler, the same inputs every time.

const INPUTS: usize = 100_000;

/// Changes, drops, doubles or inserts a few bytes or a few pieces.
fn mutate(rng: &mut fastrand::Rng, seeds: &[&[u8]], pieces: &[&[u8]]) -> Vec<u8> {
    let mut input = Vec::new();
    for _ in 0..rng.usize(1..4) {
        input.extend_from_slice(rng.choice(seeds).unwrap());
    }
    for _ in 0..rng.usize(0..5) {
        let at = rng.usize(..=input.len());
        let to = (at + rng.usize(..8)).min(input.len());
        match rng.u8(..6) {
            0 if at < input.len() => input[at] = rng.u8(..),
            1 => drop(input.drain(at..to)),
            2 => {
                let doubled = input[at..to].to_vec();
                input.splice(at..at, doubled);
            }
            3 if at < input.len() => input[at] ^= 1 << rng.u8(..8),
            4 => input.truncate(at),
            _ => {
                let piece = rng.choice(pieces).unwrap().iter().copied();
                input.splice(at..at, piece);
            }
        }
    }
    input
}

#[test]
fn mutated_requests_break_nothing() {
    let seeds: &[&[u8]] = &[
        b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000001\r\n",
        b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"PING\r\n",
        b"SET \"a key\" 'it\\'s' \"\\x00\\n\\q\"\r\n",
        b"\r\n",
        b"*0\r\n",
        b"*-1\r\n",
        b"*11\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n",
    ];
    let pieces: &[&[u8]] = &[
        b"\r",
        b"\n",
        b"\r\n",
        b"$",
        b"*",
        b"\"",
        b"'",
        b"\\",
        b"\\x4",
        b"-",
        b"0",
        b"1",
        b"99",
        b"300",
        b"301",
        b"600",
        b"16385",
        b"2147483648",
        b" ",
        b"\0",
        b"\x0b",
        b"$-1\r\n",
        b"*1000000000\r\n",
    ];
    let mut rng = fastrand::Rng::with_seed(0x7a9e);
    for _ in 0..INPUTS {
        let input = mutate(&mut rng, seeds, pieces);
        let most = rng.usize(1..20);
        crate::checks::check_requests(&input, |_| rng.usize(1..=most));
    }
}

#[test]
fn mutated_replies_break_nothing() {
    let seeds: &[&[u8]] = &[
        b"+OK\r\n",
        b"-ERR no\r\n",
        b":42\r\n",
        b"$5\r\nhello\r\n",
        b"$-1\r\n",
        b"*-1\r\n",
        b"_\r\n",
        b"#t\r\n",
        b",1.5e+9\r\n,inf\r\n,nan\r\n",
        b"(12345678901234567890\r\n",
        b"=8\r\ntxt:text\r\n",
        b"!5\r\nERR x\r\n",
        b"*3\r\n:1\r\n*2\r\n$1\r\na\r\n_\r\n%1\r\n+k\r\n~1\r\n:1\r\n",
        b"%2\r\n+a\r\n:1\r\n+b\r\n*0\r\n",
        b"|1\r\n+ttl\r\n:9\r\n$1\r\nv\r\n",
        b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n",
    ];
    let pieces: &[&[u8]] = &[
        b"\r",
        b"\n",
        b"\r\n",
        b"$",
        b"*",
        b"%",
        b"~",
        b">",
        b"|",
        b"-",
        b"0",
        b"1",
        b"99",
        b"101",
        b"301",
        b"?",
        b"*1\r\n",
        b"|0\r\n",
        b"%1\r\n",
        b"_\r\n",
        b"9223372036854775808",
        b"e",
        b".",
    ];
    let mut rng = fastrand::Rng::with_seed(0x51de);
    for _ in 0..INPUTS {
        let input = mutate(&mut rng, seeds, pieces);
        let most = rng.usize(1..20);
        crate::checks::check_replies(&input, |_| rng.usize(1..=most));
    }
}
