//! The gateway's grip on its kernel: what stands there, what was there before, and the changes that make it what is wanted.

use crate::Side;
use crate::config::{ByHand, Config, Leaf};
use crate::descent::Descent;
use crate::kernel::{AllFound, Failure, Kernel, Readings, Root, Stamp};
use crate::plan::{Before, Change, Names, after, difference, restoration};
use crate::record::Event;
use crate::tree::{AGGREGATE, Class, Trees};
use evenair_units::{Instant, Rate};
use std::collections::BTreeMap;

/// The gateway's table of the packet filter.
pub const TABLE: &str = "evenair";
/// So many lines of a plan are written down.
const LINES: usize = 20;
/// A share that is another by less than one such part is the same.
const SHIFT: u64 = 50;

/// The grip.
#[derive(Debug)]
pub(crate) struct Grip<K> {
    pub(crate) kernel: K,
    devices: [String; 2],
    table: &'static str,
    leaf: Leaf,
    by_hand: ByHand,
    before: Option<[Before; 2]>,
    /// What is there; none, where nobody knows.
    there: Option<AllFound>,
    /// What it was told by when it was looked at last.
    stamp: Option<Stamp>,
    /// Rates that somebody else gave, and that stay.
    left: BTreeMap<(Side, u16), Class>,
    descent: Descent,
    /// Nothing has held anybody yet.
    begins: bool,
    told: Vec<Event>,
}

