//! GEOSEARCH and its older kin: what is asked for, and the members that are found.

use super::area::{Area, Shape};
use super::cell::{Cell, Point, point_of};
use super::{coordinates, unit};
use crate::args::{SYNTAX, arity, float, int, is};
use crate::plain::Ranked;
use bytes::Bytes;
use tidemark_core::Reply;

/// The command that searches: they take different words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// GEORADIUS.
    Radius,
    /// GEORADIUS_RO.
    RadiusRo,
    /// GEORADIUSBYMEMBER.
    Member,
    /// GEORADIUSBYMEMBER_RO.
    MemberRo,
    /// GEOSEARCH.
    Search,
    /// GEOSEARCHSTORE.
    SearchStore,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Radius => "georadius",
            Self::RadiusRo => "georadius_ro",
            Self::Member => "georadiusbymember",
            Self::MemberRo => "georadiusbymember_ro",
            Self::Search => "geosearch",
            Self::SearchStore => "geosearchstore",
        }
    }

    /// How many arguments it has at least, behind the key that is searched.
    fn least(self) -> usize {
        match self {
            Self::Radius | Self::RadiusRo => 4,
            Self::Member | Self::MemberRo => 3,
            Self::Search | Self::SearchStore => 5,
        }
    }

    fn is_search(self) -> bool {
        matches!(self, Self::Search | Self::SearchStore)
    }

    /// Whether options can name a key to store in.
    fn names_target(self) -> bool {
        matches!(self, Self::Radius | Self::Member)
    }
}

/// Where results go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To the client.
    Client,
    /// Into the key that the command names first (GEOSEARCHSTORE).
    Named,
    /// Into this key (STORE, STOREDIST).
    Key(Bytes),
}

/// In which order results are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Nearest,
    Farthest,
}

/// The words behind the name of a member in an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct With {
    pub(super) distance: bool,
    pub(super) hash: bool,
    pub(super) coordinates: bool,
}

/// How the centre was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Member,
    Place,
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    from: Option<From>,
    /// None also if it is a member of a key that is not there.
    centre: Option<Point>,
    shape: Option<Shape>,
    /// Metres in the unit that the client counts in.
    metres: f64,
    pub(super) with: With,
    order: Option<Order>,
    count: Option<usize>,
    any: bool,
    /// Where results go.
    pub target: Target,
    /// Whether distances are stored instead of places (STOREDIST).
    pub distances: bool,
}

/// A member that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found<'a> {
    /// Its name.
    pub member: &'a [u8],
    /// Its score.
    pub score: f64,
    /// Where it is.
    pub point: Point,
    /// How far from the centre, in the unit that the client asked for.
    pub distance: f64,
}

fn length(argument: &[u8], error: &'static str) -> Result<f64, Reply> {
    float(argument).map_err(|_| Reply::error(error))
}

impl Search {
    /// Reads the arguments behind the key that is searched. `members` are those of that key, if it is there.
    ///
    /// # Errors
    /// They are not understood, or the member in the middle is not there.
    pub fn parse(form: Form, args: &[Bytes], members: Option<&Ranked>) -> Result<Self, Reply> {
        if args.len() < form.least() {
            return Err(arity(form.name()));
        }
        let mut search = Self {
            from: None,
            centre: None,
            shape: None,
            metres: 1.0,
            with: With::default(),
            order: None,
            count: None,
            any: false,
            target: if form == Form::SearchStore { Target::Named } else { Target::Client },
            distances: false,
        };
        let mut options = search.fixed(form, args, members)?;
        while let [option, rest @ ..] = options {
            let taken = match search.flag(form, option) {
                true => 0,
                false => search.option(form, option, rest, members)?,
            };
            options = &rest[taken..];
        }
        search.check(form)?;
        Ok(search)
    }

