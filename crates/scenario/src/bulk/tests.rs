use crate::Resolved;
use std::fs;

/// The result of reading a scenario beside some files.
fn read(files: &[(&str, &str)], text: &str) -> Result<Resolved, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, contents) in files {
        fs::write(folder.path().join(name), contents).unwrap();
    }
    let path = folder.path().join("mesh.toml");
    fs::write(&path, text).unwrap();
    let shown = path.display().to_string();
    Resolved::load(&path, &[]).map_err(|error| error.to_string().replace(&shown, "mesh.toml"))
}

const MESH: &str = r#"
radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
nodes = { file = "nodes.csv" }
flows = { file = "flows.csv" }
"#;

fn placed(nodes: &str) -> Result<Vec<[f64; 2]>, String> {
    let flows = ("flows.csv", "from,to\na,b\n");
    let mesh = read(&[("nodes.csv", nodes), flows], MESH)?;
    Ok(mesh.settings().nodes.iter().map(|node| node.at.unwrap()).map(|at| [at.east_m, at.north_m]).collect())
}

#[test]
fn nodes_and_flows_come_from_spreadsheets() {
    let nodes = "Name;X [m];Y;Height;Channel\na;0;0;3;\nb;100,5;0;;6\n";
    let flows = "src;dst;traffic;rate;weight\na;b;cbr;1 Mbps;2\n";
    let text = MESH.to_string() + "mac = { channel = 6 }\n";
    let mesh = read(&[("nodes.csv", nodes), ("flows.csv", flows)], &text).unwrap();
    let settings = mesh.settings();
    assert_eq!(settings.nodes[0].at.unwrap().up_m, Some(3.0));
    assert_eq!((settings.nodes[1].at.unwrap().east_m, settings.nodes[1].channel), (100.5, Some(6)));
    let flow = &settings.flows[0];
    assert_eq!((flow.id.as_str(), flow.weight), ("1", Some(2.0)));
    assert_eq!(flow.rate.unwrap().to_string(), "1 Mbps");
}

/// On WGS 84 a thousandth of a degree at 45° is 111.13 m to the north and 78.85 m to the east.
#[test]
fn degrees_become_metres_around_the_middle() {
    let places = placed("id,lat,lon\na,44.9995,9.9995\nb,45.0005,10.0005\n").unwrap();
    for (found, expected) in places.iter().flatten().zip([-39.423, -55.566, 39.423, 55.566]) {
        assert!((found - expected).abs() < 2e-3, "{places:?}");
    }
}

#[test]
fn signals_and_walls_come_from_spreadsheets() {
    let text = r#"
radio = { receive_threshold = "-70 dBm", carrier_sense_threshold = "-80 dBm" }
nodes = { file = "nodes.csv" }
walls = { file = "walls.csv" }
flows = [{ id = "1", from = "a", to = "b" }]
"#;
    let files = [("nodes.csv", "id,x,y\na,0,0\nb,50,0\n"), ("walls.csv", "x1,y1,x2,y2,dB\n25,-9,25,9,6\n")];
    let mesh = read(&files, text).unwrap();
    assert!(
        mesh.settings().walls[0]
            .to
            .iter()
            .zip([25.0, 9.0])
            .all(|(found, wanted)| (found - wanted).abs() < 1e-12)
    );
    let text = r#"
radio = { receive_threshold = "-70 dBm", carrier_sense_threshold = "-80 dBm" }
signals = { file = "signals.csv" }
nodes = [{ id = "a" }, { id = "b" }]
flows = [{ id = "1", from = "a", to = "b" }]
"#;
    let mesh = read(&[("signals.csv", "tx,rx,rssi\na,b,-61\n")], text).unwrap();
    assert_eq!(mesh.settings().signals[0].power.to_string(), "-61 dBm");
}

#[test]
fn mistakes_in_spreadsheets_name_file_and_line() {
    for (nodes, words) in [
        ("id,x\na,0\nb,1\n", "nodes.file: nodes.csv has no places: columns are id, x and y in metres"),
        ("x,y\n0,0\n1,1\n", "nodes.csv has no column \"id\"; its first line names the columns"),
        ("id,x,y\na,0,0\nb,one,0\n", "nodes.csv, line 3: x is \"one\", which is no number"),
        ("id,x,y\na,0,0\nb,,0\n", "nodes.csv, line 3: x is empty"),
        ("id,x,y,hight\na,0,0,1\nb,9,0,1\n", "there is no column \"hight\"; did you mean height?"),
        ("id,x,y,east\na,0,0,1\nb,9,0,1\n", "two columns are \"x\"; leave one out"),
        ("id,lat,lon\na,95,0\nb,9,0\n", "nodes.csv, line 2: latitudes are from -89 to 89 degrees"),
        ("id,x,y\n", "nodes.csv needs a first line that names its columns, and a line for each entry"),
    ] {
        let why = placed(nodes).unwrap_err();
        assert!(why.contains(words), "{nodes}: {why}");
    }
    assert!(placed("id,x,y,#owner\na,0,0,me\nb,9,0,you\n").is_ok(), "columns can be left out");
    let missing = read(&[], MESH).unwrap_err();
    assert!(missing.contains("mesh.toml:3") && missing.contains("nodes.csv cannot be read"), "{missing}");
}

