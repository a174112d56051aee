//! The files of the playground.

/// A file: its path, its type, its content.
pub(super) type File = (&'static str, &'static str, &'static [u8]);

macro_rules! page {
    ($($name:literal $kind:literal),* $(,)?) => {
        &[$(($name, $kind, include_bytes!(concat!("../../../../wasm/page/", $name)))),*]
    };
}

/// The page.
pub(super) const PAGE: &[File] = page![
    "index.html" "text/html; charset=utf-8",
    "play.css" "text/css; charset=utf-8",
    "app.js" "text/javascript; charset=utf-8",
    "bars.js" "text/javascript; charset=utf-8",
    "controls.js" "text/javascript; charset=utf-8",
    "course.js" "text/javascript; charset=utf-8",
    "disk.js" "text/javascript; charset=utf-8",
    "draw.js" "text/javascript; charset=utf-8",
    "engine.js" "text/javascript; charset=utf-8",
    "map.js" "text/javascript; charset=utf-8",
    "run.js" "text/javascript; charset=utf-8",
    "share.js" "text/javascript; charset=utf-8",
    "standards.js" "text/javascript; charset=utf-8",
    "timeline.js" "text/javascript; charset=utf-8",
    "tour.js" "text/javascript; charset=utf-8",
    "worker.js" "text/javascript; charset=utf-8",
];

/// The simulator, which `cargo xtask play` builds.
pub(super) const SIMULATOR: File = ("evenair.wasm", "application/wasm", include_bytes!(env!("EVENAIR_WASM")));

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_page_has_all_its_files() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../wasm/page");
        let there: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let embedded: BTreeSet<String> = PAGE.iter().map(|(name, ..)| (*name).into()).collect();
        assert_eq!(embedded, there);
    }
}
