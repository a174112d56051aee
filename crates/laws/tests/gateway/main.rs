//! The laws of a gateway in a closed loop.

mod mesh;

use evenair_laws::rate::gateway::{ArcParams, GatewayParams, PfrcParams};
use mesh::{Flow, Mesh, Wants};

fn chain(hops: &[f64]) -> Vec<Flow> {
    hops.iter().map(|&hops| Flow::new(hops, Wants::All)).collect()
}

fn show(name: &str, mesh: &mut Mesh, epochs: usize) {
    println!("== {name}: fair {:.0} kb/s", mesh.fair() / 1e3);
    for epoch in 0..epochs {
        mesh.epoch();
        let rates: Vec<_> = mesh.rates().iter().map(|rate| (rate / 1e3).round()).collect();
        let each: Vec<_> =
            mesh.allocation.each.iter().chain(&mesh.allocation.total).map(|r| r.as_bps() / 1000).collect();
        println!("{epoch:3} {rates:?} -> {:?} {each:?}", mesh.allocation.decision.to_string());
    }
}

#[test]
fn look() {
    for (name, params) in [
        ("pfrc", GatewayParams::from(PfrcParams::corrected())),
        ("pfrc thesis", PfrcParams::jam10().into()),
        ("arc", ArcParams::corrected().into()),
        ("arc thesis", ArcParams::jam10().into()),
    ] {
        let flows = chain(&[1.0, 2.0, 3.0, 4.0]);
        show(name, &mut Mesh::new(&params, &flows), 25);
        let mut flows = flows;
        flows[3].wants = Wants::Rate(20e3);
        show(&format!("{name} limited"), &mut Mesh::new(&params, &flows), 25);
    }
}
