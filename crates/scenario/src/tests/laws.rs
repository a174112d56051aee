//! Laws in scenarios: names, tables, users' own.

use super::*;
use evenair_laws::backoff::{
    Access, BackoffLaw, Draw, Holding, LinkRole, LinkView, OnFailure, OwnBackoff, Scope, Surroundings, When,
};
use evenair_laws::connections::{ConnectionLaw, ConnectionParams, OwnConnections, RttProportionalParams};
use evenair_laws::flow::{FlowView, Signal};
use evenair_laws::marking::{CodelParams, DropTail, MarkingParams};
use evenair_laws::rate::tfrc::TfrcParams;
use evenair_laws::rate::{OwnRate, RateLaw, RateParams, SeenQueue, UtilityBasedParams};
use evenair_laws::window::{AirPath, CubicParams, QuicTcpParams, RenoParams};
use evenair_laws::{OwnLaw, Parameters};
use evenair_netsim::{DisciplineParams, QueueSpec, Traffic, WeightedParams};
use evenair_tcp::{AckPolicy, Recovery};
use evenair_units::{Bytes, Duration, Rate};

#[test]
fn a_window_law_is_a_name_or_a_table() {
    let window = |changes: &[&str]| set(changes).unwrap().settings.tcp.window.unwrap();
    assert_eq!(window(&["tcp.window=reno"]), Window::Law(RenoParams::default().into()));
    assert_eq!(window(&["tcp.window={law='cubic'}"]), Window::Law(CubicParams::default().into()));
    assert_eq!(window(&["tcp.window=newreno"]), Window::Newreno);
    let law = QuicTcpParams { target: 12.0, ..QuicTcpParams::default() };
    assert_eq!(window(&["tcp.window={law='quic-tcp', p=12.0}"]), Window::Law(law.into()));
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    let unknown = refused(&["tcp.window=marathon"]);
    assert!(
        unknown.contains("there is no window law `marathon`; there are reno, scaled-reno, cubic"),
        "{unknown}"
    );
    assert!(
        unknown.contains("newreno") && unknown.starts_with("--set 'tcp.window=marathon': tcp.window: "),
        "{unknown}"
    );
    let key = refused(&["tcp.window={law='quic-tcp', q=12.0}"]);
    assert!(key.contains("unknown field `q`, expected one of `p`"), "{key}");
    assert!(refused(&["tcp.window={law='quic-tcp', p=-1.0}"]).contains("tcp.window.p: -1 is not allowed"));
}

#[test]
fn law_decides_no_more_often_than_news() {
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    for changes in [
        &["connections={k=10, interval=\"0.001 us\"}"][..],
        &["connections={law='utility', interval=\"1 us\"}"],
        &["connections={law='iimd', interval=\"9 us\"}"],
        &["backoff={law='adaptive', interval=\"1 us\"}"],
        &["backoff={law='queueing-delay', interval=\"1 us\"}"],
        &["backoff={law='optimal', interval=\"1 us\"}"],
        &["drop={law='pie', update=\"1 us\"}"],
    ] {
        let text = refused(changes);
        assert!(text.contains("is not allowed: at least 10 us: a slot of 802.11"), "{changes:?}: {text}");
    }
    assert!(set(&["connections={k=10, interval=\"10 us\"}"]).is_ok());
}

/// [QCSMA] section III-C reads the queue of a node; over ideal CSMA there is none.
#[test]
fn a_queue_for_the_node_needs_80211() {
    for law in ["queueing-delay", "queue-length"] {
        let backoff = format!("backoff={{law='{law}', queues='per-node'}}");
        let refused = set(&["mac.kind=ideal", &backoff]).unwrap_err().to_string();
        let expected =
            "backoff.queues: a queue for the node needs 802.11: over ideal CSMA each link has its own";
        assert!(refused.contains(expected), "{refused}");
        let over_80211 = set(&["preset=standard", &backoff]).unwrap();
        assert_eq!(
            over_80211.network().backoff.begin(&LinkRole::data(Surroundings::default())).scope(),
            Scope::Node
        );
    }
}

