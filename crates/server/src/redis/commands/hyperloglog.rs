//! HyperLogLogs, in strings.

use crate::redis::prelude::*;

const BASE: Spec = Spec { group: Group::Hyperloglog, keys: Keys::FIRST, ..Spec::DEFAULT };

rows! { BASE;
    "pfadd" PfAdd -2 FAST_WRITE "2.8.9" "key [element [element ...]]", "Adds elements to a HyperLogLog.";
}

group_rows! { BASE;
    "pfcount" PfCount -2 READ ALL by_row "2.8.9" "key [key ...]", "Estimates how many distinct elements were added.", "Keys in several partitions are read in one causally consistent snapshot.";
    "pfdebug" PfDebug -3 DEBUG SECOND by_row "2.8.9" "GETREG | DECODE | ENCODING | TODENSE key",
        "Tells how a HyperLogLog is kept, or keeps it dense.", "`GETREG` leaves the key as it is.";
    "pfmerge" PfMerge -2 WRITE ALL by_row "2.8.9" "destkey [sourcekey [sourcekey ...]]", "Merges HyperLogLogs.", "Keys of several partitions: under `tidemark` alone.";
}
