//! Scripts and functions.

use crate::redis::prelude::*;

commands! { function }