    /// Takes the arguments of the older commands that stand in a fixed order, and returns the options behind them.
    fn fixed<'a>(
        &mut self,
        form: Form,
        args: &'a [Bytes],
        members: Option<&Ranked>,
    ) -> Result<&'a [Bytes], Reply> {
        match (form, args) {
            (Form::Radius | Form::RadiusRo, [longitude, latitude, radius, of, options @ ..]) => {
                self.centre = Some(coordinates(longitude, latitude)?);
                self.circle(radius, of)?;
                Ok(options)
            }
            (Form::Member | Form::MemberRo, [member, radius, of, options @ ..]) => {
                // Redis does not look at the radius if there is no key to search.
                if members.is_some() {
                    self.start_from(member, members)?;
                    self.circle(radius, of)?;
                }
                Ok(options)
            }
            _ => Ok(args),
        }
    }

    fn start_from(&mut self, member: &[u8], members: Option<&Ranked>) -> Result<(), Reply> {
        self.from = Some(From::Member);
        let Some(members) = members else { return Ok(()) };
        let score =
            members.score(member).ok_or(Reply::error("ERR could not decode requested zset member"))?;
        self.centre = Some(point_of(score));
        Ok(())
    }

    fn circle(&mut self, radius: &[u8], of: &[u8]) -> Result<(), Reply> {
        let radius = length(radius, "ERR need numeric radius")?;
        if radius < 0.0 {
            return Err(Reply::error("ERR radius cannot be negative"));
        }
        self.metres = unit(of)?;
        self.shape = Some(Shape::Circle { radius: radius * self.metres });
        Ok(())
    }

    fn rectangle(&mut self, width: &[u8], height: &[u8], of: &[u8]) -> Result<(), Reply> {
        let width = length(width, "ERR need numeric width")?;
        let height = length(height, "ERR need numeric height")?;
        if width < 0.0 || height < 0.0 {
            return Err(Reply::error("ERR height or width cannot be negative"));
        }
        self.metres = unit(of)?;
        self.shape = Some(Shape::Box { width: width * self.metres, height: height * self.metres });
        Ok(())
    }

    /// Takes an option that is one word; false if it is another.
    fn flag(&mut self, form: Form, option: &[u8]) -> bool {
        match () {
            () if is(option, "withdist") => self.with.distance = true,
            () if is(option, "withhash") => self.with.hash = true,
            () if is(option, "withcoord") => self.with.coordinates = true,
            () if is(option, "any") => self.any = true,
            () if is(option, "asc") => self.order = Some(Order::Nearest),
            () if is(option, "desc") => self.order = Some(Order::Farthest),
            () if form == Form::SearchStore && is(option, "storedist") => self.distances = true,
            () => return false,
        }
        true
    }

    /// Takes an option that has arguments, which begin `rest`, and tells how many.
    fn option(
        &mut self,
        form: Form,
        option: &[u8],
        rest: &[Bytes],
        members: Option<&Ranked>,
    ) -> Result<usize, Reply> {
        let (searches, stores) = (form.is_search(), form.names_target());
        match rest {
            [count, ..] if is(option, "count") => {
                let count = usize::try_from(int(count)?).ok().filter(|count| *count > 0);
                self.count = Some(count.ok_or(Reply::error("ERR COUNT must be > 0"))?);
                Ok(1)
            }
            [key, ..] if stores && (is(option, "store") || is(option, "storedist")) => {
                (self.target, self.distances) = (Target::Key(key.clone()), is(option, "storedist"));
                Ok(1)
            }
            [member, ..] if searches && is(option, "frommember") && self.from != Some(From::Place) => {
                self.start_from(member, members).map(|()| 1)
            }
            [longitude, latitude, ..]
                if searches && is(option, "fromlonlat") && self.from != Some(From::Member) =>
            {
                self.from = Some(From::Place);
                self.centre = Some(coordinates(longitude, latitude)?);
                Ok(2)
            }
            [radius, of, ..]
                if searches && is(option, "byradius") && !matches!(self.shape, Some(Shape::Box { .. })) =>
            {
                self.circle(radius, of).map(|()| 2)
            }
            [width, height, of, ..]
                if searches && is(option, "bybox") && !matches!(self.shape, Some(Shape::Circle { .. })) =>
            {
                self.rectangle(width, height, of).map(|()| 3)
            }
            _ => Err(SYNTAX),
        }
    }

    /// Whether everything that is needed was said, and nothing that does not go together.
    fn check(&self, form: Form) -> Result<(), Reply> {
        let With { distance, hash, coordinates } = self.with;
        let error = |text: String| Err(Reply::Error(format!("ERR {text}").into()));
        if self.target != Target::Client && (distance || hash || coordinates) {
            let what = if form == Form::SearchStore { "GEOSEARCHSTORE" } else { "STORE option in GEORADIUS" };
            return error(format!("{what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"));
        }
        if form.is_search() && self.from.is_none() {
            let name = form.name();
            return error(format!("exactly one of FROMMEMBER or FROMLONLAT can be specified for {name}"));
        }
        if form.is_search() && self.shape.is_none() {
            let name = form.name();
            return error(format!("exactly one of BYRADIUS and BYBOX can be specified for {name}"));
        }
        if self.any && self.count.is_none() {
            return error("the ANY argument requires COUNT argument".to_string());
        }
        Ok(())
    }

    /// The members that are asked for, in the order that is asked for. It looks at the cells around the centre alone.
    pub fn find<'a>(&self, members: &'a Ranked) -> Vec<Found<'a>> {
        let (Some(centre), Some(shape)) = (self.centre, self.shape) else { return Vec::new() };
        let area = Area { centre, shape };
        let within = |(member, score): (&'a [u8], f64)| {
            let point = point_of(score);
            let distance = area.distance(point)?;
            Some(Found { member, score, point, distance })
        };
        let ranks = |cell: Cell| {
            let scores = cell.scores();
            members.rank_of_score(scores.start, false)..members.rank_of_score(scores.end, false)
        };
        let all = area.cells().into_iter().flat_map(|cell| members.range(ranks(cell))).filter_map(within);
        // ANY is content with those that are found first.
        let enough = self.count.filter(|_| self.any).unwrap_or(usize::MAX);
        let mut found: Vec<Found<'a>> = all.take(enough).collect();
        let nearest = self.count.filter(|_| !self.any).map(|_| Order::Nearest);
        match self.order.or(nearest) {
            Some(Order::Nearest) => found.sort_by(|a, b| a.distance.total_cmp(&b.distance)),
            Some(Order::Farthest) => found.sort_by(|a, b| b.distance.total_cmp(&a.distance)),
            None => {}
        }
        found.truncate(self.count.unwrap_or(usize::MAX));
        found.iter_mut().for_each(|one| one.distance /= self.metres);
        found
    }

    /// The members of `find` with the scores that a command which stores them gives them.
    pub fn to_store<'a>(&self, found: &[Found<'a>]) -> Vec<(&'a [u8], f64)> {
        found.iter().map(|one| (one.member, if self.distances { one.distance } else { one.score })).collect()
    }
}
