//! Places: members of a sorted set whose scores say where on the earth they are. They merge as sorted sets do.

mod area;
mod cell;
mod search;

use crate::args::{SYNTAX, arity, float, is};
use crate::draft::{Answer, Draft};
use crate::zset::{Options, members, put_all};
use bytes::Bytes;
use cell::{LATITUDES, LONGITUDES};
pub use cell::{Point, point_of};
pub use search::{Form, Found, Search, Target};
use tidemark_core::{Reply, Verb};

/// Evaluates a command of places; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::GeoAdd => add(draft, args),
        Verb::GeoDist => distance(draft, args),
        Verb::GeoHash => hashes(draft, args),
        Verb::GeoPos => positions(draft, args),
        Verb::GeoSearch => search(draft, args, Form::Search),
        Verb::GeoRadiusRo => search(draft, args, Form::RadiusRo),
        Verb::GeoRadiusByMemberRo => search(draft, args, Form::MemberRo),
        _ => return None,
    })
}

/// A place that has a score, as a client gives it.
fn coordinates(longitude: &[u8], latitude: &[u8]) -> Result<Point, Reply> {
    let (longitude, latitude) = (float(longitude)?, float(latitude)?);
    if !LONGITUDES.contains(longitude) || !LATITUDES.contains(latitude) {
        let text = format!("ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}");
        return Err(Reply::Error(text.into()));
    }
    Ok(Point { longitude, latitude })
}

/// How many metres a unit has.
fn unit(name: &[u8]) -> Result<f64, Reply> {
    match () {
        () if is(name, "m") => Ok(1.0),
        () if is(name, "km") => Ok(1000.0),
        () if is(name, "ft") => Ok(0.3048),
        () if is(name, "mi") => Ok(1609.34),
        () => Err(Reply::error("ERR unsupported unit provided. please use M, KM, FT, MI")),
    }
}

/// A distance with four digits behind the point, as Redis rounds it.
fn show_distance(distance: f64) -> Reply {
    let scaled = (distance * 10_000.0).round_ties_even() as i64;
    let sign = if scaled < 0 { "-" } else { "" };
    let scaled = scaled.unsigned_abs();
    Reply::bulk(format!("{sign}{}.{:04}", scaled / 10_000, scaled % 10_000).as_bytes())
}

/// A coordinate with up to 17 digits behind the point.
fn show_coordinate(coordinate: f64) -> Reply {
    let text = format!("{coordinate:.17}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    Reply::Decimal(Bytes::copy_from_slice(if text == "-0" { b"0" } else { text.as_bytes() }))
}

fn show_point(point: Point) -> Reply {
    Reply::Array(vec![show_coordinate(point.longitude), show_coordinate(point.latitude)])
}

fn add(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    if args.len() < 3 {
        return Err(arity("geoadd"));
    }
    let mut options = Options::default();
    let mut places = args;
    while let [word, rest @ ..] = places {
        match () {
            () if is(word, "nx") => options.nx = true,
            () if is(word, "xx") => options.xx = true,
            () if is(word, "ch") => options.ch = true,
            () => break,
        }
        places = rest;
    }
    if !places.len().is_multiple_of(3) || options.nx && options.xx {
        return Err(SYNTAX);
    }
    let scored = |place: &[Bytes]| Ok((cell::score_of(coordinates(&place[0], &place[1])?), place[2].clone()));
    let scored = places.chunks_exact(3).map(scored).collect::<Result<Vec<_>, Reply>>()?;
    if scored.is_empty() { Err(SYNTAX) } else { put_all(draft, options, &scored) }
}

fn distance(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let (from, to, metres) = match args {
        [] | [_] => return Err(arity("geodist")),
        [from, to] => (from, to, 1.0),
        [from, to, of] => (from, to, unit(of)?),
        _ => return Err(SYNTAX),
    };
    let Some(members) = members(draft)? else { return Ok(Reply::Null) };
    let (Some(from), Some(to)) = (members.score(from), members.score(to)) else {
        return Ok(Reply::Null);
    };
    Ok(show_distance(area::distance(point_of(from), point_of(to)) / metres))
}

/// Shows the place of each member with `show`; `missing` stands for one that is not there.
fn each(draft: &Draft<'_>, args: &[Bytes], missing: Reply, show: fn(Point) -> Reply) -> Answer {
    let members = members(draft)?;
    let score = |member: &Bytes| members.and_then(|members| members.score(member));
    let shown = |member| score(member).map_or_else(|| missing.clone(), |score| show(point_of(score)));
    Ok(Reply::Array(args.iter().map(shown).collect()))
}

fn hashes(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    each(draft, args, Reply::Null, |point| Reply::bulk(cell::geohash(point).as_bytes()))
}

fn positions(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    each(draft, args, Reply::NullArray, show_point)
}

fn search(draft: &Draft<'_>, args: &[Bytes], form: Form) -> Answer {
    let members = members(draft)?;
    let search = Search::parse(form, args, members)?;
    let found = members.map_or_else(Vec::new, |members| search.find(members));
    Ok(answer(&search, &found))
}

/// What a search answers to a client.
pub(crate) fn answer(search: &Search, found: &[Found<'_>]) -> Reply {
    let with = search.with;
    let show = |one: &Found<'_>| {
        let name = Reply::bulk(one.member);
        let distance = with.distance.then(|| show_distance(one.distance));
        let hash = with.hash.then(|| Reply::Int(one.score as i64));
        let place = with.coordinates.then(|| show_point(one.point));
        if distance.is_none() && hash.is_none() && place.is_none() {
            return name;
        }
        Reply::Array([Some(name), distance, hash, place].into_iter().flatten().collect())
    };
    Reply::Array(found.iter().map(show).collect())
}
