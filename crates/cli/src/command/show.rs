//! `evenair show`.

use crate::arguments::ScenarioArguments;
use crate::command::{plot, run};
use crate::gateway;
use crate::graph::{Graph, Of};
use crate::output::{Overwrite, drops_of_backoff, print, resolved, warn};
use crate::{terminal, text};
use anyhow::{Result, ensure};
use clap::Args;
use evenair_laws::backoff::{BackoffParams, Category};
use evenair_netsim::{FlowSpec, MacSpec};
use evenair_scenario::{Layout, NodeTable, Objective, Resolved, Scenario, Size, Time};
use evenair_study::figure;
use evenair_topology::Link;
use evenair_units::{Bytes, Duration, Instant};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair show chen10/a\n  \
    evenair show chen10/a --resolved\n  \
    evenair show chen10/a --map a.svg\n  \
    evenair show chen10/a --export a.graphml\n  \
    evenair show wifi/walk --at 12s --map then.svg\n  \
    evenair show chen10/a --export conflicts.dot --graph conflicts")]
pub(crate) struct ShowOptions {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// Print the resolved scenario, all defaults written out, as TOML
    #[arg(long)]
    pub(crate) resolved: bool,
    /// Draw the map instead: nodes in metres, the ways of flows, ranges; the conflict graph, where nodes have no positions. An SVG
    /// or a PNG, by the file's ending
    #[arg(long, value_name = "FILE", conflicts_with = "resolved")]
    pub(crate) map: Option<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["resolved", "map"],
        help = "Write the network as a graph for other programs instead: GraphML (.graphml) or DOT (.dot)"
    )]
    pub(crate) export: Option<PathBuf>,
    /// Which graph that is
    #[arg(long, value_enum, value_name = "GRAPH", default_value = "topology", requires = "export")]
    pub(crate) graph: Of,
    /// Show the network at this instant, where nodes move [default: the beginning]
    #[arg(long, value_name = "TIME", conflicts_with = "resolved")]
    pub(crate) at: Option<Time>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
}

/// The channels and powers of nodes that have their own.
fn own_of_nodes(settings: &Scenario) -> String {
    let listed = |of: &dyn Fn(&NodeTable) -> Option<String>| {
        let own: Vec<String> =
            settings.nodes.iter().filter_map(|node| Some(format!("{} {}", node.id, of(node)?))).collect();
        own.join(", ")
    };
    let channels = listed(&|node| node.channel.map(|channel| channel.to_string()));
    let powers = listed(&|node| node.transmit_power.map(|power| power.to_string()));
    let mut out = String::new();
    if !channels.is_empty() {
        out += &format!("  channels: {channels}; others {}\n", settings.mac.channel.unwrap_or(1));
    }
    if !powers.is_empty() {
        out += &format!("  transmit power: {powers}; ranges above are of the others\n");
    }
    out
}

/// A network with moving nodes, as it stands at an instant.
fn then(scenario: &Resolved, at: Option<Time>) -> Result<Resolved> {
    let now = Instant::ZERO + at.map_or(Duration::ZERO, |at| at.0);
    Ok(scenario.at(now)?)
}

/// The nodes that move, and the flows without a route at an instant.
fn moving(scenario: &Resolved, at: Option<Time>) -> Result<String> {
    let end = run::end(scenario);
    if !scenario.moves() {
        ensure!(
            at.is_none(),
            "--at has no effect: no node moves; add [[tracks]] or [[walks]], or leave it out"
        );
        return Ok(String::new());
    }
    ensure!(
        at.is_none_or(|at| Instant::ZERO + at.0 <= end),
        "--at lies after the end of the run, which is {} s",
        end.as_secs_f64()
    );
    let settings = scenario.settings();
    let of_walks = settings.walks.iter().flat_map(|walk| &walk.nodes);
    let nodes: Vec<&str> =
        settings.tracks.iter().map(|track| &track.node).chain(of_walks).map(String::as_str).collect();
    let still = then(scenario, at)?;
    let there = &still.network().flows;
    let is_gone = |flow: &&FlowSpec| there.iter().all(|other| other.name != flow.name);
    let gone: Vec<&str> =
        scenario.network().flows.iter().filter(is_gone).map(|flow| flow.name.as_str()).collect();
    let now = at.map_or_else(|| "0 s".into(), |at| at.to_string());
    let mut out = format!("  at {now}; nodes that move: {}\n", nodes.join(", "));
    if !gone.is_empty() {
        out += &format!("  flows without a route at {now}: {}\n", gone.join(", "));
    }
    Ok(out)
}

