//! Strings.

use crate::redis::prelude::*;

commands! { get, getset, mget, mset, set, setnx, strlen }

const READ: &[&str] = &["readonly", "fast"];
const WRITE: &[&str] = &["write", "denyoom"];
const FAST_WRITE: &[&str] = &["write", "denyoom", "fast"];
const STRING: Spec = Spec { group: Group::String, keys: Keys::FIRST, ..Spec::DEFAULT };
