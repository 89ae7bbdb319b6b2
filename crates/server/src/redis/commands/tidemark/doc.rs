//! TIDE.DOC.

use super::TIDEMARK;
use crate::redis::prelude::*;

const BASE: Spec = Spec { keys: Keys::SECOND, ..TIDEMARK };

pub(super) static SPEC: Spec = Spec {
    name: "tide.doc",
    arity: -2,
    summary: "Documents that clients merge, such as those of Yjs, Loro and Automerge: sets of their updates.",
    subcommands: ROWS,
    ..TIDEMARK
};

rows! { BASE with "tide.doc|help";
    "tide.doc|put" DocPut -4 FAST_WRITE "0.1.0" "key update [update ...]",
        "Adds updates to a document. What they say is up to the clients.",
        "Every region has every update in the end, none twice. A client that does not know whether an update was added \
         may add it again, for merging it twice does no harm.";
    "tide.doc|read" DocRead -3 READ "0.1.0" "key [SINCE token]",
        "Returns a token and the updates of a document, or those that the token of an earlier reply does not cover.",
        "The reply is a list of two in RESP2 and RESP3: the token, a string, and a list of updates, oldest first. A token is \
         good in every region and after COMPACT: whatever it does not cover is returned, merged updates among them. It names \
         what was written lately, so it is short, but grows while a region is cut off. A key that does not exist is a document \
         without updates.";
    "tide.doc|compact" DocCompact 6 WRITE "0.1.0" "key merged UPTO <token | *>",
        "Puts one update in the place of all that a token covers, and returns how many they were.",
        "Read, merge what was read, and give the token of that reply: updates that came since stay, here and in other regions. \
         `*` covers all that this region sees, for a client that knows that nobody else writes. Nothing is written if \
         the token covers no update that is there.";
}
