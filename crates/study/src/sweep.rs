//! Running of missing runs, over all cores.

mod window;

use crate::language::Study;
use crate::live::Live;
use crate::run::Aside;
use crate::watch::{NoRecord, Progress, Watched};
use crate::world::World;
use evenair_results::digits::counted;
use evenair_results::{Estimate, RecordOptions, RunRecord, program_hash};
use evenair_scenario::Resolved;
use evenair_service::KeyPath;
use evenair_units::{Duration, Instant};
use rayon::prelude::*;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Why a sweep ended early.
#[derive(Debug)]
pub enum SweepError {
    /// Stopped by the user.
    Stopped {
        /// How many runs were finished.
        finished: usize,
        /// How many there are in all.
        all: usize,
        /// Whether those that were finished are files now, or are lost.
        kept: bool,
    },
    /// A scenario is not right.
    Scenario(String),
    /// Results cannot be written.
    Io(PathBuf, std::io::Error),
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped { finished, all, kept: true } => {
                write!(
                    f,
                    "stopped: {finished} of {} finished and kept; run again to do the rest",
                    counted(*all, "run", "runs")
                )
            }
            Self::Stopped { finished: 0, kept: false, .. } => f.write_str("stopped; nothing is kept"),
            Self::Stopped { finished, all, kept: false } => {
                write!(
                    f,
                    "stopped; nothing is kept of {finished} finished, of {}",
                    counted(*all, "run", "runs")
                )
            }
            Self::Scenario(message) => f.write_str(message),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for SweepError {}

/// One variant of a sweep, with its resolved scenarios.
#[derive(Clone, Debug)]
pub struct Case {
    /// The variant's id.
    pub variant: String,
    /// The scenario, overrides applied and defaults written out; several, of a pool.
    pub scenarios: Vec<Resolved>,
    /// Where its numbers come from.
    pub world: World,
    /// Keep the time series of every seed, not of the first alone.
    pub every_series: bool,
}

impl Case {
    /// The scenario of the sweep's so-manieth seed, from one.
    fn scenario(&self, seed: u64) -> &Resolved {
        &self.scenarios[(seed - 1) as usize % self.scenarios.len()]
    }

    /// The most seeds: a world without chance runs once in each scenario.
    fn seeds_max(&self) -> Option<u32> {
        (!self.world.is_random()).then_some(self.scenarios.len() as u32)
    }
}

/// All runs of a study: variants × seeds.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The variants.
    pub cases: Vec<Case>,
    /// How many seeds each.
    pub seeds: u32,
    /// Go on with more seeds until goodputs are known this well, up to so many seeds.
    precision: Option<(f64, u32)>,
    options: RecordOptions,
    /// Record a window of frames of each variant's first seed.
    timeline: Option<Window>,
    /// The runner in real time.
    live: Option<Arc<dyn Live>>,
}

/// Which frames of a run are recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
enum Window {
    /// The first ones after the warm-up.
    First,
    /// Those around a frame of a flow that arrived; of the flow that has the fewest, if none is named.
    Around(Option<String>),
}

/// One part of a sweep that is shared among machines: the runs with this remainder of their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from one.
    pub index: usize,
    /// How many parts there are.
    pub of: usize,
}

/// A run of a sweep: its case and its seed, from one.
type Job = (usize, u64);
/// Why there are no more results; nothing where all was told to stop.
type Ended = Option<SweepError>;

/// The most seeds that a precision may take, unless a study says otherwise.
pub const SEEDS_MAX: u32 = 1_000;
/// The length of the window that studies draw.
const WINDOW: Duration = Duration::from_millis(60);
/// In so much time after the warm-up a frame of the flow is looked for that the window shows.
const SEARCHED: Duration = Duration::from_secs(10);

impl Sweep {
    /// The scenarios over which packets go, one by one.
    pub fn simulated(&self) -> impl Iterator<Item = &Resolved> {
        let cases = self.cases.iter().filter(|case| case.world.has_packets());
        cases.flat_map(|case| &case.scenarios)
    }