impl<K: Kernel> Grip<K> {
    /// Of a kernel in which nothing is to be changed.
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
            descent: Descent::default(),
            begins: true,
            told: Vec::new(),
        }
    }

    /// Looks at what is there; nothing changes yet. `known` is what a daemon before found there before it came, and `takes_over` says whether
    /// queues of others may go until this one ends.
    ///
    /// # Errors
    /// If the devices are not there, or not to be touched; says what to do.
    pub(crate) fn new(
        kernel: K,
        config: &Config,
        (known, takes_over): (Option<&[Before; 2]>, bool),
    ) -> Result<Self, Failure> {
        let mut grip = Self::loose(kernel, config);
        let there = grip.kernel.find()?;
        let mut before = Vec::new();
        for (side, device) in Side::ALL.into_iter().zip(&grip.devices) {
            before.push(before_us(&there, side, device, (known, takes_over))?);
        }
        (grip.before, grip.there) = (before.try_into().ok(), Some(there));
        Ok(grip)
    }

    /// What was there before anything was changed; none, as long as nothing was.
    pub(crate) fn before(&self) -> Option<[Before; 2]> {
        self.before.clone()
    }

    /// Puts up what is wanted, on top of whatever of the gateway's is there.
    ///
    /// # Errors
    /// At the first change that fails. What stands by then is taken down again by [`restore`](Self::restore).
    pub(crate) fn begin(&mut self, wanted: Trees) -> Result<(), Failure> {
        self.there = None;
        let done = self.advance(wanted);
        self.begins = false;
        done
    }

    /// Whether something may have led packets past the limits since this was asked last.
    pub(crate) fn is_other(&mut self) -> bool {
        let stamp = Some(self.kernel.stamp());
        self.told.extend(self.kernel.take_notes().into_iter().map(Event::Trouble));
        stamp != self.stamp
    }

    /// Looks at what is there, says what somebody changed, and makes it what is wanted.
    ///
    /// # Errors
    /// If the kernel does not tell, or refuses.
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

    /// What came back may be another device: what is on it now is what is put back at the end.
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

    /// Whether what somebody else did to a class stays.
    fn leaves(&mut self, mending: &Change, found: &AllFound) -> bool {
        let Change::ChangeClass(side, minor, _) = *mending else { return false };
        let leaves = self.by_hand == ByHand::Leave;
        if let Some(&class) = found.of(side).tree.classes.get(&minor).filter(|_| leaves) {
            self.left.insert((side, minor), class);
        }
        leaves
    }

    /// Makes what is known to be there what is wanted.
    ///
    /// # Errors
    /// If the kernel refuses. Of a plan that failed in its middle only the kernel knows what stands: it is asked before the next.
    pub(crate) fn advance(&mut self, mut wanted: Trees) -> Result<(), Failure> {
        let there = match self.there.take() {
            Some(there) => there,
            None => self.find()?,
        };
        // What stays as somebody left it is not on its way to anywhere.
        for (&(side, minor), class) in &self.left {
            wanted.of_mut(side).classes.entry(minor).and_modify(|wanted| *wanted = *class);
        }
        self.descent.hold(&mut wanted, &there, self.begins);
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

    /// Each side has another share of the bucket for all. Nothing happens while limits come down, where somebody set the share by hand, or if it
    /// is as good as what stands.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn share(&mut self, totals: [Rate; 2]) -> Result<(), Failure> {
        let Some(there) = self.there.as_mut().filter(|_| self.descent.is_over()) else { return Ok(()) };
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

    /// What would be changed, if it were to be: so many things, the first of them in lines. From now on it counts as done.
    pub(crate) fn would_change(&mut self, wanted: &Trees) -> Event {
        let there = self.there.take().unwrap_or_default();
        let plan = difference(wanted, &there);
        self.there = Some(after(wanted, &there));
        Event::WouldChange(plan.len(), self.lines(&plan))
    }

    /// Limits that come down come down by a step, by what was counted, or at once where nothing is to be read; gives whether somebody carried
    /// more than it should: then what was counted is no measure of the limits.
    pub(crate) fn descend(&mut self, now: Instant, counted: Option<&[Readings; 2]>) -> bool {
        let Some(readings) = counted else {
            self.descent.end();
            return false;
        };
        self.descent.step(now, readings)
    }

    /// Whether no limit is on its way down.
    pub(crate) fn is_settled(&self) -> bool {
        self.descent.is_over()
    }

    /// The operator's file was read again.
    pub(crate) fn on_config(&mut self, config: &Config) {
        self.by_hand = config.by_hand;
        self.left.clear();
    }

    /// All is as it was before; gives whether there was something to restore.
    ///
    /// # Errors
    /// If the kernel refuses; then what was there before is still needed.
    pub(crate) fn restore(&mut self) -> Result<(), Failure> {
        if let Some([down, up]) = &self.before {
            let plan = restoration([down, up], &self.kernel.find()?);
            self.kernel.apply(&plan)?;
            self.before = None;
        }
        Ok(())
    }

    /// What happened since this was asked last.
    pub(crate) fn take_told(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.told)
    }

    /// The first lines of a plan.
    fn lines(&self, plan: &[Change]) -> Vec<String> {
        let [mesh, uplink] = &self.devices;
        let names = Names { mesh, uplink, table: self.table, leaf: self.leaf };
        plan.iter().flat_map(|change| change.lines(&names)).take(LINES).collect()
    }
}

fn no_device(name: &str) -> Failure {
    Failure::new(name, "no such device; see: ip link")
}

/// What was on a device before the gateway came; an error, if it may not be touched.
fn before_us(
    there: &AllFound,
    side: Side,
    device: &str,
    (known, takes_over): (Option<&[Before; 2]>, bool),
) -> Result<Before, Failure> {
    let found = there.of(side);
    // A daemon that was killed may have been at any step of its plan.
    let known = known.map(|known| &known[side as usize]);
    let is_other = |known: &&Before| matches!(found.root, Root::Foreign { .. }) && found.root != known.root;
    if let Some(known) = known.filter(|known| !is_other(known)) {
        return Ok(known.clone());
    }
    match &found.root {
        Root::Ours => Err(Failure::new(
            device,
            "a tree with evenair's number is there, and nothing is kept of who made it; if it is a daemon's that lost its state folder: \
            evenair gateway clear --all",
        )),
        Root::Foreign { kind, major, .. } if !takes_over => Err(Failure::new(
            device,
            format!(
                "somebody's {kind} {major:x}: is its root; --take-over replaces it until the daemon stops, and puts it back then"
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
