//! A folder's account of its result.

use schemars::JsonSchema;
use std::collections::BTreeMap;

/// A result's origin, and its files. It is written key by key ([`crate::manifest`]): each command knows another part of it.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "its schema is what it is for, and a test holds manifests to it")]
pub(super) struct ManifestDocument {
    /// Grows when a key goes or changes its meaning, not when one is added.
    schema_version: u32,
    /// The command that made the result, as a shell takes it.
    command_line: String,
    /// The version.
    evenair: String,
    /// The commit that the program was built from, with `-dirty` behind it where files were changed since; null if it was not built from a
    /// clone.
    commit: Option<String>,
    /// The program's own hash: another build may simulate something else.
    program_sha256: String,
    /// Where random numbers come from.
    generator: String,
    /// Operating system and processor.
    machine: String,
    /// The study's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    study: Option<String>,
    /// The runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<ManifestRun>>,
    /// Each file of the result, by its path, and its SHA-256; the next result replaces them, and no others.
    files: BTreeMap<String, String>,
}

/// A run.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "as above")]
struct ManifestRun {
    /// The variant; "run" of a run that is none's.
    variant: String,
    /// The seed.
    seed: u64,
    /// A hash of the trajectory: the same scenario, seed and version have the same one on any machine.
    fingerprint: String,
    /// How many events were handled.
    events: u64,
}