/// Nodes 200 m apart, each with a flow to the first, at 1 Mb/s.
fn chain(hops: usize, tcp: &str, more: &str) -> Resolved {
    let mut text = format!(
        "preset = \"ns2\"\nduration = \"100 s\"\ntcp = {{ {tcp}, payload = \"1460 bytes\" }}
        radio = {{ receive_threshold = \"-64.37 dBm\", carrier_sense_threshold = \"-78 dBm\", transmit_power = \"24.5 dBm\" }}
        mac = {{ data_rate = \"1 Mbps\", basic_rate = \"1 Mbps\" }}\n{more}\n"
    );
    for hop in 0..=hops {
        text += &format!("[[nodes]]\nid = \"{hop}\"\nat = [{}, 0]\n", 200 * hop);
    }
    for hop in 1..=hops {
        text += &format!("[[flows]]\nid = \"{hop}\"\nfrom = \"{hop}\"\nto = \"0\"\n");
    }
    parse(&text).unwrap()
}

#[test]
fn a_window_law_is_told_of_its_path() {
    let path = |scenario: &Resolved, flow: usize| match &scenario.network().flows[flow].traffic {
        Traffic::Tcp(tcp) => tcp.sender.start.path,
        other => panic!("{other:?}"),
    };
    let (data, acknowledgement) = (Bytes::new(1500), Bytes::new(40));
    let of = |hops, rate, wired| Some(AirPath { hops, data, acknowledgement, rate, wired });
    let plain = chain(3, "window = \"adaptive-pacing\"", "");
    assert_eq!(path(&plain, 0), of(1, Rate::from_kbps(1000), Duration::ZERO));
    assert_eq!(path(&plain, 2), of(3, Rate::from_kbps(1000), Duration::ZERO));
    // Two hops at 1 Mb/s and one at 2: 2.5 us a bit. A wire of 10 Mb/s takes 1.2 + 0.032 ms, and 5 there and 5 back.
    let unequal = "rates = [{ from = \"1\", to = \"0\", rate = \"2 Mbps\" }]
        wires = [{ from = \"3\", to = \"0\", rate = \"10 Mbps\", delay = \"5 ms\" }]";
    let unequal = chain(3, "window = \"adaptive-pacing\"", unequal);
    assert_eq!(path(&unequal, 1), of(2, Rate::from_bps(1_333_333), Duration::ZERO));
    assert_eq!(path(&unequal, 2), None, "over the wire alone");
    let wired = chain(2, "window = \"adaptive-pacing\"", "")
        .to_toml()
        .unwrap()
        .replace("to = \"0\"", "to = \"server\"")
        + "[[nodes]]\nid = \"server\"\n[[wires]]\nfrom = \"server\"\nto = \"0\"\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\nqueue = \"50 packets\"\n";
    assert_eq!(path(&parse(&wired).unwrap(), 1), of(2, Rate::from_kbps(1000), Duration::from_micros(11_232)));
}

/// [Jam10] section 7.6.1: with it flows of unlike lengths share more evenly.
#[test]
fn adaptive_pacing_evens_out_a_chain() {
    let jain = |window: &str| {
        let scenario = chain(5, &format!("window = \"{window}\""), "");
        let result = Network::run(scenario.network(), scenario.run_spec(1));
        let rates: Vec<f64> = result.flows.iter().map(|flow| flow.goodput_pps).collect();
        let sum: f64 = rates.iter().sum();
        assert!(sum > 20.0, "{rates:?}");
        sum * sum / (rates.iter().map(|x| x * x).sum::<f64>() * rates.len() as f64)
    };
    let (plain, paced) = (jain("newreno"), jain("adaptive-pacing"));
    assert!(paced > 0.7 && plain < 0.6, "{plain} and {paced}");
}

#[test]
fn connections_without_name_are_those_of_thesis() {
    let law = set(&["connections.k=7"]).unwrap().settings.connections.unwrap();
    let expected = RttProportionalParams { per_second: 7.0, ..RttProportionalParams::chen10() };
    assert_eq!(law, ConnectionParams::RttProportional(expected));
}

#[test]
fn a_fluid_models_keys_are_its_own() {
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    let other = refused(&["fluid={model='quic-tcp', p=2.0, gain=1.0}"]);
    assert!(
        other.contains("fluid.gain: unknown field `gain`, expected one of `p`, `kappa`, `rho`"),
        "{other}"
    );
    assert!(refused(&["fluid={model='quic-tcp', p=-2.0}"]).contains("fluid.p: -2 is not allowed"));
    let holds = refused(&["fluid={model='quic-tcp', round_trip_holds='5 s'}"]);
    assert!(holds.contains("fluid.round_trip_holds: the model has the path's round trip"), "{holds}");
    let law = refused(&["fluid={model='optimal-csma', b=0.1, p=1.0}"]);
    assert!(law.contains("unknown field `p`"), "{law}");
    let none = refused(&["fluid.round_trip=fixed"]);
    assert!(none.contains("name one in fluid.model"), "{none}");
    let known = set(&["fluid={model='optimal-csma', b=0.1, queue='path-sum', duration='5 s'}"]).unwrap();
    let model = |scenario: &Resolved| scenario.settings.fluid.clone().unwrap().complete(false).unwrap().0;
    let Some(FluidModel::OptimalCsma(keys)) = model(&known) else { panic!() };
    assert!((keys.law.weight - 0.1).abs() < 1e-12 && keys.queue == QueueKind::PathSum);
    assert_eq!(parse(&known.to_toml().unwrap()).unwrap(), known);
    let adaptive = set(&["backoff.law=adaptive", "fluid.round_trip=fixed"]).unwrap();
    assert!(matches!(model(&adaptive), Some(FluidModel::RenoCsma(_))));
}

#[test]
fn the_schema_knows_every_law_and_its_keys() {
    let schema = schema().to_string();
    for word in [
        "dcf",
        "edca",
        "adaptive",
        "r_max",
        "window_min",
        "txop",
        "rtt-proportional",
        "unsampled",
        "cubic",
        "newreno",
        "quic-tcp",
        "kappa",
        "proportional",
        "per_packet",
        "vq_min",
        "utility-based",
        "path-sum",
        "optimal-csma",
        "base_round_trip",
    ] {
        assert!(schema.contains(&format!("\"{word}\"")), "{word} is missing");
    }
}

/// Waits a number of airtimes, in every state.
#[derive(Clone, Debug)]
struct Steady {
    airtimes: f64,
}

impl OwnLaw for Steady {
    fn identity(&self) -> String {
        format!("steady, {} airtimes", self.airtimes)
    }
}

impl BackoffLaw for Steady {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }
    fn update_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(100))
    }
    fn on_update(&mut self, link: &LinkView) {
        assert!(link.interval > Duration::ZERO);
    }
    fn access(&self) -> Access {
        Access {
            draw: Draw::ExponentialOfFrame { factor: self.airtimes, slotted: false },
            on_failure: OnFailure::Redraw,
            when: When::BeforeFrame,
            holding: Holding::Packet,
        }
    }
}

#[test]
fn own_law_runs_and_is_found_by_identity() {
    let with = |airtimes: f64| {
        let mut scenario = set(&["duration=4 s", "warmup=1 s"]).unwrap().written_out();
        scenario.backoff = OwnBackoff::new(Steady { airtimes }).into();
        scenario.resolve().unwrap()
    };
    let goodput =
        |scenario: &Resolved| Network::run(scenario.network(), scenario.run_spec(1)).flows[0].goodput_pps;
    let (hasty, patient) = (with(0.1), with(10.0));
    assert!(goodput(&hasty) > 3.0 * goodput(&patient) && goodput(&patient) > 10.0);
    let written = |scenario: &Resolved| serde_json::to_string(scenario).unwrap();
    assert!(written(&hasty).contains(r#""backoff":{"law":"own","identity":"steady, 0.1 airtimes"}"#));
    assert_ne!(written(&hasty), written(&patient));
    // It survives changes beside it.
    assert_eq!(hasty.written_out().resolve().unwrap(), hasty);
    assert!(parse(&hasty.to_toml().unwrap()).is_err(), "no file can name it");
}

#[test]
fn queues_have_words() {
    let queue = |changes: &[&str]| set(changes).unwrap().network().queue.clone();
    assert_eq!(queue(&[]), QueueSpec::fifo(50));
    assert_eq!(queue(&["mac.queue='20 packets'", "queue.discipline=drr"]).limit_packets, 20);
    let fair = queue(&["queue={discipline='fq-codel', target='2 ms'}", "drop={law='codel'}"]);
    assert_eq!((fair.limit_packets, fair.marking.is_some()), (10_240, true));
    let DisciplineParams::Fair(params) = fair.discipline else { panic!("fq-codel is fair") };
    let line = CodelParams { target: Duration::from_millis(2), ..CodelParams::rfc8289() };
    assert_eq!((params.sparse_first, params.marking), (true, Some(line.into())));
    let bound = queue(&["queue={discipline='drr', line='5 packets'}"]);
    let DisciplineParams::Fair(params) = bound.discipline else { panic!("drr is fair") };
    assert_eq!((bound.limit_packets, params.marking), (50, Some(DropTail::packets(5).into())));
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    assert!(refused(&["queue.line='5 packets'"]).contains("queue.line: is for drr"));
    assert!(refused(&["queue={discipline='drr', line='0 packets'}"]).contains("queue.line: must hold"));
    assert!(refused(&["queue.quantum='9 bytes'"]).contains("queue.quantum: is for drr, fq-codel, cake"));
    assert!(
        refused(&["queue.limit='9 packets'", "mac.queue='9 packets'"])
            .contains("queue.limit: mac.queue gives")
    );
    assert!(refused(&["queue={discipline='drr', quantum='0 bytes'}"]).contains("queue.quantum: must be"));
    assert!(refused(&["queue.hosts=both"]).contains("queue.hosts: is for cake"));
    assert!(
        refused(&["queue={discipline='wfq', airtime='1 ms'}"]).contains("queue.airtime: is for airtime-fair")
    );
    assert_eq!(
        queue(&["queue.discipline=wfq"]),
        QueueSpec {
            discipline: DisciplineParams::Weighted(WeightedParams::default()),
            ..QueueSpec::fifo(50)
        }
    );
    let airtime = queue(&["queue={discipline='airtime-fair', quantum='500 bytes'}"]);
    let DisciplineParams::Airtime(params) = &airtime.discipline else { panic!("it shares airtime") };
    assert_eq!((airtime.limit_packets, params.flows.quantum.count()), (8_192, 500));
    assert_eq!(params.airtime, Duration::from_micros(256));
    assert!(refused(&["queue.discipline=lifo"]).contains("unknown variant `lifo`; did you mean fifo?"));
    for changes in [
        &["queue={discipline='drr', limit='30 packets', line='5 packets'}"][..],
        &["queue.discipline=fq-codel", "drop={law='codel', target='7 ms'}"],
        &["queue={discipline='wfq', line='5 packets'}", "flows.1.weight=3.0"],
        &["queue={discipline='cake', hosts='both', quantum='300 bytes'}"],
        &["queue={discipline='airtime-fair', airtime='5 ms', target='5 ms'}"],
    ] {
        let scenario = set(changes).unwrap();
        assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    }
}

#[test]
fn queues_may_tell_subscribers_apart() {
    use evenair_netsim::Per::{Flow, Subscriber};
    let per = |changes: &[&str]| {
        let scenario = set(changes).unwrap();
        assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario, "it reads back as the same");
        assert_eq!(scenario.written_out().resolve().unwrap(), scenario);
        [scenario.network().queue_of(0).per, scenario.network().queue_of(1).per]
    };
    assert_eq!(per(&["queue.discipline=drr"]), [Flow; 2]);
    assert_eq!(per(&["queue={discipline='drr', per='flow'}"]), [Flow; 2]);
    for discipline in ["drr", "fq-codel", "wfq", "airtime-fair"] {
        assert_eq!(
            per(&[&format!("queue={{discipline='{discipline}', per='subscriber'}}")]),
            [Subscriber; 2]
        );
    }
    assert_eq!(per(&["queue.per=subscriber", "drop=fred"]), [Subscriber; 2], "FRED counts them");
    let own = ["queue.discipline=wfq", "queues=[{nodes=['b'], queue={discipline='drr', per='subscriber'}}]"];
    assert_eq!(per(&own), [Flow, Subscriber]);
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    for changes in [&["queue.per=subscriber"][..], &["queue.per=subscriber", "drop=red"]] {
        assert!(
            refused(changes)
                .contains("queue.per: has no effect on fifo, which keeps all packets in one queue")
        );
    }
    let of_node = refused(&["queues=[{nodes=['b'], queue={per='subscriber'}}]"]);
    assert!(of_node.contains("queues[0].per: has no effect on fifo"), "{of_node}");
    assert!(refused(&["queue={discipline='cake', per='subscriber'}"]).contains("cake has hosts instead"));
    assert!(refused(&["queue={discipline='drr', per='host'}"]).contains("unknown variant `host`"));
}

#[test]
fn nodes_may_have_queues_of_their_own() {
    let queues = |changes: &[&str]| {
        let scenario = set(changes).unwrap();
        assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario, "it reads back as the same");
        assert_eq!(scenario.written_out().resolve().unwrap(), scenario);
        scenario.network().clone()
    };
    let fred = queues(&["queues=[{nodes=['a'], queue='20 packets', drop={law='fred', flow_max=7}}]"]);
    assert_eq!((fred.queue_of(0).limit_packets, fred.queue_of(1).limit_packets), (20, 50));
    let Some(MarkingParams::Fred(law)) = &fred.queue_of(0).marking else { panic!("it has FRED") };
    assert_eq!((law.flow_max, fred.queue_of(1).marking.is_some()), (Some(7), false));
    // A missing key has the value for all.
    let fair = queues(&[
        "queue.discipline=fq-codel",
        "drop=red",
        "queues=[{nodes=['b'], queue={discipline='drr'}}, {nodes=['a'], drop='codel'}]",
    ]);
    assert_eq!((fair.queue_of(0).limit_packets, fair.queue_of(1).limit_packets), (10_240, 50));
    assert!(matches!(fair.queue_of(0).marking, Some(MarkingParams::Codel(_))));
    assert!(matches!(fair.queue_of(1).marking, Some(MarkingParams::Red(_))));
    assert_eq!(fair.queue_of(0).discipline, fair.queue.discipline);
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    assert!(refused(&["queues=[{nodes=['x']}]"]).contains("queues[0].nodes: there is no node \"x\""));
    let twice = refused(&["queues=[{nodes=['a']}, {nodes=['a']}]"]);
    assert!(twice.contains("queues[1].nodes: node \"a\" has its queues from another entry"), "{twice}");
    assert!(refused(&["queues=[{nodes=['a'], drop={law='red', weight=2.0}}]"]).contains("weight: 2 is not"));
}

#[test]
fn wires_have_queues_of_their_own() {
    let text = |queue: &str| {
        format!(
            "nodes = [{{ id = \"a\" }}, {{ id = \"b\" }}]\nflows = [{{ id = \"1\", from = \"a\", to = \"b\" }}]\ndrop = {{ law = \"proportional\", per_packet = 0.01 }}\n[[wires]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbps\"\ndelay = \"5 ms\"\n{queue}\n"
        )
    };
    let wire = |queue: &str| parse(&text(queue)).unwrap().network().wires[1].queue.clone();
    assert_eq!((wire("").limit_packets, wire("").discipline), (50, DisciplineParams::Fifo));
    assert_eq!(wire("queue = \"7 packets\"").limit_packets, 7);
    assert!(matches!(wire("").marking, Some(MarkingParams::Proportional(_))), "[drop] is for wires too");
    let own = wire("queue = { discipline = \"fq-codel\" }\ndrop = { law = \"codel\" }");
    assert!(matches!(own.discipline, DisciplineParams::Fair(_)) && own.limit_packets == 10_240);
    assert!(matches!(own.marking, Some(MarkingParams::Codel(_))));
    let scenario = parse(&text("queue = { discipline = \"drr\" }")).unwrap();
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    let refused = message(&text("queue = { discipline = \"drr\", target = \"1 ms\" }"));
    assert!(refused.contains("wires[0].target: is for fq-codel, cake"), "{refused}");
    assert!(message(&text("queue = 7")).contains("a number of packets such as \"50 packets\""));
}

#[test]
fn rated_flow_has_law_of_its_own_or_that_of_all() {
    let law = |changes: &[&str]| {
        let scenario = set(changes).unwrap();
        assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario, "it reads back as the same");
        let Traffic::Rated(rated) = scenario.network().flows[0].traffic.clone() else { panic!() };
        (rated.law, rated.rate_max.as_bps())
    };
    let v = |utility| RateParams::from(UtilityBasedParams { utility, ..UtilityBasedParams::default() });
    let rated = "flows.1.traffic=rated";
    assert_eq!(law(&[rated, "flows.1.rate_law=utility-based"]), (v(500.0), 1_000_000_000));
    assert_eq!(law(&[rated, "rate_law={law='utility-based', v=7.0}"]).0, v(7.0));
    let own = "flows.1.rate_law={law='utility-based', v=9.0}";
    assert_eq!(
        law(&[rated, own, "rate_law=utility-based", "flows.1.rate_max='2 Mbps'"]),
        (v(9.0), 2_000_000)
    );
    let path = law(&[rated, "rate_law={law='utility-based', queue='path-sum', interval='5 ms'}"]).0;
    let RateParams::UtilityBased(path) = path else { panic!() };
    assert_eq!((path.queue, path.frame), (SeenQueue::PathSum, Duration::from_millis(5)));
}

#[test]
fn bad_rated_flow_names_place_and_remedy() {
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    let none = refused(&["flows.1.traffic=rated"]);
    assert!(none.contains("flows[0].traffic: rated traffic needs the law of its rate: rate_law ="), "{none}");
    let tcp = refused(&["flows.1.rate_law=utility-based"]);
    assert!(tcp.contains("flows[0].rate_law: is for rated traffic: set traffic = \"rated\""), "{tcp}");
    let value = refused(&["flows.1.traffic=rated", "flows.1.rate_law={law='utility-based', v=-1.0}"]);
    assert!(value.contains("flows[0].rate_law.v: -1 is not allowed: above 0"), "{value}");
    let at = TWO.to_owned() + "traffic = \"rated\"\n[flows.rate_law]\nlaw = \"utility-based\"\nv = 0.0\n";
    assert!(message(&at).starts_with("x.toml:21:5: "), "{}", message(&at));
    let both = refused(&["flows.1.traffic=rated", "rate_law=utility-based", "flows.1.rate='1 Mbps'"]);
    assert!(
        both.contains(
            "flows[0].rate: is for cbr, on-off and poisson traffic; a law's is bounded by rate_max"
        ),
        "{both}"
    );
    assert!(refused(&["flows.1.traffic=rated", "rate_law=arc"]).contains("utility-based"));
}

/// Sends its initial rate, and may need a signal.
#[derive(Clone, Debug)]
struct Constant(Rate, Option<Signal>);

impl OwnLaw for Constant {
    fn identity(&self) -> String {
        format!("constant {}", self.0)
    }
}

impl RateLaw for Constant {
    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn needs(&self) -> Vec<Signal> {
        self.1.into_iter().collect()
    }
    fn on_interval(&mut self, _: &FlowView) -> Rate {
        self.0
    }
}

#[test]
fn a_rate_law_of_ones_own_runs_and_survives() {
    let with = |needs| {
        let mut scenario = set(&["duration=10 s", "warmup=1 s"]).unwrap().written_out();
        scenario.flows[0].traffic = TrafficKind::Rated;
        scenario.flows[0].rate_law = Some(OwnRate::new(Constant(Rate::from_kbps(80), needs)).into());
        scenario.resolve()
    };
    let why = "flows[0].rate_law: the law needs the smoothed round trip, which cannot be told here because nobody acknowledges";
    let refused = with(Some(Signal::SmoothedRoundTrip)).unwrap_err().to_string();
    assert!(refused.contains(why), "{refused}");
    let scenario = with(Some(Signal::PathBacklog)).unwrap();
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    assert!((result.flows[0].goodput_pps - 10.0).abs() < 0.11, "{}", result.flows[0].goodput_pps);
    assert!(serde_json::to_string(&scenario).unwrap().contains("constant 80 kbps"));
    assert_eq!(scenario.written_out().resolve().unwrap(), scenario);
}

#[test]
fn tfrc_has_words() {
    let spec = |changes: &[&str]| {
        let scenario = set(&[&["flows.1.traffic=tfrc"], changes].concat()).unwrap();
        assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario, "it reads back as the same");
        let Traffic::Tfrc(tfrc) = scenario.network().flows[0].traffic.clone() else { panic!() };
        tfrc
    };
    let plain = spec(&[]);
    assert_eq!((plain.params, plain.size.count(), plain.report.count()), (TfrcParams::rfc5348(), 1000, 44));
    assert_eq!(plain.connections, None);
    let aggregate = spec(&["tfrc.aggregate=true", "connections.law=iiad", "flows.1.size='1460 bytes'"]);
    assert!(aggregate.params.aggregate && aggregate.connections.is_some() && aggregate.size.count() == 1460);
    assert!(spec(&["tfrc.discounting=false"]).params != TfrcParams::rfc5348());
    assert!(set(&["tfrc.discounting=false"]).unwrap().settings.tfrc.is_none(), "no flow has it");
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    let nobody = refused(&["flows.1.traffic=tfrc", "tfrc.aggregate=true"]);
    assert!(nobody.contains("tfrc.aggregate: needs a law of connections"), "{nobody}");
    let drains = "connections={law='delay-price', round_trip_holds='60 s'}";
    let held = refused(&["flows.1.traffic=tfrc", drains]);
    assert!(held.contains("TFRC's endpoints do not report it"), "{held}");
    let unmarked = refused(&["connections={law='delay-price', price='marks'}"]);
    assert!(unmarked.contains("set tcp.ecn = true"), "{unmarked}");
    let memory = refused(&["flows.1.traffic=tfrc", "tfrc.round_trip_memory=1.0"]);
    assert!(memory.contains("tfrc.round_trip_memory: 1 is not allowed: 0 or more, and below 1"), "{memory}");
    assert!(
        refused(&["flows.1.traffic=tfrc", "flows.1.transfer='9 packets'"])
            .contains("is for TCP; other traffic")
    );
    assert!(refused(&["flows.1.traffic=tfrc", "flows.1.to='*'"]).contains("a broadcast needs datagrams"));
}

/// Keeps three connections.
#[derive(Clone, Debug)]
struct Three;

impl OwnLaw for Three {
    fn identity(&self) -> String {
        "three".into()
    }
}

impl ConnectionLaw for Three {
    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn at_start(&self) -> u32 {
        3
    }
    fn on_interval(&mut self, _: &FlowView) -> u32 {
        3
    }
}

#[test]
fn own_connection_law_of_a_flow_runs_on_any_mac() {
    let mut scenario = set(&["duration=4 s", "warmup=1 s"]).unwrap().written_out();
    scenario.flows[0].connections = Some(OwnConnections::new(Three).into());
    let scenario = scenario.resolve().unwrap();
    assert_eq!(scenario.written_out().resolve().unwrap(), scenario);
    for scenario in [scenario.over_ideal_csma().unwrap(), scenario] {
        let result = Network::run(scenario.network(), scenario.run_spec(1));
        assert!(result.flows[0].goodput_pps > 0.0);
    }
}

/// Two senders in range of each other, one of which draws from a window a quarter as large: it sends most, whether the smaller
/// window is all nodes' or its own.
#[test]
fn some_nodes_may_back_off_by_another_law() {
    let two = |changes: &[&str]| {
        let more = "[[flows]]\nid = \"2\"\nfrom = \"b\"\nto = \"a\"\n";
        let datagrams =
            ["flows.1.traffic=saturated", "flows.2.traffic=saturated", "duration=5 s", "warmup=0 s"];
        let changes: Vec<String> = datagrams.iter().chain(changes).map(ToString::to_string).collect();
        Resolved::parse("x.toml", &format!("{TWO}{more}"), &changes)
    };
    let goodputs = |scenario: &Resolved| {
        let flows = Network::run(scenario.network(), scenario.run_spec(1)).flows;
        [flows[0].goodput_pps, flows[1].goodput_pps]
    };
    let hasty = two(&["queues=[{ nodes = ['a'], backoff = { law = 'dcf', window_min = 7 } }]"]).unwrap();
    let [a, b] = goodputs(&hasty);
    assert!(a > 2.0 * b && b > 10.0, "{a} {b}");
    let turned = [
        "backoff={ law = 'dcf', window_min = 7 }",
        "queues=[{ nodes = ['b'], backoff = { law = 'dcf', window_min = 31 } }]",
    ];
    let turned = two(&turned).unwrap();
    let [c, d] = goodputs(&turned);
    assert!(
        (c - a).abs() + (d - b).abs() < 1e-9,
        "what is all nodes' and what is one's does not matter: {c} {d}"
    );
    assert_eq!(parse(&hasty.to_toml().unwrap()).unwrap(), hasty, "it reads back as the same");
    assert_eq!(hasty.written_out().resolve().unwrap(), hasty);
    let wrong = |changes: &[&str]| two(changes).unwrap_err().to_string();
    let window = wrong(&["queues=[{ nodes = ['a'], backoff = { law = 'dcf', window_min = 70000 } }]"]);
    assert!(window.contains("queues[0].backoff.window_min: 70000 is not allowed"), "{window}");
    let adaptive = two(&[
        "queues=[{ nodes = ['a'], backoff = 'dcf' }]",
        "backoff=adaptive",
        "connections={ law = 'rtt-proportional' }",
    ]);
    let why = adaptive.unwrap().optimum(Objective::FixedPoint).unwrap_err().to_string();
    assert!(why.contains("the fixed point has one [backoff] for all nodes"), "{why}");
}

#[test]
fn acknowledgements_go_with_the_law_of_the_flow() {
    let endpoints = |changes: &[&str]| {
        let scenario = set(changes).unwrap();
        assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario, "it reads back as the same");
        assert_eq!(scenario.written_out().resolve().unwrap(), scenario);
        scenario.network().flows[0].traffic.tcp().unwrap().clone()
    };
    // A flow's own law is as if it stood in [tcp], whichever law stands there.
    for preset in ["preset=standard", "preset=ns2"] {
        for own in ["reno", "newreno", "cubic", "bbr", "vegas"] {
            let alone = endpoints(&[preset, &format!("tcp.window={own}")]);
            for all in ["reno", "cubic"] {
                let beside = [preset, &format!("tcp.window={all}"), &format!("flows.1.window={own}")];
                assert_eq!(endpoints(&beside), alone, "{preset} {own} beside {all}");
            }
        }
    }
    // The keys of [tcp] count for all, and a flow's for it.
    let said = endpoints(&["tcp.sack=false", "tcp.delayed_ack=0 s", "flows.1.window=bbr"]);
    assert_eq!((said.sender.recovery, said.sender.rack), (Recovery::NewReno, false));
    assert_eq!(said.acknowledge, AckPolicy::EachSegment);
    let own = endpoints(&["tcp.window=reno", "flows.1.sack=true", "flows.1.delayed_ack=100 ms"]);
    assert_eq!(
        (own.sender.recovery, own.sender.rack, own.sender.tail_loss_probe),
        (Recovery::Sack, true, true)
    );
    assert_eq!(own.acknowledge, AckPolicy::Delayed { delay: Duration::from_millis(100), quick: 16 });
    let without = endpoints(&["tcp.window=newreno", "tcp.sack=true", "tcp.rack=false", "flows.1.sack=false"]);
    assert_eq!((without.sender.recovery, without.sender.rack), (Recovery::NewReno, false));
}

