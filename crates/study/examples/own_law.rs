//! A back-off law of one's own in the packet world, beside DCF: `cargo run --release -p evenair-study --example own_law`
#![allow(clippy::print_stdout, reason = "printing is its purpose")]

use evenair_laws::OwnLaw;
use evenair_laws::Parameters;
use evenair_laws::backoff::{
    Access, BackoffLaw, BackoffParams, Draw, Holding, LinkView, OnFailure, OwnBackoff, Scope, When,
};
use evenair_netsim::Network;
use evenair_scenario::Resolved;
use evenair_units::Duration;

/// A link that has little to send waits long: exponential back-offs, their mean two airtimes over one more than its backlog.
#[derive(Clone, Debug, Default)]
struct Patient {
    waiting: u64,
}

impl OwnLaw for Patient {
    fn identity(&self) -> String {
        "patient, two airtimes".into()
    }
}

impl BackoffLaw for Patient {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }
    fn update_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(100))
    }
    fn on_update(&mut self, link: &LinkView) {
        self.waiting = link.backlog.packets;
    }
    fn access(&self) -> Access {
        Access {
            draw: Draw::ExponentialOfFrame { factor: 2.0 / (1.0 + self.waiting as f64), slotted: false },
            on_failure: OnFailure::Redraw,
            when: When::BeforeFrame,
            holding: Holding::Packet,
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = evenair_study::builtin_scenario("chen10/a").ok_or("built in")?;
    for backoff in [BackoffParams::default(), OwnBackoff::new(Patient::default()).into()] {
        let mut scenario = Resolved::parse("a.toml", text, &[])?.written_out();
        println!("{}", backoff.identity().unwrap_or_else(|| "802.11".into()));
        scenario.backoff = backoff;
        let scenario = scenario.resolve()?;
        for flow in Network::run(scenario.network(), scenario.run_spec(1)).flows {
            println!("  flow {}: {:.1} packets/s", flow.flow, flow.goodput_pps);
        }
    }
    Ok(())
}
