//! `math.random`: the same numbers wherever a script is run with the same seed. Source: POSIX's `lrand48`.

use crate::libraries::{Fault, native, number};
use mlua::{Lua, Table, Value};
use std::cell::Cell;
use std::rc::Rc;

/// The state of the generator.
#[derive(Clone)]
pub(crate) struct Random(Rc<Cell<u64>>);

const MASK: u64 = (1 << 48) - 1;

impl Random {
    pub(crate) fn new() -> Self {
        let random = Self(Rc::default());
        random.seed(0);
        random
    }

    /// Begins anew.
    pub(crate) fn seed(&self, seed: i32) {
        self.0.set(u64::from(seed as u32) << 16 | 0x330e);
    }

    /// A number from 0 up to, not including, 1.
    fn next(&self) -> f64 {
        let next = self.0.get().wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & MASK;
        self.0.set(next);
        let drawn = (next >> 17) % i32::MAX as u64;
        drawn as f64 / f64::from(i32::MAX)
    }
}

/// Adds `random` and `randomseed` to `table`.
pub(crate) fn install(lua: &Lua, table: &Table, random: &Random) -> mlua::Result<()> {
    let own = random.clone();
    let draw = native(lua, move |_, args| {
        let drawn = own.next();
        let empty = |at: usize| Fault::text(format!("bad argument #{at} to 'random' (interval is empty)"));
        let (low, high) = match args.len() {
            0 => return Ok(vec![Value::Number(drawn)]),
            1 => (1.0, number(&args, 0, "random")?.trunc()),
            2 => (number(&args, 0, "random")?.trunc(), number(&args, 1, "random")?.trunc()),
            _ => return Err(Fault::text("wrong number of arguments")),
        };
        if low > high {
            return Err(empty(args.len()));
        }
        Ok(vec![Value::Number((drawn * (high - low + 1.0)).floor() + low)])
    })?;
    table.set("random", draw)?;
    let own = random.clone();
    table.set(
        "randomseed",
        lua.create_function(move |_, seed: f64| {
            own.seed(seed as i64 as i32);
            Ok(())
        })?,
    )
}