/// BBR had 373 kb/s beside CUBIC's 9 224 where `[tcp]` named Reno without selective acknowledgements.
#[test]
fn bbr_keeps_own_tcp_settings() {
    let goodputs = |window: &str| {
        let text = format!(
            r#"
            duration = "30 s"
            warmup = "10 s"
            nodes = [{{ id = "s" }}, {{ id = "t" }}, {{ id = "m" }}, {{ id = "r" }}]
            wires = [
                {{ from = "s", to = "m", rate = "1000 Mbps", delay = "1 ms" }},
                {{ from = "t", to = "m", rate = "1000 Mbps", delay = "1 ms" }},
                {{ from = "m", to = "r", rate = "10 Mbps", delay = "20 ms", queue = "35 packets" }},
            ]
            tcp = {{ window = "{window}", receiver_window = "100000 packets", payload = "1448 bytes", headers = "52 bytes" }}
            flows = [
                {{ id = "bbr", from = "s", to = "r", window = "bbr" }},
                {{ id = "cubic", from = "t", to = "r", window = "cubic" }},
            ]
            "#
        );
        let scenario = parse(&text).unwrap();
        let flows = Network::run(scenario.network(), scenario.run_spec(1)).flows;
        [flows[0].goodput_pps, flows[1].goodput_pps]
    };
    let [beside_reno, beside_cubic] = [goodputs("reno"), goodputs("cubic")];
    assert_eq!(
        beside_reno.map(f64::to_bits),
        beside_cubic.map(f64::to_bits),
        "{beside_reno:?} {beside_cubic:?}"
    );
    assert!(beside_reno[0] > beside_reno[1], "{beside_reno:?}");
}

