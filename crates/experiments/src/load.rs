//! Reading experiments: those that are part of the program, and files.

use crate::embedded;
use crate::file::Experiment;
use crate::validate::validate;
use anyhow::{Context, Result, anyhow, bail};
use std::path::Path;

/// All experiments that are part of the program, by id.
///
/// # Errors
/// One of them is not valid, which a test excludes.
pub fn library() -> Result<Vec<Experiment>> {
    embedded::EXPERIMENTS.iter().map(|(stem, text)| embedded_one(stem, text)).collect()
}

fn embedded_one(stem: &str, text: &str) -> Result<Experiment> {
    let file = format!("experiments/{stem}.toml");
    let experiment = parse(&file, text)?;
    if experiment.id != stem {
        bail!("{file}: id: it is {:?}, and the file is called {stem:?}", experiment.id);
    }
    Ok(experiment)
}

/// The experiment that `name` means: an id, or else the path of a file.
///
/// # Errors
/// There is none, it cannot be read, or it is not valid; the message names the file and the field.
pub fn load(name: &str) -> Result<Experiment> {
    if let Some((stem, text)) = embedded::EXPERIMENTS.iter().find(|(stem, _)| *stem == name) {
        return embedded_one(stem, text);
    }
    let path = Path::new(name);
    if !name.ends_with(".toml") && !path.exists() {
        let near = embedded::EXPERIMENTS.iter().map(|(stem, _)| *stem);
        let near: Vec<&str> = near.filter(|stem| related(stem, name)).collect();
        let known = if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) };
        return Err(anyhow!("there is no experiment {name:?}{known}: `tidemark experiment list` shows all"));
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    parse(name, &text)
}

/// Whether two ids begin alike, up to the first `-`.
fn related(id: &str, other: &str) -> bool {
    id.split('-').next() == other.split('-').next()
}

/// Reads an experiment from the text of a file called `file`.
///
/// # Errors
/// It is not valid; the message names the file and the field.
pub fn parse(file: &str, text: &str) -> Result<Experiment> {
    let experiment: Experiment = toml::from_str(text).map_err(|error| anyhow!("{file}: {error}"))?;
    validate(&experiment).map_err(|error| anyhow!("{file}: {error:#}"))?;
    Ok(experiment)
}
