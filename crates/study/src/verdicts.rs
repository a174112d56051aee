//! What full runs measured, one file for each study, and the page that tells how all claims stand.

mod digest;
mod page;
mod record;
mod standing;
#[cfg(test)]
mod tests;

pub use digest::{Digest, digests};
pub use page::page;
pub use record::{Measurement, Record};
