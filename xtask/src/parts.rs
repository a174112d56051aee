//! The parts of `cargo xtask test`, named by the property they prove.

use crate::suite::LIVE_AND_ABOVE;
use crate::tally::Tally;
use crate::{
    compiler, deb, dependencies, docs, foreign, minimum, module, mutants, packages, packaging, play, python,
    recipe, routers, run, sanitizer, tests, tidy, wheel,
};
use anyhow::Result;

pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) proves: &'static str,
    pub(crate) run: fn() -> Result<Tally>,
    pub(crate) when: When,
    /// The files of the part, as git's paths: it is due where these changed.
    pub(crate) concerns: &'static [&'static str],
    /// Packages that concern it, with all that they depend on.
    pub(crate) packages: &'static [&'static str],
}

/// When a part is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// By `cargo xtask test`.
    Always,
    /// By `--due` where its subject has changed, and by `--all`: minutes in all.
    Due,
    /// By `--everything`, before a release: costly, and it rarely finds anything.
    Release,
}

const fn always(name: &'static str, proves: &'static str, run: fn() -> Result<Tally>) -> Part {
    Part { name, proves, run, when: When::Always, concerns: &[], packages: &[] }
}

const fn due(
    name: &'static str,
    proves: &'static str,
    run: fn() -> Result<Tally>,
    concerns: &'static [&'static str],
    packages: &'static [&'static str],
) -> Part {
    Part { name, proves, run, when: When::Due, concerns, packages }
}

const fn release(
    name: &'static str,
    proves: &'static str,
    run: fn() -> Result<Tally>,
    concerns: &'static [&'static str],
) -> Part {
    Part { name, proves, run, when: When::Release, concerns, packages: &[] }
}

/// The code of computations with recorded results: there a fault of the compiler or an overflow would change
/// results. All crates but those that compute nothing (`tests.rs`).
const COMPUTES: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "crates",
    ":!crates/cli",
    ":!crates/python",
    "scenarios",
    "studies",
    "validation",
    "xtask/src/compiler.rs",
];

/// The parts, in the order in which they fail fastest.
pub(crate) const PARTS: [Part; 24] = [
    always("tidy", "floors, long functions, equations cited by paper, labels, paths", tidy::run),
    due(
        "play",
        "the simulator compiles for browsers, small and without imports; the page lies beside it in target/play",
        play::run,
        &["Cargo.lock", "Cargo.toml", "xtask/src/play.rs"],
        &["evenair-wasm"],
    ),
    always("formatting", "cargo fmt --check", || run::cargo(&["fmt", "--all", "--check"])),
    always("python", "ruff over validation/, python/ and docs/", python::run),
    always("dependencies", "licences, versions, sources (deny.toml)", dependencies::run),
    always(
        "packaging",
        "services, scripts and OpenWrt's files: as their own tools read them, with the keys that the gateway has",
        packaging::run,
    ),
    always(
        "tests",
        "theory and packets: unit, property, golden, agreement and end-to-end tests of the users' build",
        tests::packets,
    ),
    due(
        "live",
        "everything that wants this machine's kernel: gateway, transport, congestion control, emulator",
        tests::live,
        &["Cargo.lock", "Cargo.toml", "docs", "lab", "packaging", "scenarios", "validation/linux"],
        &LIVE_AND_ABOVE,
    ),
    due(
        "lints",
        "lints of all crates, with and without their features, warnings as errors",
        tests::lints,
        &["Cargo.lock", "Cargo.toml", "benches", "clippy.toml", "crates", "xtask"],
        &[],
    ),
    due(
        "docs",
        "rustdoc and the site of docs/ with links and figures, warnings as errors",
        docs::run,
        &[
            "Cargo.lock",
            "Cargo.toml",
            "crates",
            "docs",
            "mkdocs.yml",
            "scenarios",
            "specs",
            "studies",
            "validation",
            "xtask/src/docs.rs",
        ],
        &[],
    ),
    due(
        "module",
        "the Python module of the release build: its tests, schemas, mypy",
        module::run,
        &[
            "Cargo.lock",
            "Cargo.toml",
            "pyproject.toml",
            "python",
            "scenarios",
            "studies",
            "xtask/src/module.rs",
            "xtask/stub",
        ],
        &["evenair-python", "evenair-cli"],
    ),
    release(
        "minimum",
        "the least Rust that Cargo.toml promises; laws without std",
        minimum::run,
        &["Cargo.lock", "Cargo.toml", "crates/*/Cargo.toml", "crates/units", "crates/laws"],
    ),
    release(
        "packages",
        "the crates that can be used alone build from their packages",
        packages::run,
        &["Cargo.lock", "Cargo.toml", "crates/*/Cargo.toml", "xtask/src/packages.rs"],
    ),
    release(
        "deb",
        "the package for Debian is built, installed, upgraded and purged in a root of its own",
        deb::run,
        &["Cargo.lock", "crates/cli/Cargo.toml", "packaging", "xtask/src/bundle.rs", "xtask/src/deb.rs"],
    ),
    release(
        "routers",
        "the command for routers links (aarch64, musl), and how large it is",
        routers::run,
        &["Cargo.lock", "Cargo.toml", "crates/*/Cargo.toml", "crates/linux", "xtask/src/routers.rs"],
    ),
    release(
        "foreign",
        "the gateway's tests on Debian's stock kernel, in qemu: features that this machine's kernel lacks",
        foreign::run,
        &["crates/access", "crates/linux", "crates/gateway", "crates/kernel", "xtask/src/foreign.rs"],
    ),
    release(
        "recipe",
        "CONTRIBUTING's recipe for a law, done on a copy of the tree",
        recipe::run,
        &[
            "CONTRIBUTING.md",
            "docs/recipes",
            "crates/laws/src/backoff/mod.rs",
            "crates/laws/src/family.rs",
            "xtask/src/recipe.rs",
        ],
    ),
    release(
        "wheel",
        "the wheel for every Linux since glibc 2.17, alone, on the oldest and newest Python, with dask and ray",
        wheel::run,
        &["Cargo.lock", "pyproject.toml", "crates/python", "python", "xtask/src/wheel.rs"],
    ),
    release(
        "release",
        "what a release gives away is built, and programs and wheel work where there is no Rust: target/release-archive",
        crate::release::run,
        &[
            "Cargo.lock",
            "Cargo.toml",
            "crates",
            "docs",
            "mkdocs.yml",
            "packaging",
            "pyproject.toml",
            "python",
            "xtask/src/bundle.rs",
            "xtask/src/release.rs",
            "xtask/src/sbom.rs",
        ],
    ),
    release(
        "installed",
        "the end-to-end tests again with the command that cargo installs (profile dist)",
        tests::installed,
        &["Cargo.lock", "Cargo.toml", "crates", ":!crates/python", "scenarios", "studies"],
    ),
    release("debug", "the tests again with debug assertions and overflow checks", tests::debug, COMPUTES),
    release(
        "compiler",
        "nothing in the release build that rustc 1.88 to 1.96 compiles wrongly",
        compiler::run,
        COMPUTES,
    ),
    release(
        "sanitizer",
        "no fault of memory: readers of outside input, fuzzed for a minute a target, and the crate with unsafe code",
        sanitizer::run,
        &["Cargo.lock", "crates", "fuzz", "xtask/src/sanitizer.rs"],
    ),
    release(
        "mutants",
        "a sample of faults put into laws, TCP, 802.11, queues, codecs and certificate is found by their tests; another one each day",
        mutants::run,
        &["crates", "validation/mutants"],
    ),
];
