//! Without entropy: parts of a network that share no link, no conflict and no flow are problems of their own.
//!
//! Solved together they would share one scale, and the worth of one part would hide the rates of the other's
//! flows.

use super::schedule::{self, side_by_side};
use super::{Failure, Problem, Residuals, Solution};
use crate::Watch;

/// Solves each part, and puts the answers together.
pub(super) fn solve(problem: &Problem, watch: Watch<'_>) -> Result<Solution, Failure> {
    let parts = parts(problem);
    if let [_] = parts[..] {
        return schedule::solve(problem, watch);
    }
    let mut whole = Whole::new(problem);
    for part in &parts {
        // The sizes of parts do not predict their work, so each part's progress starts at zero.
        whole.take(part, schedule::solve(&part.of(problem), watch)?);
    }
    Ok(whole.solution)
}

/// The links and the flows of a part, by their numbers, ascending.
struct Part {
    links: Vec<usize>,
    flows: Vec<usize>,
}

/// Parts with a flow or a load that is there already; links without either need no time, and wires without a flow no price.
fn parts(problem: &Problem) -> Vec<Part> {
    let (links, air) = (problem.links(), problem.air.links());
    let mut root: Vec<usize> = (0..links).collect();
    let find = |root: &[usize], mut l: usize| {
        while root[l] != l {
            l = root[l];
        }
        l
    };
    let mut used = vec![false; links];
    for &(l, _) in problem.flows.iter().flat_map(|flow| &flow.loads) {
        used[l] = true;
    }
    (0..links).for_each(|l| used[l] |= problem.background_of(l) > 0.0);
    let conflicts = (0..air).flat_map(|l| problem.air.neighbours(l).iter().map(move |&m| (l, m as usize)));
    let conflicts = conflicts.filter(|&(l, m)| used[l] && used[m]);
    let ways = problem.flows.iter().flat_map(|f| f.loads.windows(2).map(|pair| (pair[0].0, pair[1].0)));
    for (l, m) in conflicts.chain(ways) {
        let (l, m) = (find(&root, l), find(&root, m));
        root[l.max(m)] = l.min(m);
    }
    let mut place = vec![usize::MAX; links];
    let mut parts: Vec<Part> = Vec::new();
    for l in (0..links).filter(|&l| used[l]) {
        let first = find(&root, l);
        if place[first] == usize::MAX {
            place[first] = parts.len();
            parts.push(Part { links: Vec::new(), flows: Vec::new() });
        }
        parts[place[first]].links.push(l);
    }
    for (s, flow) in problem.flows.iter().enumerate() {
        match flow.loads.first() {
            Some(&(l, _)) => parts[place[find(&root, l)]].flows.push(s),
            None => parts.push(Part { links: Vec::new(), flows: vec![s] }),
        }
    }
    // A part that only carries something already leaves nothing to choose, but must fit: it stays with the first part.
    let (mut busy, idle): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| !part.flows.is_empty());
    for part in idle {
        busy[0].links.extend(part.links);
    }
    busy.iter_mut().for_each(|part| part.links.sort_unstable());
    busy
}

impl Part {
    fn of(&self, problem: &Problem) -> Problem {
        let air = problem.air.links();
        let split = self.links.partition_point(|&l| l < air);
        let of_air: Vec<u32> = self.links[..split].iter().map(|&l| l as u32).collect();
        let flow = |&s: &usize| {
            let mut flow = problem.flows[s].clone();
            for (l, _) in &mut flow.loads {
                *l = self.links.binary_search(l).expect("a flow's links are in its part");
            }
            flow
        };
        Problem {
            air: problem.air.restricted(&of_air),
            wires: self.links[split..].iter().map(|&l| problem.wires[l - air]).collect(),
            flows: self.flows.iter().map(flow).collect(),
            beta: None,
            background: self.links.iter().map(|&l| problem.background_of(l)).collect(),
        }
    }
}

struct Whole<'a> {
    problem: &'a Problem,
    solution: Solution,
}

impl<'a> Whole<'a> {
    fn new(problem: &'a Problem) -> Self {
        let solution = Solution {
            rates: vec![0.0; problem.flows.len()],
            prices: vec![0.0; problem.links()],
            airtime: vec![0.0; problem.air.links()],
            schedule: vec![(Vec::new(), 1.0)],
            utility: 0.0,
            entropy: 0.0,
            bound: 0.0,
            residuals: Residuals::NONE,
            rates_within: vec![0.0; problem.flows.len()],
            steps: 0,
            by_clarabel: false,
        };
        Self { problem, solution }
    }

    fn take(&mut self, part: &Part, of: Solution) {
        let whole = &mut self.solution;
        part.flows.iter().zip(of.rates).for_each(|(&s, x)| whole.rates[s] = x);
        part.flows.iter().zip(of.rates_within).for_each(|(&s, x)| whole.rates_within[s] = x);
        part.links.iter().zip(of.prices).for_each(|(&l, p)| whole.prices[l] = p);
        part.links.iter().zip(of.airtime).for_each(|(&l, y)| whole.airtime[l] = y);
        let name = |set: Vec<u32>| set.into_iter().map(|i| part.links[i as usize] as u32).collect();
        let named: Vec<(Vec<u32>, f64)> = of.schedule.into_iter().map(|(set, y)| (name(set), y)).collect();
        if part.links.first().is_some_and(|&l| l < self.problem.air.links()) {
            whole.schedule = side_by_side(std::mem::take(&mut whole.schedule), &named);
            whole.schedule.iter_mut().for_each(|(set, _)| set.sort_unstable());
        }
        whole.entropy = whole.schedule.iter().map(|(_, share)| -share * libm::log(*share)).sum();
        whole.utility += of.utility;
        whole.bound += of.bound;
        whole.steps += of.steps;
        whole.residuals = whole.residuals.worse(of.residuals);
    }
}