    /// The runs that a study asks for.
    ///
    /// # Errors
    /// If a variant's scenario is not there or not right, or has no flow of a name that a claim is about.
    pub fn new(study: &Study, quick: bool) -> Result<Self, SweepError> {
        let cases = study.variants.iter().map(|variant| {
            let mut changes = study.set.clone();
            changes.extend(variant.set.iter().cloned());
            if quick {
                changes.extend(study.quick.set.iter().cloned());
            }
            changes.extend(study.changes.iter().cloned());
            let read = |id: &str| {
                study.scenario(id, &changes).map_err(|e| {
                    let key = match &e.change {
                        Some(change) if study.changes.contains(change) => KeyPath::root(),
                        Some(_) => KeyPath::entry("variants", variant.number, "set"),
                        None => KeyPath::entry("variants", variant.number, "scenario"),
                    };
                    let fault = study.fault(key, format!("variant {}: {e}", variant.id));
                    SweepError::Scenario(fault.to_string())
                })
            };
            let scenarios = variant.scenario_ids().into_iter().map(read).collect::<Result<_, _>>()?;
            let every_series = study.needs_series(variant);
            Ok(Case { variant: variant.id.clone(), scenarios, world: variant.world, every_series })
        });
        let cases = cases.collect::<Result<Vec<_>, _>>()?;
        study.find_flows(&cases).map_err(|e| SweepError::Scenario(e.to_string()))?;
        Ok(Self::of_cases(study, cases, quick))
    }

    /// The same of scenarios that are resolved already, those of each variant.
    pub(crate) fn of_cases(study: &Study, cases: Vec<Case>, quick: bool) -> Self {
        use crate::FigureKind;
        let draws = |kind| study.figures.iter().any(|f| f.kind == kind);
        let options = RecordOptions {
            series: [FigureKind::Series, FigureKind::Phase, FigureKind::Gateway].into_iter().any(draws),
            ledger: draws(FigureKind::Ledger),
            times: study.needs_times(),
            histograms: study.needs_times(),
            every: study.sample_every.map(|time| time.0),
            ..RecordOptions::default()
        };
        let seeds = if quick { study.quick.seeds } else { study.seeds };
        let timeline = study.figures.iter().find(|f| f.kind == FigureKind::Timeline);
        let timeline =
            timeline.map(|f| f.around.clone().map_or(Window::First, |flow| Window::Around(Some(flow))));
        let precision = study.precision.filter(|_| !quick).map(|p| (p, study.seeds_max));
        Self { cases, seeds, precision, options, timeline, live: None }
    }

    /// Runs of one scenario with several seeds.
    pub fn of_scenario(scenario: Resolved, seeds: u32, options: RecordOptions) -> Self {
        Self::of_scenarios([("run".into(), scenario)], seeds, options)
    }

    /// Runs of several scenarios, each with a name, with several seeds each.
    pub fn of_scenarios(
        scenarios: impl IntoIterator<Item = (String, Resolved)>,
        seeds: u32,
        options: RecordOptions,
    ) -> Self {
        let case = |(variant, scenario)| Case {
            variant,
            scenarios: vec![scenario],
            world: World::Packets,
            every_series: options.series,
        };
        let cases = scenarios.into_iter().map(case).collect();
        Self { cases, seeds, precision: None, options, timeline: None, live: None }
    }

    /// Records a short window of the first seed's air, in which the flow with the fewest frames is served.
    pub fn show_air(&mut self) {
        self.timeline = Some(Window::Around(None));
    }

    /// The time that its runs over real sockets take; [`set_live`](Self::set_live) must come first, if there are any.
    pub fn real_time(&self) -> Duration {
        let live = self.cases.iter().filter(|case| case.world == World::Linux);
        let times = live.flat_map(|case| {
            (1..=u64::from(self.seeds)).map(|seed| {
                let settings = case.scenario(seed).settings();
                settings.warmup.0 + settings.duration.0
            })
        });
        times.fold(Duration::ZERO, |sum, time| sum + time)
    }

    /// Variants of the world `linux` are run by this, alone and one after the other, when all others are done.
    pub fn set_live(&mut self, live: Arc<dyn Live>) {
        self.live = Some(live);
    }

    /// Asks for more seeds until goodputs are known this well, as a study's `precision` does.
    pub fn set_precision(&mut self, precision: f64, seeds_max: u32) {
        self.precision = Some((precision, seeds_max));
    }

