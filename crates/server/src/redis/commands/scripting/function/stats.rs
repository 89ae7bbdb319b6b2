//! FUNCTION STATS.

use super::FUNCTION;
use crate::redis::functions::manage;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "function|stats",
    arity: 2,
    flags: &["noscript", "allow_busy"],
    summary: "Returns how many libraries and functions there are.",
    remark: "No function ever runs when this is sent.",
    handler: Handler::Operations(|_| {
        Ok(manage(|libraries, _| {
            let name = |text: &'static str| Reply::Bulk(Bytes::from_static(text.as_bytes()));
            let counts = vec![
                (name("libraries_count"), Reply::count(libraries.iter().len())),
                (name("functions_count"), Reply::count(libraries.functions())),
            ];
            let engines = Reply::Map(vec![(name("LUA"), Reply::Map(counts))]);
            let all = vec![(name("running_script"), Reply::Null), (name("engines"), engines)];
            Ok((Vec::new(), Reply::Map(all)))
        }))
    }),
    ..FUNCTION
};