const POINTS: &str = r#"{"type": "FeatureCollection", "features": [
    {"type": "Feature", "properties": {"id": 7, "Name": "gw", "marker-color": "red", "height": 12},
     "geometry": {"type": "Point", "coordinates": [10.0005, 45.0005]}},
    {"type": "Feature", "properties": null, "id": 8, "geometry": {"type": "Point", "coordinates": [9.9995, 44.9995, 4]}},
    {"type": "Feature", "properties": {}, "geometry": {"type": "LineString",
     "coordinates": [[9.9995, 44.9995, 4], [10.0, 45.0], [10.0005, 45.0005]]}},
    {"type": "Feature", "properties": {"src": "gw", "dst": "far", "id": "last"}, "geometry": {"type": "LineString", "coordinates": []}},
    {"type": "Feature", "properties": {}, "geometry": null}
]}"#;

const GRAPH: &str = r#"<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="Longitude" attr.type="double"/>
  <key id="d1" for="node" attr.name="Latitude" attr.type="double"/>
  <key id="d2" for="edge" attr.name="Latitude" attr.type="double"/>
  <graph edgedefault="undirected">
    <node id="gw"><data key="d0">10.0005</data><data key="d1">45.0005</data></node>
    <node id="8"><data key="d0">9.9995</data><data key="d1">44.9995</data></node>
    <edge source="8" target="gw"/>
    <edge id="last" source="gw" target="far"/>
  </graph>
</graphml>
"#;

/// The same two places as in the test of degrees above, by both formats.
#[test]
fn nodes_come_from_geojson_and_graphml() {
    for (name, text, heights) in
        [("m.geojson", POINTS, [Some(12.0), Some(4.0)]), ("m.graphml", GRAPH, [None; 2])]
    {
        let scenario = MESH.replace("nodes.csv", name);
        let mesh = read(&[(name, text), ("flows.csv", "from,to\n8,gw\n")], &scenario).unwrap();
        let nodes = &mesh.settings().nodes;
        assert_eq!(nodes.iter().map(|node| node.id.as_str()).collect::<Vec<_>>(), ["gw", "8"]);
        for (node, (expected, height)) in nodes.iter().zip([39.423, -39.423].into_iter().zip(heights)) {
            let at = node.at.unwrap();
            assert!((at.east_m - expected).abs() < 2e-3, "{at:?}");
            assert_eq!(at.up_m, height);
        }
    }
}

#[test]
fn links_come_from_geojson_and_graphml() {
    for (name, text) in [("m.json", POINTS), ("m.graphml", GRAPH)] {
        let scenario = format!(
            "mac = {{ kind = \"ideal\" }}\nlinks = {{ file = {name:?} }}\nflows = [{{ id = \"1\", from = \"far\", to = \"8\" }}]\n"
        );
        let mesh = read(&[(name, text)], &scenario).unwrap();
        let links = mesh.settings().links.here();
        let links: Vec<[&str; 3]> = links.iter().map(|link| [&*link.id, &*link.from, &*link.to]).collect();
        assert_eq!(links, [["1", "8", "gw"], ["last", "gw", "far"]], "{name}");
    }
}

