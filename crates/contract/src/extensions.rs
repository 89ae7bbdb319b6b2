//! What some protocols can do and most cannot.

use crate::grouping::CheckingGroups;
use crate::order::Order;
use crate::removal::Standing;
use crate::{Cx, Protocol, Store, Version};
use derive_where::derive_where;
use tidemark_core::{DcId, Hlc, Key, Regions, Stamp};
pub use tidemark_store::Copies;

/// Optional features of a protocol, as a table of functions. A driver asks `P::EXTENSIONS.follower_read.is_some()`, which the
/// compiler knows. A feature that is added here changes no protocol that does without it.
#[derive_where(Clone, Copy)]
pub struct Extensions<P: Protocol> {
    /// Carries out an operator's order, if it is one that the protocol knows ([`Order::unknown`]), given the number of the last record
    /// of each data centre that is here. The reply leaves once what it
    /// says is durable. An error says why the order is not carried out.
    pub order: Option<Obey<P>>,
    /// Chooses among the versions that a reader can see; they come newest first. Without it the last writer wins. It decides by what
    /// is seen, and by parameters that are the same everywhere (see [`crate::conflicts`]). With it, sessions take
    /// [`tidemark_core::Op::Conflicts`].
    pub resolve: Option<Resolve<P>>,
    /// Whether a version that was received is stored, beside what came before it. Without it every version is. Recovery and
    /// followers do not ask: they store what logs hold.
    pub accepts: Option<Accepts<P>>,
    /// What a follower of a Raft group replies to a request that only reads, by a store that holds what is applied of each data
    /// centre's records up to these numbers; none if the leader has to reply. A follower has what its leader had a
    /// moment ago, and nothing that is not committed.
    pub follower_read: Option<FollowerRead<P>>,
    /// Groups of servers that an operation may choose among.
    pub checking: Option<CheckingGroups<P>>,
    /// Keys of data types. Without it there are registers only.
    pub types: Option<Types<P>>,
    /// Up to where a server has nothing left to write that has written a version, if that is less than the version's time: other
    /// versions of lower times may follow. Without it, none do.
    pub announces: Option<Announces<P>>,
    /// Versions of clients at the edge, which several data centres may accept. Without it there are none.
    pub edge: Option<Edge<P>>,
    /// The number of the last record of a data centre that is taken, if it is excluded, or about to be: nothing else that it says is
    /// taken either, until this changes. Without it, all is taken.
    pub ends: Option<Ends<P>>,
    /// Whether a message concerns an operation that a client of the region waits for, and tells nothing that a loss of power where it
    /// was said must not take back, but times. It leaves when it is written; what is said to other regions never does.
    pub for_client: Option<ForClient<P>>,
}

/// What a protocol says of versions that have copies, one of each data centre that accepted them.
#[derive_where(Clone, Copy)]
pub struct Edge<P: Protocol> {
    /// The stamp that the version would have if it had been written in the data centre that accepted it: the copy that counts here.
    pub at: fn(Stamp, &<P as Protocol>::Meta) -> Stamp,
    /// Has the copy count that a reader with this view sees, if there is one; whether there is.
    pub choose: Choose<P>,
    /// How copies are kept beside each other.
    pub copies: Copies<<P as Protocol>::Meta>,
}

/// See [`Edge::choose`].
pub type Choose<P> = fn(&<P as Protocol>::View, Stamp, &mut <P as Protocol>::Meta) -> bool;

/// What a protocol says of its versions, so that keys can be of data types. It knows none of these types.
#[derive_where(Clone, Copy)]
pub struct Types<P: Protocol> {
    /// Makes `meta`, which stands beside a version of one region, cover another version of that region: who depends on the later of
    /// the two stamps with this beside it depends on both.
    pub absorb: fn(&mut <P as Protocol>::Meta, &Version<<P as Protocol>::Meta>),
    /// The name of a view under which everything is visible that was visible under views named before, at one server; views
    /// that see the same may share a name. None of a snapshot.
    pub fresh: fn(&<P as Protocol>::View) -> Option<u64>,
    /// The view, a [fresh](Self::fresh) one, of a session that comes now to this server of a region and brings nothing.
    pub now: fn(&P, DcId) -> <P as Protocol>::View,
    /// Whether every view sees every version that was written before, if one server holds all keys.
    pub whole: fn(&<P as Protocol>::Params) -> bool,
    /// Which versions are seen by who sees several at once, as commands do, if they are fewer than those that are
    /// [visible](Protocol::visible): none without all of the same partition that it depends on. None if those that are visible are such.
    pub together: Option<Together<P>>,
}

/// See [`Types::together`].
pub type Together<P> = fn(&<P as Protocol>::View, Stamp, &<P as Protocol>::Meta) -> bool;

/// See [`Extensions::order`].
pub type Obey<P> = fn(&mut P, &Order, &[u64], &mut Cx<'_, P>) -> Result<Standing, String>;

/// See [`Extensions::ends`].
pub type Ends<P> = fn(&P, DcId) -> Option<u64>;

/// See [`Extensions::resolve`].
pub type Resolve<P> = for<'v> fn(
    &<P as Protocol>::Params,
    &mut dyn Iterator<Item = &'v Version<<P as Protocol>::Meta>>,
) -> Option<&'v Version<<P as Protocol>::Meta>>;

/// See [`Extensions::accepts`].
pub type Accepts<P> = fn(&Store<<P as Protocol>::Meta>, &Key, &Version<<P as Protocol>::Meta>) -> bool;

/// See [`Extensions::announces`].
pub type Announces<P> = fn(Stamp, &<P as Protocol>::Meta) -> Hlc;

/// See [`Extensions::follower_read`].
pub type FollowerRead<P> =
    fn(&<P as Protocol>::Request, &[u64], &Store<<P as Protocol>::Meta>) -> Option<<P as Protocol>::Reply>;

/// See [`Extensions::for_client`].
pub type ForClient<P> = fn(&<P as Protocol>::Peer) -> bool;

impl<P: Protocol> Extensions<P> {
    /// No optional feature.
    pub const NONE: Self = Self {
        order: None,
        resolve: None,
        accepts: None,
        follower_read: None,
        checking: None,
        types: None,
        announces: None,
        edge: None,
        ends: None,
        for_client: None,
    };

    /// See [`Self::for_client`]; of the messages of its component, if the protocol says nothing.
    #[inline]
    pub fn is_for_client(&self, message: &P::Peer) -> bool {
        self.for_client.map_or_else(
            || <P::Component as crate::component::Component<P>>::for_client(message),
            |is| is(message),
        )
    }

    /// The stamp of a version in the data centre that has written it.
    pub fn written_at(&self, version: &Version<P::Meta>) -> Stamp {
        self.edge.map_or(version.stamp, |edge| (edge.at)(version.stamp, &version.meta))
    }

    /// Up to where everything is here that a server has written, once it has come to this version: see [`Self::announces`].
    pub fn announced(&self, stamp: Stamp, meta: &P::Meta) -> Hlc {
        self.announces.map_or(stamp.ts, |announces| announces(stamp, meta).min(stamp.ts))
    }

    /// An empty store of a server in region `here` of `dcs`, whose keys can be of the types that the protocol carries.
    pub fn store(&self, seed: u64, (here, dcs): (DcId, usize)) -> Store<P::Meta> {
        let mut store = Store::new(seed);
        if let Some(edge) = self.edge {
            store = store.with_copies(edge.copies);
        }
        match self.types {
            Some(types) => store.with_types(types.absorb, dcs, Regions::all_but(here, dcs)),
            None => store,
        }
    }
}
