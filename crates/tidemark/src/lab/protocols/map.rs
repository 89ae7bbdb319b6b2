//! `tidemark protocols --map`: which consistency model implies which, and which protocols stand at each.
//!
//! Source: M. Roohitavaf's dissertation, section 9.5 and figure 9.2. The checker derives the order
//! ([`tidemark_check::refinement`]); a protocol stands at the model that it declares. Protocols as papers print them
//! are left out: they declare what they do not keep.

use crate::output::{print, print_json};
use anyhow::Context;
use serde::Serialize;
use std::path::Path;
use tidemark_check::refinement::{IMPLICATIONS, Implication, Map, Model, Standing};
use tidemark_check::{Promise, Property};

/// A protocol that is served, and what it declares.
pub(super) struct Placed {
    pub(super) name: &'static str,
    pub(super) promise: Promise,
    pub(super) default: bool,
}

#[derive(Serialize)]
struct Listed<'m> {
    name: &'m str,
    level: usize,
    about: &'static str,
    /// The name for `tidemark check --promise`.
    promise: Option<&'static str>,
    /// The name for `tidemark check --guarantee`.
    guarantee: Option<&'static str>,
    /// What it implies through no other model.
    implies_directly: Vec<&'m str>,
    implies: Vec<&'m str>,
    protocols: Vec<&'static str>,
}

#[derive(Serialize)]
struct Because {
    premises: Vec<&'static str>,
    conclusion: &'static str,
    because: &'static str,
}

/// Prints the map, or writes it to a picture.
pub(super) fn show(placed: &[Placed], json: bool, svg: Option<&Path>) -> anyhow::Result<()> {
    let map = Map::new();
    if let Some(path) = svg {
        let standing = |model: &Model| at(placed, model).map(standing).collect();
        let drawing = map.svg(&map.models().iter().map(standing).collect::<Vec<_>>());
        std::fs::write(path, drawing).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if json {
        let models: Vec<Listed> = (0..map.models().len()).map(|model| listed(&map, model, placed)).collect();
        let implications: Vec<Because> = IMPLICATIONS.iter().map(because).collect();
        return print_json(&serde_json::json!({ "models": models, "implications": implications }));
    }
    print(&text(&map, placed));
    Ok(())
}

/// The protocols that stand at `model`.
fn at<'p>(placed: &'p [Placed], model: &Model) -> impl Iterator<Item = &'p Placed> + use<'p> {
    let promise = model.promise;
    placed.iter().filter(move |protocol| Some(protocol.promise) == promise)
}

fn standing(protocol: &Placed) -> Standing {
    Standing { name: titled(protocol), marked: protocol.default }
}

fn titled(protocol: &Placed) -> String {
    format!("{}{}", protocol.name, if protocol.default { " (default)" } else { "" })
}

fn listed<'m>(map: &'m Map, place: usize, placed: &[Placed]) -> Listed<'m> {
    let model = &map.models()[place];
    let weaker = map.models().iter().filter(|other| other.name != model.name && model.implies(other));
    Listed {
        name: &model.name,
        level: map.level(place),
        about: model.about,
        promise: model.promise.map(Promise::name),
        guarantee: model.guarantee,
        implies_directly: direct(map, place),
        implies: weaker.map(|other| other.name.as_str()).collect(),
        protocols: at(placed, model).map(|protocol| protocol.name).collect(),
    }
}

fn direct(map: &Map, place: usize) -> Vec<&str> {
    map.directly(place).into_iter().map(|other| map.models()[other].name.as_str()).collect()
}

fn because(implication: &Implication) -> Because {
    let Implication { premises, conclusion, because } = implication;
    Because { premises: premises.iter().map(|p| p.name()).collect(), conclusion: conclusion.name(), because }
}

/// How wide lists are.
const WIDTH: usize = 120;
/// Where their further lines begin.
const INDENT: usize = 16;

/// The map for people, from the weakest model up.
fn text(map: &Map, placed: &[Placed]) -> String {
    let mut text = String::from(
        "Consistency models, from the weakest up. A model implies what stands after -> and what that implies;\n\
         of any other model, some history keeps the one and violates the other. * marks what a protocol can declare.\n\
         NAME-alone is the guarantee NAME without what else the model of that name asks for.\n",
    );
    let mut level = None;
    for (place, model) in map.models().iter().enumerate() {
        if level.replace(map.level(place)) != Some(map.level(place)) {
            text.push_str(&format!("\nlevel {}\n", map.level(place)));
        }
        let mark = if model.promise.is_some() { '*' } else { ' ' };
        text.push_str(&format!("  {mark} {:<28}{}\n", model.name, model.about));
        list(&mut text, "->", direct(map, place).into_iter().map(str::to_string));
        list(&mut text, "protocols:", at(placed, model).map(titled));
    }
    text.push_str("\nWhat guarantees (tidemark check --guarantee) imply of each other, and why:\n");
    for Implication { premises, conclusion, because } in
        IMPLICATIONS.iter().filter(|i| !i.premises.is_empty())
    {
        let names: Vec<&str> = premises.iter().map(|p: &Property| p.name()).collect();
        let rule = format!("{} -> {conclusion}", names.join(" + "));
        text.push_str(&format!("  {rule:<40}{because}\n"));
    }
    text
}

/// Names in lines, if there are any.
fn list(text: &mut String, title: &str, names: impl Iterator<Item = String>) {
    let names: Vec<String> = names.collect();
    let mut line = format!("      {title}");
    for (n, name) in names.iter().enumerate() {
        let item = if n + 1 == names.len() { name.clone() } else { format!("{name},") };
        if line.chars().count() + 1 + item.chars().count() > WIDTH {
            text.push_str(&format!("{line}\n"));
            line = " ".repeat(INDENT);
        }
        line.push(' ');
        line.push_str(&item);
    }
    if !names.is_empty() {
        text.push_str(&format!("{line}\n"));
    }
}
