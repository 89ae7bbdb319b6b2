//! Positions on the earth, in sorted sets.

use crate::redis::prelude::*;

const BASE: Spec = Spec { group: Group::Geo, keys: Keys::FIRST, ..Spec::DEFAULT };

rows! { BASE;
    "geoadd" GeoAdd -5 WRITE "3.2.0" "key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]",
        "Adds members with positions.";
    "geodist" GeoDist -4 READ "3.2.0" "key member1 member2 [M | KM | FT | MI]", "Returns the distance of two members.";
    "geohash" GeoHash -2 READ "3.2.0" "key [member [member ...]]", "Returns geohashes of members.";
    "geopos" GeoPos -2 READ "3.2.0" "key [member [member ...]]", "Returns positions of members.";
    "geosearch" GeoSearch -7 READ "6.2.0" "key FROMMEMBER member | FROMLONLAT longitude latitude \
        BYRADIUS radius M | KM | FT | MI | BYBOX width height M | KM | FT | MI [ASC | DESC] [COUNT count [ANY]] \
        [WITHCOORD] [WITHDIST] [WITHHASH]", "Returns members in a circle or a box.";
    "georadius_ro" GeoRadiusRo -6 READ "3.2.10" "key longitude latitude radius M | KM | FT | MI [WITHCOORD] \
        [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]", "Returns members in a circle.";
    "georadiusbymember_ro" GeoRadiusByMemberRo -5 READ "3.2.10" "key member radius M | KM | FT | MI [WITHCOORD] \
        [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]", "Returns members in a circle around a member.";
}

group_rows! { BASE;
    "geosearchstore" GeoSearchStore -8 WRITE TWO by_row "6.2.0" "destination source FROMMEMBER member | \
        FROMLONLAT longitude latitude BYRADIUS radius M | KM | FT | MI | BYBOX width height M | KM | FT | MI \
        [ASC | DESC] [COUNT count [ANY]] [STOREDIST]", "Stores members in a circle or a box.", "Keys of several partitions: under `tidemark` alone.";
    "georadius" GeoRadius -6 WRITE FIRST by_store "3.2.0" "key longitude latitude radius M | KM | FT | MI [WITHCOORD] \
        [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
        "Returns or stores members in a circle.", "Keys of several partitions: under `tidemark` alone.";
    "georadiusbymember" GeoRadiusByMember -5 WRITE FIRST by_store "3.2.0" "key member radius M | KM | FT | MI [WITHCOORD] \
        [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
        "Returns or stores members in a circle around a member.", "Keys of several partitions: under `tidemark` alone.";
}
