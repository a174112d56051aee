//! Reconciles the kernel with the wanted state: the installed state, the earlier one, and the changes
//! between them.

use crate::Side;
use crate::config::{ByHand, Config, Leaf};
use crate::kernel::{AllFound, Failure, Kernel, Readings, Root, Stamp};
use crate::lowering::Lowering;
use crate::plan::{Before, Change, Names, after, difference, restoration};
use crate::record::Event;
use crate::tree::{AGGREGATE, Class, Trees};
use evenair_units::{Instant, Rate};
use std::collections::BTreeMap;

/// The gateway's table of the packet filter.
pub const TABLE: &str = "evenair";
/// Largest number of a plan's lines that the log has.
const LINES: usize = 20;
/// A share that changes by less than one such part is kept.
const SHIFT: u64 = 50;

/// The reconciler of one kernel.
#[derive(Debug)]
pub(crate) struct Reconciler<K> {
    pub(crate) kernel: K,
    devices: [String; 2],
    table: &'static str,
    leaf: Leaf,
    by_hand: ByHand,
    before: Option<[Before; 2]>,
    /// The installed state; `None` if it is unknown.
    there: Option<AllFound>,
    /// The kernel's stamp when its state was last read.
    stamp: Option<Stamp>,
    /// Rates that another program set, and that stay.
    left: BTreeMap<(Side, u16), Class>,
    lowering: Lowering,
    /// Whether no limit has been set yet.
    begins: bool,
    told: Vec<Event>,
}

impl<K: Kernel> Reconciler<K> {
    /// Creates a reconciler for a kernel that must not be changed.
    pub(crate) fn loose(kernel: K, config: &Config) -> Self {
        let Names { table, leaf, .. } = Names::of(config);
        Self {
            kernel,
            table,
            leaf,
            devices: [config.mesh.clone(), config.uplink.clone()],
            by_hand: config.by_hand,
            before: None,
            there: Some(AllFound::default()),
            stamp: None,
            left: BTreeMap::new(),
            lowering: Lowering::default(),
            begins: true,
            told: Vec::new(),
        }
    }

    /// Reads the installed state; nothing changes yet. `known` is the state that an earlier daemon
    /// found. `takes_over` allows replacing foreign queues until this daemon ends.
    ///
    /// # Errors
    /// If a device is missing, or must not be changed; the message names the remedy.
    pub(crate) fn new(
        kernel: K,
        config: &Config,
        (known, takes_over): (Option<&[Before; 2]>, bool),
    ) -> Result<Self, Failure> {
        let mut reconciler = Self::loose(kernel, config);
        let there = reconciler.kernel.find()?;
        let mut before = Vec::new();
        for (side, device) in Side::ALL.into_iter().zip(&reconciler.devices) {
            before.push(before_us(&there, side, device, (known, takes_over))?);
        }
        (reconciler.before, reconciler.there) = (before.try_into().ok(), Some(there));
        Ok(reconciler)
    }

    /// Returns the devices' state before the first change; `None` as long as nothing was changed.
    pub(crate) fn before(&self) -> Option<[Before; 2]> {
        self.before.clone()
    }

    /// Installs the wanted state, on top of any of the gateway's own that exists.
    ///
    /// # Errors
    /// At the first change that fails. [`restore`](Self::restore) then removes the changes made so far.
    pub(crate) fn begin(&mut self, wanted: Trees) -> Result<(), Failure> {
        self.there = None;
        let done = self.advance(wanted);
        self.begins = false;
        done
    }

    /// Returns whether something may have diverted packets since the last call.
    pub(crate) fn is_other(&mut self) -> bool {
        let stamp = Some(self.kernel.stamp());
        self.told.extend(self.kernel.take_notes().into_iter().map(Event::Trouble));
        stamp != self.stamp
    }