pub(crate) fn show(options: &ShowOptions) -> Result<()> {
    let writes = options.map.is_some() || options.export.is_some();
    options.overwrite.check(writes, "--map FILE or --export FILE")?;
    let scenario = options.scenario.resolve_network()?;
    if options.resolved {
        return print(&resolved(&scenario)?);
    }
    warn(&scenario);
    let moving = moving(&scenario, options.at)?;
    let scenario = if scenario.moves() { then(&scenario, options.at)? } else { scenario };
    if let Some(file) = &options.map {
        let map = figure::map(&scenario);
        return plot::save(&[(&map, file.clone())], plot::Look::default(), options.overwrite);
    }
    if let Some(file) = &options.export {
        let text = Graph::of(&scenario, options.graph).written_for(file)?;
        options.overwrite.write(file, text.as_bytes())?;
        return print(&format!("{}\n", file.display()));
    }
    let (settings, layout, network) = (scenario.settings(), scenario.layout(), scenario.network());
    let names = &network.nodes;
    let mut out =
        format!("{}\n", if settings.name.is_empty() { options.scenario.called() } else { &settings.name });
    if !settings.description.is_empty() {
        out += &format!("{}\n", settings.description);
    }
    if let (Some(at), Some((transmission_m, sense_m))) = (&layout.positions, layout.ranges_m) {
        out += &format!("\nmap\n{}", text::map(names, at));
        out += &format!("  transmission range {transmission_m:.0} m, carrier-sense range {sense_m:.0} m\n");
    }
    out += &moving;
    out += &own_of_nodes(settings);
    for wall in &settings.walls {
        let ([x, y], [x2, y2]) = (wall.from, wall.to);
        out += &format!("  wall from [{x}, {y}] to [{x2}, {y2}]: {} dB\n", wall.loss.0);
    }
    out += "\nflows\n";
    if network.flows.is_empty() && settings.outside.is_empty() {
        out += "  none: links below are all that could carry some\n";
    }
    for flow in &network.flows {
        let way: Vec<&str> = flow.path.iter().map(|&n| network.name(n)).collect();
        out += &format!("  {}: {}\n", flow.name, way.join(" > "));
    }
    if !settings.outside.is_empty() {
        out += &format!("  attached to the outside: {}\n", settings.outside.join(", "));
    }
    out += &gateway::described(&scenario);
    if let Some(drops) = drops_of_backoff(&scenario) {
        out += &format!("\n{}", text::wrapped("", drops, terminal::width()));
    }
    out += "\nconflict graph: links that may not transmit at once\n";
    if layout.links.is_empty() && network.flows.is_empty() {
        out += &format!("  no link, or more than {}\n", Layout::LINKS_MAX);
    }
    for (l, (name, _)) in layout.links.iter().enumerate() {
        let others: Vec<&str> =
            layout.conflicts.neighbours(l).iter().map(|&m| layout.links[m as usize].0.as_str()).collect();
        out += &format!("  {name}: {}\n", if others.is_empty() { "none".into() } else { others.join(", ") });
    }
    out += &link_rates(&scenario);
    out += &modulation(&scenario);
    let segment = settings.tcp.payload.zip(settings.tcp.headers);
    if let (MacSpec::Dcf { timing, .. }, Some((Size(payload), Size(headers)))) = (network.mac, segment) {
        let mode = network.data_mode;
        let mut rows = vec![vec!["airtime".to_string(), "DATA".into(), "exchange".into()]];
        for (what, size) in [("data packet", payload + headers), ("TCP acknowledgement", headers)] {
            let (data, exchange) = (timing.data(size, mode), timing.exchange(size, mode));
            rows.push(vec![
                format!("{what}, {size}"),
                text::microseconds(data),
                text::microseconds(exchange),
            ]);
        }
        out += &format!("\n{}", text::columns(&rows));
    }
    if let Some(optimum) = scenario.optimum_in_passing(Objective::Fair) {
        out += "\nfair optimum\n";
        for (flow, rate) in network.flows.iter().zip(&optimum.rates_pps) {
            out += &format!("  {}: {} packets/s\n", flow.name, text::number(*rate));
        }
    }
    print(&out)
}

