//! `evenair schema`.

use crate::output::print;
use anyhow::Result;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair schema > scenario.schema.json\n  \
    evenair schema study > study.schema.json\n  \
    evenair schema result")]
pub(crate) struct SchemaOptions {
    /// Of which language or output
    #[arg(value_enum, default_value_t = Form::Scenario)]
    pub(crate) of: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Form {
    /// The scenario language, as JSON Schema
    Scenario,
    /// The study language, as JSON Schema
    Study,
    /// Output of --json and content of manifest.json, as JSON Schema: a definition for each command
    Result,
}

pub(crate) fn schema(options: &SchemaOptions) -> Result<()> {
    match options.of {
        Form::Scenario => print(&format!("{:#}\n", evenair_scenario::schema())),
        Form::Study => print(&format!("{:#}\n", evenair_study::schema())),
        Form::Result => print(&format!("{:#}\n", evenair_study::document::schema())),
    }
}
