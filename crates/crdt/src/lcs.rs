//! LCS: the longest common subsequence of two strings, and where it stands in them.

use crate::args::{SYNTAX, int, is};
use crate::draft::Answer;
use crate::evaluate::Keys;
use crate::string;
use bytes::Bytes;
use tidemark_core::Reply;

/// As many entries as the table of lengths may have: it takes four bytes each.
const TABLE_MAX: usize = 1 << 28;

#[derive(Default)]
struct Options {
    len: bool,
    indices: bool,
    shortest: usize,
    lengths: bool,
}

fn options(args: &[Bytes]) -> Result<Options, Reply> {
    let mut all = Options::default();
    let mut args = args.iter();
    while let Some(option) = args.next() {
        match () {
            () if is(option, "len") => all.len = true,
            () if is(option, "idx") => all.indices = true,
            () if is(option, "withmatchlen") => all.lengths = true,
            () if is(option, "minmatchlen") && args.len() > 0 => {
                all.shortest = usize::try_from(int(args.next().ok_or(SYNTAX)?)?).unwrap_or(0);
            }
            () => return Err(SYNTAX),
        }
    }
    if all.len && all.indices {
        return Err(Reply::error("ERR If you want both the length and indexes, please just use IDX."));
    }
    Ok(all)
}

/// A run that both strings have: where it begins in each, and its length.
type Match = (usize, usize, usize);

/// LCS.
pub(crate) fn run(keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let values = [string::value(keys.at(0)), string::value(keys.at(1))];
    let [Ok(a), Ok(b)] = values else {
        return Err(Reply::error("ERR The specified keys must contain string values"));
    };
    let options = options(args)?;
    let (a, b) = (a.as_deref().unwrap_or_default(), b.as_deref().unwrap_or_default());
    let size = (a.len() + 1).checked_mul(b.len() + 1).filter(|size| *size <= TABLE_MAX);
    let size = size.ok_or(Reply::error("ERR String too long for LCS"))?;
    let (common, matches) = compare(a, b, vec![0; size]);
    if options.indices {
        return Ok(indices(&options, common.len(), &matches));
    }
    Ok(if options.len { Reply::count(common.len()) } else { Reply::bulk(&common) })
}

/// The subsequence, and its runs from the last to the first.
fn compare(a: &[u8], b: &[u8], mut table: Vec<u32>) -> (Vec<u8>, Vec<Match>) {
    let width = b.len() + 1;
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            table[i * width + j] = match a[i - 1] == b[j - 1] {
                true => table[(i - 1) * width + j - 1] + 1,
                false => table[(i - 1) * width + j].max(table[i * width + j - 1]),
            };
        }
    }
    let (mut i, mut j, mut common, mut matches) = (a.len(), b.len(), Vec::new(), Vec::<Match>::new());
    while i > 0 && j > 0 {
        if a[i - 1] == b[j - 1] {
            (i, j) = (i - 1, j - 1);
            common.push(a[i]);
            match matches.last_mut() {
                Some((at, other, len)) if *at == i + 1 && *other == j + 1 => {
                    (*at, *other, *len) = (i, j, *len + 1);
                }
                _ => matches.push((i, j, 1)),
            }
        } else if table[(i - 1) * width + j] > table[i * width + j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    common.reverse();
    (common, matches)
}

fn indices(options: &Options, len: usize, matches: &[Match]) -> Reply {
    let span = |from: usize, len: usize| Reply::Array(vec![Reply::count(from), Reply::count(from + len - 1)]);
    let long = matches.iter().filter(|(.., len)| *len >= options.shortest);
    let show = |(a, b, len): &Match| {
        let mut one = vec![span(*a, *len), span(*b, *len)];
        if options.lengths {
            one.push(Reply::count(*len));
        }
        Reply::Array(one)
    };
    let matches = Reply::Array(long.map(show).collect());
    Reply::Map(vec![(Reply::bulk(b"matches"), matches), (Reply::bulk(b"len"), Reply::count(len))])
}