/// The packet that the loss of links is shown for.
const FULL_PACKET: Bytes = Bytes::new(1500);

/// The rates of links and the power at which they are received, where links have rates of their own; where errors follow from the
/// signal-to-noise ratio, that and the packets lost by it, too.
fn link_rates(scenario: &Resolved) -> String {
    let (network, links) = (scenario.network(), &scenario.layout().links);
    let noise = |link: &Link| {
        let of_packet = network.noise_loss(link.from, link.to, FULL_PACKET);
        network.noise_ratio_db(link.from, link.to).zip(of_packet)
    };
    let has_noise = links.iter().any(|(_, link)| noise(link).is_some());
    if (network.rates.is_empty() && !has_noise) || links.is_empty() {
        return String::new();
    }
    let is_modulated = network.data_mode.modulation().is_some();
    let of_noise: &[&str] = if has_noise { &["SNR", "1500 bytes lost"] } else { &[] };
    let head = ["link", "rate", "received"].iter().chain(of_noise).copied();
    let head = head.chain(is_modulated.then_some("mode"));
    let mut rows: Vec<Vec<String>> = vec![head.map(String::from).collect()];
    for (name, link) in links {
        let ear = network.medium.hearing(link.from as usize, link.to as usize);
        let received = ear.map_or(String::new(), |ear| format!("{:.1} dBm", ear.power.level()));
        let mode = network.mode(link.from, link.to);
        let named = is_modulated.then(|| mode.modulation().map_or_else(String::new, |own| own.to_string()));
        let with_noise = has_noise.then(|| match noise(link) {
            Some((ratio_db, loss)) => [format!("{ratio_db:.1} dB"), format!("{:.1} %", 100.0 * loss)],
            None => [String::new(), String::new()],
        });
        let first = [name.clone(), mode.rate().to_string(), received].into_iter();
        rows.push(first.chain(with_noise.into_iter().flatten()).chain(named).collect());
    }
    format!("\n{}", text::columns(&rows))
}

/// How stations of 802.11n, ac and ax send: the mode of links without one of their own, the rate of answers, and EDCA's parameters.
fn modulation(scenario: &Resolved) -> String {
    let (settings, network) = (scenario.settings(), scenario.network());
    let (Some(modulation), MacSpec::Dcf { timing, .. }) = (network.data_mode.modulation(), network.mac)
    else {
        return String::new();
    };
    let (rate, answers) = (modulation.rate(), timing.control(network.data_mode));
    let mut out = format!("\nmode: {modulation}: {rate}; answers at {answers}\n");
    let BackoffParams::Edca(edca) = &settings.backoff else { return out };
    let mut rows = vec![["edca", "windows [slots]", "AIFSN", "TXOP"].map(String::from).to_vec()];
    for category in Category::ALL {
        let given = edca.category(category);
        let number = |value: Option<u32>| value.map_or_else(String::new, |value| value.to_string());
        let txop = given.txop.filter(|txop| !txop.is_zero());
        rows.push(vec![
            category.name().into(),
            format!("{} to {}", number(given.window_min), number(given.window_max)),
            number(given.aifsn),
            txop.map_or_else(|| "one frame".into(), |txop| txop.to_string()),
        ]);
    }
    out += &format!("\n{}", text::columns(&rows));
    out
}
