//! The commands: each with its options and its action.

#[cfg(all(feature = "live", target_os = "linux"))]
pub(crate) mod backoff;
#[cfg(all(feature = "live", target_os = "linux"))]
pub(crate) mod cc;
pub(crate) mod cite;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
#[cfg(all(feature = "live", target_os = "linux"))]
pub(crate) mod doctor;
#[cfg(all(feature = "live", target_os = "linux"))]
pub(crate) mod emulate;
pub(crate) mod fluid;
pub(crate) mod glossary;
pub(crate) mod list;
pub(crate) mod man;
#[cfg(all(feature = "live", target_os = "linux"))]
pub(crate) mod multiconn;
pub(crate) mod new;
pub(crate) mod play;
pub(crate) mod plot;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod solve;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod verdicts;