#[test]
fn a_flow_may_have_a_window_law_of_its_own() {
    let laws = |changes: &[&str]| {
        let scenario = set(changes).unwrap();
        assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario, "it reads back as the same");
        assert_eq!(scenario.written_out().resolve().unwrap(), scenario);
        let tcp = scenario.network().flows[0].traffic.tcp().unwrap().clone();
        (tcp.window, tcp.sender.recovery)
    };
    let of_all = laws(&["tcp.window=vegas", "tcp.sack=false"]);
    assert_eq!(laws(&["tcp.window=reno", "tcp.sack=false", "flows.1.window=vegas"]), of_all);
    assert_ne!(laws(&["tcp.window=reno", "tcp.sack=false"]), of_all);
    let reno = laws(&["tcp.sack=false", "flows.1.window=reno"]);
    assert_ne!(reno.1, laws(&["tcp.sack=false", "flows.1.window=newreno"]).1, "recovery goes with the law");
    let wrong = |changes: &[&str]| set(changes).unwrap_err().to_string();
    assert!(
        wrong(&["flows.1.traffic=saturated", "flows.1.window=reno"]).contains("flows[0].window: is for TCP")
    );
    let beta = wrong(&["flows.1.window={ law = 'cubic', beta = 7.0 }"]);
    assert!(beta.contains("flows[0].window.beta: 7 is not allowed"), "{beta}");
}
