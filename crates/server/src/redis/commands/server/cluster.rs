//! CLUSTER.

use super::ADMIN;
use crate::redis::prelude::*;

const CLUSTER: Spec = Spec {
    flags: ADMIN,
    group: Group::Cluster,
    since: "3.0.0",
    remark: "Refused: clients need not know which node holds a key.",
    handler: Handler::Local(|_, _, _| {
        Err(ErrorReply::fixed("ERR This instance has cluster support disabled"))
    }),
    ..Spec::DEFAULT
};

pub(super) static SPEC: Spec = Spec {
    name: "cluster",
    arity: -2,
    summary: "Shows and controls a Redis Cluster.",
    remark: "",
    handler: Handler::Subcommands,
    subcommands: COMMANDS,
    ..CLUSTER
};

/// Declares the subcommands, which are all refused.
macro_rules! refused {
    ($($row:ident $name:literal $arity:literal $syntax:literal $summary:literal)*) => {
        $(static $row: Spec = Spec {
            name: $name, arity: $arity, syntax: $syntax, summary: $summary, ..CLUSTER
        };)*

        static COMMANDS: &[&Spec] = &[$(&$row),*];
    };
}

refused! {
    ADDSLOTS "cluster|addslots" -3 "slot [slot ...]" "Gives slots to a node."
    ADDSLOTSRANGE "cluster|addslotsrange" -4 "start-slot end-slot [start-slot end-slot ...]" "Gives ranges of slots to a node."
    BUMPEPOCH "cluster|bumpepoch" 2 "" "Advances the epoch of the cluster."
    COUNT_FAILURE_REPORTS "cluster|count-failure-reports" 3 "node-id" "Returns how many nodes report a failure."
    COUNTKEYSINSLOT "cluster|countkeysinslot" 3 "slot" "Returns the number of keys in a slot."
    DELSLOTS "cluster|delslots" -3 "slot [slot ...]" "Takes slots from a node."
    DELSLOTSRANGE "cluster|delslotsrange" -4 "start-slot end-slot [start-slot end-slot ...]" "Takes ranges of slots from a node."
    FAILOVER "cluster|failover" -2 "[FORCE | TAKEOVER]" "Makes a replica the master."
    FLUSHSLOTS "cluster|flushslots" 2 "" "Takes all slots from a node."
    FORGET "cluster|forget" 3 "node-id" "Removes a node."
    GETKEYSINSLOT "cluster|getkeysinslot" 4 "slot count" "Returns keys of a slot."
    HELP "cluster|help" 2 "" "Lists the subcommands."
    INFO "cluster|info" 2 "" "Returns the state of the cluster."
    KEYSLOT "cluster|keyslot" 3 "key" "Returns the slot of a key."
    LINKS "cluster|links" 2 "" "Returns the links between nodes."
    MEET "cluster|meet" -4 "ip port [cluster-bus-port]" "Joins two clusters."
    MYID "cluster|myid" 2 "" "Returns the identifier of the node."
    MYSHARDID "cluster|myshardid" 2 "" "Returns the identifier of the node's shard."
    NODES "cluster|nodes" 2 "" "Returns the nodes."
    REPLICAS "cluster|replicas" 3 "node-id" "Returns the replicas of a master."
    REPLICATE "cluster|replicate" 3 "node-id" "Makes a node a replica."
    RESET "cluster|reset" -2 "[HARD | SOFT]" "Resets a node."
    SAVECONFIG "cluster|saveconfig" 2 "" "Writes the state of the cluster to disk."
    SET_CONFIG_EPOCH "cluster|set-config-epoch" 3 "config-epoch" "Sets the epoch of a node."
    SETSLOT "cluster|setslot" -4 "slot state" "Moves a slot."
    SHARDS "cluster|shards" 2 "" "Returns the shards."
    SLAVES "cluster|slaves" 3 "node-id" "Returns the replicas of a master."
    SLOTS "cluster|slots" 2 "" "Returns which node has which slots."
}