    /// Reads the installed state, reports changes by other programs, and changes it to the wanted
    /// state.
    ///
    /// # Errors
    /// If the kernel cannot be read, or refuses a change.
    pub(crate) fn mend(&mut self, wanted: Trees) -> Result<(), Failure> {
        let found = self.find()?;
        if let Some(believed) = self.there.take().filter(|believed| found != *believed) {
            self.say_what_others_did(&believed, &found);
            self.take_over_again(&believed, &found);
        }
        self.there = Some(found);
        self.advance(wanted)
    }

    fn find(&mut self) -> Result<AllFound, Failure> {
        self.stamp = Some(self.kernel.stamp());
        self.kernel.find()
    }

    fn say_what_others_did(&mut self, believed: &AllFound, found: &AllFound) {
        let believed = Trees { down: believed.down.tree.clone(), up: believed.up.tree.clone() };
        let changes = difference(&believed, found);
        let (left, mended): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| self.leaves(change, found));
        if !left.is_empty() {
            let lines = self.lines(&left);
            self.told.push(Event::Left(left.len(), lines));
        }
        if !mended.is_empty() {
            let lines = self.lines(&mended);
            self.told.push(Event::Mended(mended.len(), lines));
        }
    }

    /// Records the present state of a device that came back, which may be a different one: it is
    /// restored at the end.
    fn take_over_again(&mut self, believed: &AllFound, found: &AllFound) {
        let Some(before) = &mut self.before else { return };
        for side in Side::ALL {
            let there = found.of(side);
            let is_kept = !matches!(there.root, Root::Ours | Root::Gone | Root::Foreign { kept: None, .. });
            if believed.of(side).root == Root::Gone && is_kept {
                before[side as usize] = Before { root: there.root.clone(), offloads: there.offloads.clone() };
            }
        }
    }

    /// Returns whether another program's change to a class stays.
    fn leaves(&mut self, mending: &Change, found: &AllFound) -> bool {
        let Change::ChangeClass(side, minor, _) = *mending else { return false };
        let leaves = self.by_hand == ByHand::Leave;
        if let Some(&class) = found.of(side).tree.classes.get(&minor).filter(|_| leaves) {
            self.left.insert((side, minor), class);
        }
        leaves
    }

    /// Changes the last known installed state to the wanted one.
    ///
    /// # Errors
    /// If the kernel refuses a change. After a plan that failed in its middle the state is unknown, and
    /// is read before the next plan.
    pub(crate) fn advance(&mut self, mut wanted: Trees) -> Result<(), Failure> {
        let there = match self.there.take() {
            Some(there) => there,
            None => self.find()?,
        };
        // Classes with rates set by hand take no part in the lowering.
        for (&(side, minor), class) in &self.left {
            wanted.of_mut(side).classes.entry(minor).and_modify(|wanted| *wanted = *class);
        }
        self.lowering.hold(&mut wanted, &there, self.begins);
        let plan = difference(&wanted, &there);
        if !plan.is_empty() {
            let done = self.kernel.apply(&plan);
            self.stamp = Some(self.kernel.stamp());
            done?;
        }
        self.there = Some(after(&wanted, &there));
        let gone = Side::ALL.into_iter().find(|side| there.of(*side).root == Root::Gone);
        gone.map_or(Ok(()), |side| Err(no_device(&self.devices[side as usize])))
    }

    /// Sets each side's share of the common bucket. Does nothing while limits come down, if a share was
    /// set by hand, or if the share hardly changes.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn share(&mut self, totals: [Rate; 2]) -> Result<(), Failure> {
        let Some(there) = self.there.as_mut().filter(|_| self.lowering.is_over()) else { return Ok(()) };
        let mut plan = Vec::new();
        for (side, total) in Side::ALL.into_iter().zip(totals) {
            let found = there.of_mut(side);
            let stands = found.tree.classes.get_mut(&AGGREGATE).filter(|_| found.root == Root::Ours);
            let Some(class) = stands.filter(|_| !self.left.contains_key(&(side, AGGREGATE))) else {
                continue;
            };
            if class.ceiling.as_bps().abs_diff(total.as_bps()) > class.ceiling.as_bps() / SHIFT {
                *class = Class::all(total);
                plan.push(Change::ChangeClass(side, AGGREGATE, *class));
            }
        }
        if plan.is_empty() {
            return Ok(());
        }
        let done = self.kernel.apply(&plan);
        self.stamp = Some(self.kernel.stamp());
        if done.is_err() {
            self.there = None;
        }
        done
    }

    /// Returns the changes that a dry run would make: their number and the first lines. From then on
    /// they count as made.
    pub(crate) fn would_change(&mut self, wanted: &Trees) -> Event {
        let there = self.there.take().unwrap_or_default();
        let plan = difference(wanted, &there);
        self.there = Some(after(wanted, &there));
        Event::WouldChange(plan.len(), self.lines(&plan))
    }

    /// Lowers limits by one step, or ends the lowering if no counters could be read. Returns whether a
    /// class carried more than it should; its counts then do not measure the limits.
    pub(crate) fn lower(&mut self, now: Instant, counted: Option<&[Readings; 2]>) -> bool {
        let Some(readings) = counted else {
            self.lowering.end();
            return false;
        };
        self.lowering.step(now, readings)
    }

    /// Returns whether no limit is on its way down.
    pub(crate) fn is_settled(&self) -> bool {
        self.lowering.is_over()
    }

    /// Applies a reloaded configuration.
    pub(crate) fn on_config(&mut self, config: &Config) {
        self.by_hand = config.by_hand;
        self.left.clear();
    }

    /// Restores the devices' earlier state.
    ///
    /// # Errors
    /// If the kernel refuses; then the earlier state is still needed.
    pub(crate) fn restore(&mut self) -> Result<(), Failure> {
        if let Some([down, up]) = &self.before {
            let plan = restoration([down, up], &self.kernel.find()?);
            self.kernel.apply(&plan)?;
            self.before = None;
        }
        Ok(())
    }

    /// Takes the events since the last call.
    pub(crate) fn take_told(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.told)
    }

    /// Returns the first lines of a plan.
    fn lines(&self, plan: &[Change]) -> Vec<String> {
        let [mesh, uplink] = &self.devices;
        let names = Names { mesh, uplink, table: self.table, leaf: self.leaf };
        plan.iter().flat_map(|change| change.lines(&names)).take(LINES).collect()
    }
}