#[test]
fn mistakes_in_maps_and_graphs_name_their_place() {
    let point =
        |rest: &str| format!("{{\"type\": \"Feature\", \"geometry\": {{\"type\": \"Point\", {rest}}}}}");
    let data = |text: &str| GRAPH.replace(">9.9995<", &format!(">{text}<"));
    for (name, text, words) in [
        ("n.geojson", "{".into(), "n.geojson is not JSON: EOF while parsing"),
        ("n.geojson", "{\"type\": \"Topology\"}".into(), "n.geojson is no GeoJSON: it has no features"),
        (
            "n.geojson",
            point("\"coordinates\": [13.4]"),
            "n.geojson, feature 1: coordinates are a longitude and a latitude",
        ),
        ("n.geojson", point("\"coordinates\": [13.4, 52]"), "n.geojson, feature 1: id is empty"),
        (
            "n.geojson",
            POINTS.replace("44.9995", "4449995"),
            "n.geojson, feature 2: latitudes are from -89 to 89 degrees",
        ),
        (
            "n.geojson",
            POINTS.replace("Point", "Polygon"),
            "n.geojson has no Point; nodes are features of the type Point",
        ),
        (
            "n.geojson",
            POINTS.replacen(
                '{',
                "{\"crs\": {\"properties\": {\"name\": \"urn:ogc:def:crs:EPSG::25833\"}},",
                1,
            ),
            "n.geojson has coordinates in urn:ogc:def:crs:EPSG::25833; save it in WGS 84",
        ),
        (
            "n.graphml",
            "<graphml><node></graphml>".into(),
            "n.graphml cannot be read as XML: expected 'node' tag",
        ),
        ("n.graphml", "<gexf/>".into(), "n.graphml is no GraphML: it begins with <gexf>, not <graphml>"),
        ("n.graphml", GRAPH.replace("id=\"8\"", ""), "n.graphml, line 8: <node> has no id"),
        ("n.graphml", data("east"), "n.graphml, line 8: longitude is \"east\", which is no number"),
        ("n.graphml", data(""), "n.graphml, line 8: longitude is empty"),
        ("n.graphml", GRAPH.replace("d0", "d9").replace("Longitude", "Colour"), "n.graphml has no places"),
    ] {
        let why = read(&[(name, &text)], &MESH.replace("nodes.csv", name)).unwrap_err();
        assert!(why.contains(words) && why.contains("mesh.toml:3"), "{text}: {why}");
    }
    let flows = MESH.replace("flows.csv", "flows.json");
    let why = read(&[("nodes.csv", "id,x,y\na,0,0\nb,9,0\n"), ("flows.json", "[]")], &flows).unwrap_err();
    assert!(why.contains("flows.json: only nodes and links stand in GeoJSON and GraphML"), "{why}");
    let links = "links = { file = \"m.geojson\" }\nmac = { kind = \"ideal\" }\nflows = [{ id = \"1\", from = \"8\", to = \"gw\" }]\n";
    let why = read(&[("m.geojson", &POINTS.replace("\"dst\"", "\"dts\""))], links).unwrap_err();
    assert!(
        why.contains("m.geojson, feature 4: a line has no nodes; give it the properties from and to"),
        "{why}"
    );
}

/// Tracks in metres and in degrees: on the plane of the nodes, with its middle 45° north and 10° east.
#[test]
fn tracks_come_from_spreadsheets() {
    let text = MESH.to_string() + "tracks = { file = \"tracks.csv\" }\n";
    let with = |nodes: &str, tracks: &str| {
        let files = [("nodes.csv", nodes), ("flows.csv", "from,to\na,b\n"), ("tracks.csv", tracks)];
        read(&files, &text)
    };
    let metres = "id,x,y\na,0,0\nb,100,0\n";
    let mesh = with(metres, "node,t [s],x,y,height\nb,0,100,0,\nb,10,200,0,2\n").unwrap();
    let track = &mesh.settings().tracks[0];
    assert_eq!((track.node.as_str(), track.points.len(), track.points[1].at.up_m), ("b", 2, Some(2.0)));
    assert_eq!(track.points[1].time.to_string(), "10 s");
    let degrees = "id,lat,lon\na,44.9995,9.9995\nb,45.0005,10.0005\n";
    let mesh = with(degrees, "node,time,lat,lon\nb,0,45,10\nb,100,45.0005,10.0005\n").unwrap();
    let last = mesh.settings().tracks[0].points[1].at;
    assert!((last.east_m - 39.423).abs() < 2e-3 && (last.north_m - 55.566).abs() < 2e-3, "{last:?}");
    for (nodes, tracks, why) in [
        (metres, "node,time,x,y\nb,5,0,0\nb,3,1,0\n", "tracks.csv, line 3: 3 s of \"b\" comes after 5 s"),
        (metres, "node,time,x,y\nc,5,0,0\n", "tracks[0].node: there is no node \"c\""),
        (metres, "node,time,x,y\nb,-1,0,0\n", "tracks.csv, line 2: time is -1 s"),
        (
            metres,
            "node,time,lat,lon\nb,1,45,10\n",
            "give the nodes in a file with latitude and longitude too",
        ),
        (metres, "node,x,y\nb,1,45\n", "tracks.csv has no column \"time\""),
    ] {
        let found = with(nodes, tracks).unwrap_err();
        assert!(found.contains(why), "{found}");
    }
}
