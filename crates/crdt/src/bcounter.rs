//! Bounded counters: numbers that never fall below a bound, in any region ([`crate::account`]).
//!
//! A region takes from the counter what its own rights allow, without asking anybody. A region that needs more asks the richest one,
//! which gives half of its own rights ([`Verb::BCounterGive`], by a gateway there). A request names the total that the
//! giving region had given before, as its sender knew it: so a request that is repeated, or comes late, gives nothing twice.
//!
//! Nothing may bring a counter into being but CREATE: a copy, or a key renamed, would have rights that another region uses at the
//! same time on the original.

use crate::account::{Account, Column, Entry};
use crate::args::{NOT_AN_INTEGER, arity, exactly, int};
use crate::draft::{Answer, Draft};
use crate::effect::{Datum, Kind};
use crate::rule;
use crate::shape::Plain;
use bytes::Bytes;
use tidemark_core::{DcId, Reply, Stamp, Verb};

/// Evaluates a command of bounded counters; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::BCounterCreate => create(draft, args),
        Verb::BCounterIncrBy => add(draft, args),
        Verb::BCounterDecrBy => take(draft, args),
        Verb::BCounterGet => get(draft, args),
        Verb::BCounterRights => rights(draft, args),
        Verb::BCounterLenders => lenders(draft, args),
        Verb::BCounterGive => give(draft, args),
        _ => return None,
    })
}

const NO_COUNTER: Reply = Reply::error("ERR no such bounded counter: TIDE.BCOUNTER CREATE makes one");
const THERE: Reply = Reply::error("BUSYKEY Target key name already exists.");
const STAYS: Reply = Reply::error(
    "ERR a bounded counter can be neither copied nor renamed nor dumped: its rights would be in two places",
);
const TOO_HIGH: Reply = Reply::error("ERR increment or decrement would overflow");
const TOO_LOW: Reply = Reply::error("ERR the counter begins below its bound");
const NOT_POSITIVE: Reply = Reply::error("ERR value is out of range, must be at least 1");

/// Requires that a value is not a bounded counter, which stays where it is.
///
/// # Errors
/// It is one.
pub(crate) fn may_move(content: &Plain) -> Result<(), Reply> {
    if matches!(content, Plain::BCounter(_)) { Err(STAYS) } else { Ok(()) }
}

fn account<'a>(draft: &Draft<'a>) -> Result<Option<&'a Account>, Reply> {
    Ok(match draft.of(Kind::BCounter)? {
        Some(Plain::BCounter(account)) => Some(account),
        _ => None,
    })
}

/// The counter, and the version that created it.
fn existing<'a>(draft: &Draft<'a>) -> Result<(&'a Account, Stamp), Reply> {
    let found = account(draft)?.and_then(|account| Some((account, account.created()?)));
    found.ok_or(NO_COUNTER)
}

fn amount(argument: &[u8]) -> Result<u128, Reply> {
    match int(argument)? {
        amount @ 1.. => Ok(amount.unsigned_abs().into()),
        _ => Err(NOT_POSITIVE),
    }
}

fn create(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let (min, initial) = match args {
        [min] => (int(min)?, int(min)?),
        [min, initial] => (int(min)?, int(initial)?),
        _ => return Err(arity(Verb::BCounterCreate.name())),
    };
    let above = u128::try_from(i128::from(initial) - i128::from(min)).map_err(|_| TOO_LOW)?;
    if draft.kind().is_some() {
        return Err(THERE);
    }
    let account = Account::new(min, draft.moment.origin, above);
    draft.assign(Kind::BCounter, b"", Datum::Account(Box::new(account)));
    Ok(Reply::Ok)
}

/// Raises a total of this region by so much.
fn raise(draft: &mut Draft<'_>, (account, created): (&Account, Stamp), column: Column, by: u128) -> Reply {
    let region = draft.moment.origin;
    let total = account.total(region, column).saturating_add(by);
    let entry = Entry { region, column, total };
    draft.raise(created, entry);
    let mut after = account.clone();
    after.raise(entry);
    Reply::Int(after.value())
}