fn no_device(name: &str) -> Failure {
    Failure::new(name, "no such device; see: ip link")
}

/// Returns the state of a device before the gateway's first change.
///
/// # Errors
/// If the device must not be changed.
fn before_us(
    there: &AllFound,
    side: Side,
    device: &str,
    (known, takes_over): (Option<&[Before; 2]>, bool),
) -> Result<Before, Failure> {
    let found = there.of(side);
    // A killed daemon may have stopped at any step of its plan.
    let known = known.map(|known| &known[side as usize]);
    let is_other = |known: &&Before| matches!(found.root, Root::Foreign { .. }) && found.root != known.root;
    if let Some(known) = known.filter(|known| !is_other(known)) {
        return Ok(known.clone());
    }
    match &found.root {
        Root::Ours => Err(Failure::new(
            device,
            "a tree with evenair's number is there without a record of its owner; if it is a daemon's that lost its state folder: \
            evenair gateway clear --all",
        )),
        Root::Foreign { kind, major, .. } if !takes_over => Err(Failure::new(
            device,
            format!(
                "another program's {kind} {major:x}: is its root; --take-over replaces it until the daemon stops, and puts it back then"
            ),
        )),
        Root::Foreign { kind, kept: None, .. } => Err(Failure::new(
            device,
            format!(
                "its root {kind} has classes or filters of its own, which could not be put back as they were: remove it first"
            ),
        )),
        Root::Gone => Err(no_device(device)),
        root => Ok(Before { root: root.clone(), offloads: found.offloads.clone() }),
    }
}
