//! Benchmarks only: `cargo bench -p evenair-benches`.