fn add(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [by] = exactly(args, Verb::BCounterIncrBy.name())?;
    let counter = existing(draft)?;
    let by = amount(by)?;
    let room = i128::from(i64::MAX) - i128::from(counter.0.value());
    if u128::try_from(room).is_ok_and(|room| by > room) {
        return Err(TOO_HIGH);
    }
    Ok(raise(draft, counter, Column::Added, by))
}

fn take(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [by] = exactly(args, Verb::BCounterDecrBy.name())?;
    let counter = existing(draft)?;
    let (by, account) = (amount(by)?, counter.0);
    let (own, all) = (account.rights(draft.moment.origin), account.above());
    if by <= own || by <= all && !rule::OWN_RIGHTS_LIMIT.kept() {
        return Ok(raise(draft, counter, Column::Taken, by));
    }
    let why = if by > all {
        format!(
            "NORIGHTS the counter is {} and cannot fall by {by}: its bound is {}",
            account.value(),
            account.min()
        )
    } else {
        format!(
            "NORIGHTS this region may take {own} of {all}: it is asking another region for rights, so try again \
             soon, or take less"
        )
    };
    Err(Reply::Error(why.into()))
}

fn get(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [] = exactly(args, Verb::BCounterGet.name())?;
    Ok(account(draft)?.map_or(Reply::Null, |account| Reply::Int(account.value())))
}

fn rights(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [] = exactly(args, Verb::BCounterRights.name())?;
    let Some(account) = account(draft)? else { return Ok(Reply::Map(Vec::new())) };
    let count = |region| Reply::Int(i64::try_from(account.rights(region)).unwrap_or(i64::MAX));
    let pair = |region: DcId| (Reply::bulk(region.to_string().as_bytes()), count(region));
    Ok(Reply::Map(account.regions().into_iter().map(pair).collect()))
}

/// What a region that asks for rights says of the counter.
type Request = (Stamp, u128);

/// The regions that may be asked for the rights that DECRBY lacks, the richest first, each with the number of the asking region and
/// the request to be sent. None if all of their rights together are not enough, or it needs none.
fn lenders(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [by] = exactly(args, Verb::BCounterLenders.name())?;
    let (account, created) = existing(draft)?;
    let (by, me) = (amount(by)?, draft.moment.origin);
    if by <= account.rights(me) || by > account.above() {
        return Ok(Reply::Array(Vec::new()));
    }
    let mut others: Vec<DcId> = account.regions();
    others.retain(|region| *region != me && account.rights(*region) > 0);
    others.sort_by_key(|region| std::cmp::Reverse(account.rights(*region)));
    let one = |region: DcId| {
        let request: Request = (created, account.total(region, Column::Given(me)));
        let request = postcard::to_allocvec(&request).expect("it has no parts that cannot be written");
        let number = |region: DcId| Reply::Int(region.0.into());
        Reply::Array(vec![number(region), number(me), Reply::Bulk(request.into())])
    };
    Ok(Reply::Array(others.into_iter().map(one).collect()))
}

/// Gives half of this region's rights to another, whose number comes first. If a request follows, it must be of this counter, and
/// know of all that was given before. Answers how much was given.
fn give(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let (to, request) = match args {
        [to] => (to, None),
        [to, request] => (to, Some(postcard::from_bytes::<Request>(request).map_err(|_| NOT_AN_INTEGER)?)),
        _ => return Err(arity(Verb::BCounterGive.name())),
    };
    let to = DcId(u8::try_from(int(to)?).map_err(|_| NOT_AN_INTEGER)?);
    let Some((account, created)) = account(draft)?.and_then(|account| Some((account, account.created()?)))
    else {
        return Ok(Reply::Int(0));
    };
    let known = (created, account.total(draft.moment.origin, Column::Given(to)));
    let half = account.rights(draft.moment.origin).div_ceil(2);
    if half == 0 || to == draft.moment.origin || request.is_some_and(|request| request != known) {
        return Ok(Reply::Int(0));
    }
    raise(draft, (account, created), Column::Given(to), half);
    Ok(Reply::Int(i64::try_from(half).unwrap_or(i64::MAX)))
}