    /// Does the missing runs in `folder` and returns every run, by variant, then seed.
    ///
    /// Each finished run is a file of its own, put in place whole, so a sweep that ends early loses only the runs in
    /// progress. A file is used again only by the same program for the same scenario, seed and measurement. Where a
    /// precision is asked for, variants that lack it get half as many seeds again until they have it.
    ///
    /// # Errors
    /// If `stop` was set, or the folder cannot be written.
    pub fn run(
        &self,
        folder: &Path,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<RunRecord>>, SweepError> {
        let mut results: Vec<Vec<RunRecord>> = vec![Vec::new(); self.cases.len()];
        let mut wanted: Vec<u32> = self.cases.iter().map(|case| self.seeds_of(case)).collect();
        loop {
            let done: Vec<u32> = results.iter().map(|runs| runs.len() as u32).collect();
            let more = self.run_more(&done, &wanted, folder, stop, progress)?;
            results.iter_mut().zip(more).for_each(|(runs, more)| runs.extend(more));
            let more = |(case, runs): (&Case, &Vec<RunRecord>)| {
                self.more_seeds(runs).filter(|_| case.world.is_random())
            };
            let next: Vec<Option<u32>> = self.cases.iter().zip(&results).map(more).collect();
            if next.iter().all(Option::is_none) {
                return Ok(results);
            }
            for (wanted, next) in wanted.iter_mut().zip(next) {
                *wanted = next.unwrap_or(*wanted);
            }
        }
    }

    /// Does the missing runs from so many to so many seeds of each variant, and returns those runs by variant.
    ///
    /// # Errors
    /// If `stop` was set, or the folder cannot be written.
    pub fn run_more(
        &self,
        done: &[u32],
        wanted: &[u32],
        folder: &Path,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<RunRecord>>, SweepError> {
        let seeds = |case: usize| u64::from(done[case]) + 1..=u64::from(wanted[case]);
        let jobs: Vec<Job> =
            (0..self.cases.len()).flat_map(|case| seeds(case).map(move |seed| (case, seed))).collect();
        let mut runs: Vec<Vec<RunRecord>> = vec![Vec::new(); self.cases.len()];
        for ((case, _), record) in jobs.iter().zip(self.run_jobs(&jobs, folder, stop, progress)?) {
            runs[*case].push(record);
        }
        Ok(runs)
    }

    /// Does one part of the sweep's runs and keeps them in `folder`; a run of the whole then finds them there. More seeds
    /// for a precision are left to that.
    ///
    /// # Errors
    /// If `stop` was set, or the folder cannot be written.
    pub fn run_shard(
        &self,
        shard: Shard,
        folder: &Path,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<usize, SweepError> {
        let seeds = |case: usize| u64::from(self.seeds_of(&self.cases[case]));
        let all = (0..self.cases.len()).flat_map(|case| (1..=seeds(case)).map(move |s| (case, s)));
        let jobs: Vec<Job> =
            all.enumerate().filter(|(i, _)| i % shard.of == shard.index - 1).map(|(_, job)| job).collect();
        Ok(self.run_jobs(&jobs, folder, stop, progress)?.len())
    }

    fn run_jobs(
        &self,
        jobs: &[Job],
        folder: &Path,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Vec<RunRecord>, SweepError> {
        std::fs::create_dir_all(folder).map_err(|e| SweepError::Io(folder.into(), e))?;
        let path = |&(case, seed): &Job| folder.join(format!("{}.json", self.key(case, seed)));
        let kept: Vec<Option<RunRecord>> = jobs.iter().map(|job| load(&path(job))).collect();
        let work = |jobs: &mut dyn Iterator<Item = &Job>| jobs.map(|job| self.work_of(*job)).sum();
        let missing = || jobs.iter().zip(&kept).filter(|(_, record)| record.is_none()).map(|(job, _)| job);
        progress.started(missing().count(), jobs.len());
        progress.started_work(work(&mut missing()), work(&mut jobs.iter()));
        let finished = AtomicUsize::new(kept.iter().flatten().count());
        let done = self.each(jobs.iter().copied().zip(kept).collect(), |job, kept| {
            if let Some(record) = kept {
                return Ok(record);
            }
            let options = self.options_for(job.0, job.1);
            let mut watched = Watched::new(stop, progress, self.work_of(job));
            let record = self.run_job(job, options, &Aside::default(), &mut watched);
            let record = record.map_err(|ended| match ended {
                Some(SweepError::Scenario(message)) => {
                    Some(SweepError::Scenario(format!("variant {}: {message}", self.cases[job.0].variant)))
                }
                ended => ended,
            })?;
            store(&path(&job), &record)?;
            finished.fetch_add(1, Ordering::Relaxed);
            watched.finish();
            Ok(record)
        });
        let stopped = || {
            let finished = finished.load(Ordering::Relaxed);
            SweepError::Stopped { finished, all: jobs.len(), kept: true }
        };
        done.map_err(|ended| ended.unwrap_or_else(stopped))
    }

    /// Returns the results of the jobs, in their order: computed ones run over all cores, then those in real time, each
    /// alone.
    fn each<T: Send>(
        &self,
        jobs: Vec<(Job, T)>,
        one: impl Fn(Job, T) -> Result<RunRecord, Ended> + Sync,
    ) -> Result<Vec<RunRecord>, Ended> {
        let is_live = |((case, _), _): &(Job, T)| self.cases[*case].world == World::Linux;
        let numbered = jobs.into_iter().enumerate();
        let (live, computed): (Vec<_>, Vec<_>) = numbered.partition(|(_, job)| is_live(job));
        let one = |(number, (job, given))| one(job, given).map(|record| (number, record));
        let mut done: Vec<(usize, RunRecord)> =
            computed.into_par_iter().map(one).collect::<Result<_, _>>()?;
        for job in live {
            done.push(one(job)?);
        }
        done.sort_unstable_by_key(|(number, _)| *number);
        Ok(done.into_iter().map(|(_, record)| record).collect())
    }

    fn run_job(
        &self,
        (case, seed): Job,
        options: RecordOptions,
        aside: &Aside<'_>,
        watched: &mut Watched<'_>,
    ) -> Result<RunRecord, Ended> {
        if watched.stop().load(Ordering::Relaxed) {
            return Err(None);
        }
        let world = self.cases[case].world;
        let (scenario, live) = (self.cases[case].scenario(seed), self.live.as_deref());
        match world.run(scenario, self.seed(case, seed), options, aside, live, watched) {
            Ok(record) => Ok(self.cropped(record)),
            Err(NoRecord::Stopped) => Err(None),
            Err(NoRecord::Failed(message)) => Err(Some(SweepError::Scenario(message))),
        }
    }

    /// Runs everything and writes nothing to disk except series that go aside, with more seeds where a precision asks for them;
    /// only for a sweep of one scenario.
    ///
    /// # Errors
    /// If `stop` was set, or the scenario has no such world.
    pub fn run_in_memory(
        &self,
        aside: &Aside<'_>,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Vec<RunRecord>, SweepError> {
        let mut runs: Vec<RunRecord> = Vec::new();
        let finished = AtomicUsize::new(0);
        let mut wanted = self.seeds;
        loop {
            let missing = runs.len() as u64 + 1..=u64::from(wanted);
            let count = wanted as usize - runs.len();
            progress.started(count, wanted as usize);
            let work = missing.clone().map(|seed| self.work_of((0, seed))).sum();
            progress.started_work(work, work);
            let jobs = missing.map(|seed| ((0, seed), ())).collect();
            let more = self.each(jobs, |job, ()| {
                let timeline = self.options_for(0, job.1).timeline;
                let mut watched = Watched::new(stop, progress, self.work_of(job));
                let record =
                    self.run_job(job, RecordOptions { timeline, ..self.options }, aside, &mut watched)?;
                finished.fetch_add(1, Ordering::Relaxed);
                watched.finish();
                Ok(record)
            });
            let stopped = || {
                let finished = finished.load(Ordering::Relaxed);
                SweepError::Stopped { finished, all: wanted as usize, kept: false }
            };
            runs.extend(more.map_err(|ended| ended.unwrap_or_else(stopped))?);
            let Some(next) = self.more_seeds(&runs) else { return Ok(runs) };
            wanted = next.max(3); // one run has no interval, and that of two is too wide to end with
        }
    }

    /// The work of the runs that it begins with, as [`Progress`] counts it.
    pub fn work(&self) -> f64 {
        let of_case = |case: usize| {
            let seeds = 1..=u64::from(self.seeds_of(&self.cases[case]));
            seeds.map(|seed| self.work_of((case, seed))).sum::<f64>()
        };
        (0..self.cases.len()).map(of_case).sum()
    }

    fn work_of(&self, (case, seed): Job) -> f64 {
        self.cases[case].world.work(self.cases[case].scenario(seed))
    }

    /// How many seeds a variant begins with.
    fn seeds_of(&self, case: &Case) -> u32 {
        case.seeds_max().map_or(self.seeds, |most| most.min(self.seeds))
    }

    /// How many seeds a variant is to have next, if a precision is asked for that it lacks.
    fn more_seeds(&self, runs: &[RunRecord]) -> Option<u32> {
        let (precision, seeds_max) = self.precision?;
        let seeds = runs.len() as u32;
        let more = seeds < seeds_max && !is_precise(runs, precision);
        more.then(|| (seeds + seeds.div_ceil(2)).min(seeds_max))
    }

    /// The scenario's own seed shifts all: seed 1 of the sweep is the scenario's seed.
    fn seed(&self, case: usize, seed: u64) -> u64 {
        self.cases[case].scenario(seed).settings().seed + seed - 1
    }

    /// Series and timeline are drawn for the first seed only, series kept of all where a claim is about them; the ledger
    /// is cheap and kept for all.
    fn options_for(&self, case: usize, seed: u64) -> RecordOptions {
        let warm = Instant::ZERO + self.cases[case].scenario(seed).settings().warmup.0;
        let length = match &self.timeline {
            Some(Window::Around(_)) => Some(SEARCHED),
            Some(Window::First) => Some(WINDOW),
            None => None,
        };
        let first = length.filter(|_| seed == 1).map(|length| (warm, warm + length));
        let timeline = self.options.timeline.or(first);
        let series = self.cases[case].every_series || (self.options.series && seed == 1);
        RecordOptions { series, timeline, ..self.options }
    }

    /// A run with the frames alone that are drawn of it.
    fn cropped(&self, mut record: RunRecord) -> RunRecord {
        if let Some(Window::Around(flow)) = &self.timeline {
            let flow = flow.as_deref().unwrap_or_else(|| window::scarcest(&record)).to_owned();
            window::crop(&mut record, &flow, WINDOW);
        }
        record
    }

    fn key(&self, case: usize, seed: u64) -> String {
        let world = self.cases[case].world;
        let made_by = (
            self.cases[case].scenario(seed),
            world,
            self.seed(case, seed),
            self.options_for(case, seed),
            &self.timeline,
            self.live.as_ref().filter(|_| world == World::Linux).map(|live| live.kernel()),
        );
        let written = serde_json::to_string(&made_by).expect("a scenario is plain data");
        let hash = Sha256::new().chain_update(program_hash()).chain_update(written).finalize();
        format!("{hash:x}")[..24].to_string()
    }
}

/// Whether every flow's goodput is known well enough: half of its interval over the largest mean of all flows. Relative
/// to its own mean, a flow that starves would never be.
fn is_precise(runs: &[RunRecord], precision: f64) -> bool {
    let estimates: Vec<Estimate> = (0..runs[0].flows.len())
        .map(|f| Estimate::from_samples(&runs.iter().map(|r| r.flows[f].goodput_pps).collect::<Vec<_>>()))
        .collect();
    let largest = estimates.iter().map(|e| e.mean).fold(0.0, f64::max);
    estimates.iter().all(|e| e.half_width.is_some_and(|half| half <= precision * largest))
}

fn load(path: &Path) -> Option<RunRecord> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Numbers drafts: two variants may be the same runs, and be written at once.
static DRAFTS: AtomicUsize = AtomicUsize::new(0);

fn store(path: &Path, record: &RunRecord) -> Result<(), SweepError> {
    let text = serde_json::to_vec(record).expect("a record is plain data");
    let draft = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("part-{}-{draft}", std::process::id()));
    std::fs::write(&draft, text)
        .and_then(|()| std::fs::rename(&draft, path))
        .map_err(|e| SweepError::Io(path.into(), e))
}
