//! A run of the packet world, simulated or over real sockets, and files for results too long for memory.

use crate::live::Live;
use crate::watch::{NoRecord, Watched};
use evenair_netsim::{FrameSink, Network, Series, Watchers};
use evenair_results::{RecordOptions, RunRecord, SeriesFile};
use evenair_scenario::Resolved;
use evenair_units::Instant;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Places for results of runs that are too long for memory. By default there is none: then records keep everything that
/// was asked for.
#[derive(Default)]
pub struct Aside<'a> {
    series: Option<PathBuf>,
    frames: Option<Mutex<&'a mut (dyn FrameSink + Send)>>,
    files: Mutex<BTreeMap<u64, SeriesFile>>,
}

impl std::fmt::Debug for Aside<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { series, frames, files } = self;
        let frames = frames.is_some();
        f.debug_struct("Aside")
            .field("series", series)
            .field("frames", &frames)
            .field("files", files)
            .finish()
    }
}

impl<'a> Aside<'a> {
    /// Time series go into files without a name on the disk of `folder`; records have none then. `frames` sees every frame of
    /// the run with the scenario's own seed.
    pub fn new(folder: &Path, frames: Option<&'a mut (dyn FrameSink + Send)>) -> Self {
        Self { series: Some(folder.into()), frames: frames.map(Mutex::new), files: Mutex::default() }
    }

    /// A file for the time series of a run, if they are wanted and go aside.
    fn file(&self, options: RecordOptions) -> Option<SeriesFile> {
        self.series.as_ref().filter(|_| options.series).map(|folder| SeriesFile::create(folder))
    }

    fn keep(&self, seed: u64, file: SeriesFile) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(seed, file);
    }

    /// The time series that went aside, by seed.
    pub fn into_series(self) -> Vec<SeriesFile> {
        self.files.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }
}

/// Runs a scenario with a seed, in real time where `live` is given, and keeps the asked results.
pub(crate) fn run(
    scenario: &Resolved,
    seed: u64,
    options: RecordOptions,
    aside: &Aside<'_>,
    live: Option<&dyn Live>,
    watched: &mut Watched<'_>,
) -> Result<RunRecord, NoRecord> {
    let spec = options.run_spec(scenario, seed);
    let end_s = (spec.warmup + spec.duration).as_secs_f64();
    let mut progress = |now: Instant| watched.reached(now.as_secs_f64() / end_s);
    let mut file = aside.file(options);
    let is_held = options.series && file.is_none();
    let mut put = |portion: &Series| file.iter_mut().for_each(|file| file.append(portion));
    let is_captured = seed == scenario.settings().seed;
    let mut sink = aside.frames.as_ref().filter(|_| is_captured);
    let mut sink = sink.as_mut().map(|sink| sink.lock().unwrap_or_else(PoisonError::into_inner));
    let mut watchers = Watchers {
        progress: Some(&mut progress),
        frames: sink.as_deref_mut().map(|sink| &mut **sink as &mut dyn FrameSink),
        series: (!is_held).then_some(&mut put),
    };
    let result = match live {
        None => Network::run_watched(scenario.network(), spec, watchers).map(|result| (result, None)),
        Some(live) => (live.run(scenario.network(), spec, &mut watchers)?)
            .map(|(result, record)| (result, Some(record))),
    };
    let (result, record_of_host) = result.ok_or(NoRecord::Stopped)?;
    if let Some(mut file) = file {
        file.name(&result);
        aside.keep(seed, file);
    }
    Ok(RunRecord { live: record_of_host, ..RunRecord::new(scenario, result, options) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Sweep;
    use evenair_units::Duration;
    use std::sync::atomic::AtomicBool;

    fn sweep() -> Sweep {
        let changes = ["duration=4 s", "warmup=1 s", "backoff.law=adaptive"].map(String::from);
        let text = crate::builtin_scenario("chen10/a").unwrap();
        let scenario = Resolved::parse("chen10/a.toml", text, &changes).unwrap();
        let every = Some(Duration::from_millis(7));
        Sweep::of_scenario(scenario, 2, RecordOptions { series: true, every, ..RecordOptions::default() })
    }

    fn run(aside: &Aside<'_>) -> Vec<RunRecord> {
        sweep().run_in_memory(aside, &AtomicBool::new(false), &()).unwrap()
    }

    fn aside(folder: &Path) -> (Vec<RunRecord>, Vec<SeriesFile>) {
        let aside = Aside::new(folder, None);
        (run(&aside), aside.into_series())
    }

    #[test]
    fn disk_series_equal_memory_series() {
        let folder = tempfile::tempdir().unwrap();
        let (records, files) = aside(folder.path());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the files have no names");
        for ((held, bare), file) in run(&Aside::default()).into_iter().zip(records).zip(files) {
            let whole = held.series.clone().unwrap();
            assert_eq!(whole.time_s.len(), 714);
            assert_eq!(serde_json::to_value(&whole).unwrap(), serde_json::to_value(&file).unwrap());
            assert_eq!(file.thinned(1000).unwrap(), whole);
            let portions: Vec<Series> = file.portions().collect::<Result<_, _>>().unwrap();
            let times: Vec<f64> = portions.iter().flat_map(|p| p.time_s.iter().copied()).collect();
            let delays: Vec<_> = portions.iter().flat_map(|p| p.flows[1].delay_s.iter().copied()).collect();
            assert_eq!((times, delays), (whole.time_s, whole.flows[1].delay_s.clone()));
            assert_eq!(bare, RunRecord { series: None, ..held });
        }
    }

    #[test]
    fn thinned_points_are_means() {
        let folder = tempfile::tempdir().unwrap();
        let (_, files) = aside(folder.path());
        let (whole, few) = (files[0].thinned(usize::MAX).unwrap(), files[0].thinned(100).unwrap());
        assert_eq!((few.time_s.len(), few.time_s[0]), (90, whole.time_s[7]));
        let mean = whole.flows[0].goodput_pps[8..16].iter().sum::<f64>() / 8.0;
        assert!((few.flows[0].goodput_pps[1] - mean).abs() < 1e-9 * mean);
        let present: Vec<f64> = whole.flows[1].delay_s[80..88].iter().flatten().copied().collect();
        let mean = (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64);
        assert_eq!(few.flows[1].delay_s[10], mean);
        assert_eq!(few.links[0].aggressiveness.len(), 90, "the law has one");
        assert_eq!(few.time_s.last(), whole.time_s.last());
    }

    #[test]
    fn missing_folder_fails_only_readers() {
        let (records, files) = aside(Path::new("no/such/folder"));
        assert!(records[0].flows[0].goodput_pps > 0.0);
        assert!(files[0].thinned(10).is_err() && files[0].portions().any(|portion| portion.is_err()));
        assert!(serde_json::to_string(&files[0]).is_err());
    }
}
