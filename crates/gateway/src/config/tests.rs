use super::*;
use crate::{Meaning, OperatorFiles};
use proptest::prelude::*;

/// Returns the subscribers of a file, and the warnings.
fn subscribers(path: &Path, last: &mut LastLeases) -> Result<(Subscribers, Vec<Mistake>), Mistake> {
    let Meaning { subscribers, troubles, .. } = OperatorFiles::read(path)?.meaning(path, 0, last)?;
    Ok((subscribers, troubles))
}

const LEAST: &str = "mesh = \"mesh0\"\nuplink = \"wan0\"\n";

#[test]
fn config_of_two_lines_observes_by_corrected_law() {
    let config = Config::parse("g.toml", LEAST).unwrap();
    assert_eq!((config.mode, config.on_stop), (Mode::Observe, OnStop::Remove));
    assert_eq!(config.law, PfrcParams::corrected().into());
    assert_eq!(config.socket(), Path::new("/var/lib/evenair/control.sock"));
}

#[test]
fn laws_have_names_and_parameters_of_simulator() {
    let text = format!(
        "{LEAST}mode = \"enforce\"\n[law]\nlaw = \"arc\"\nepoch = \"5 s\"\ncapacity_high = \"6 Mbps\"\n"
    );
    let GatewayParams::Arc(arc) = Config::parse("g.toml", &text).unwrap().law else { panic!("another law") };
    assert_eq!((arc.epoch, arc.capacity_high), (Duration::from_secs(5), Some(Rate::from_kbps(6_000))));
    let word = Config::parse("g.toml", &format!("{LEAST}law = \"pfrc\"\n")).unwrap();
    assert_eq!(word.law, PfrcParams::corrected().into());
}

/// If the packet filter's table is lost, all packets share a quarter of the mesh at most, whichever of
/// its bounds is known.
#[test]
fn exempt_rate_is_quarter_of_mesh_rate() {
    let two = "[[subscriber]]\nid = \"a\"\nprefixes = [\"10.0.0.1\"]\n\
        [[subscriber]]\nid = \"b\"\nprefixes = [\"10.0.0.2\"]\nlink_rate = \"40 Mbps\"\n";
    let rate = |text: &str| {
        let config = Config::parse("g.toml", &format!("{LEAST}{text}")).unwrap();
        let listed = config.subscriber.iter().map(|one| (Place::default(), one.clone()));
        config.exempt_rate(&Subscribers::new(listed).unwrap())
    };
    for (text, kbps) in [
        ("[law]\nlaw = \"pfrc\"\ncapacity_high = \"6 Mbps\"\n", 1_500),
        ("[law]\nlaw = \"arc\"\ncapacity_high = \"800 kbps\"\n", 256),
        ("[law]\nlaw = \"fixed\"\nrate = \"2 Mbps\"\n", 500),
        ("link_rate = \"20 Mbps\"\n", 5_000),
        (&format!("link_rate = \"20 Mbps\"\n{two}"), 10_000),
        ("link_rate = \"20 Mbps\"\n[law]\nlaw = \"pfrc\"\ncapacity_high = \"6 Mbps\"\n", 1_500),
        ("link_rate = \"20 Mbps\"\n[exempt]\nrate = \"100 kbps\"\n", 100),
    ] {
        assert_eq!(rate(text), Rate::from_kbps(kbps), "{text}");
    }
    assert_eq!(rate(two).as_bps(), 10_000_000, "of b's own link");
    assert_eq!(rate(""), OPEN, "without bounds nobody is limited");
}

#[test]
fn mistakes_name_line_key_value_and_remedy() {
    for (text, says) in [
        (
            "mesh = \"a\"\n",
            "g.toml:1:1: missing field `uplink`: the device towards the Internet, such as uplink =",
        ),
        (
            "mesh = \"a\"\nuplink = \"b\"\nmesh = \"c\"\n",
            "g.toml:3:1: \"mesh\" is there twice, first in line 1; leave one out",
        ),
        ("mesh = \"a\"\nuplink = \"lo\"\n", "g.toml:2:10: uplink: \"lo\" leads nowhere"),
        ("mesh = \"a\"\nuplink = \"a\"\n", "g.toml:2:10: uplink: \"a\" is the mesh's device, too"),
        ("mesh = \"a b\"\nuplink = \"c\"\n", "g.toml:1:8: mesh: \"a b\" is no device's name"),
        (
            "mesh = \"a\"\nuplink = \"b\"\nmoode = 3\n",
            "g.toml:3:1: unknown field `moode`; did you mean mode?",
        ),
        (
            "mesh = \"a\"\nuplink = \"b\"\nmode = \"loud\"\n",
            "g.toml:3:8: mode: unknown variant `loud`, expected one of `observe`",
        ),
        (
            "mesh = \"a\"\nuplink = \"b\"\n[law]\nlaw = \"pfrc\"\ngamma = 3\n",
            "g.toml:5:9: law.gamma: 3 is not allowed: above 0, at most 1",
        ),
        (
            "mesh = \"a\"\nuplink = \"b\"\n[law]\nlaw = \"pfrc\"\ngama = 1\n",
            "g.toml:5:1: unknown field `gama`; did you mean gamma?",
        ),
        (
            "mesh = \"a\"\nuplink = \"b\"\n[law]\nlaw = \"pfrc\"\nepoch = \"5 ms\"\n",
            "g.toml:5:9: law.epoch: at least 1 s",
        ),
        ("mesh = \"a\"\nuplink = \"b\"\nlink_rate = \"5\"\n", "g.toml:3:13: link_rate: \"5\" has no unit"),
        ("mesh = \"a\"\nuplink = \"b\"\npage = \"0.0.0.0:80\"\n", "g.toml:3:8: page: only loopback"),
        (
            "mesh = \"a\"\nuplink = \"b\"\npage = \"127.0.0.1\"\n",
            "g.toml:3:8: page: \"127.0.0.1\" is no address with a port; write \"127.0.0.1:9180\"",
        ),
        (
            "mesh = \"a\"\nuplink = \"b\"\neager = -1\n",
            "g.toml:3:9: eager: invalid value: integer `-1`, expected a whole number",
        ),
        (
            "mesh = \"a\"\nuplink = \"b\"\n[exempt]\nports = [99999]\n",
            "g.toml:4:10: exempt.ports[0]: invalid value: integer `99999`, expected a whole number from 0 to 65535",
        ),
        (
            "mesh = \"a\"\nuplink = \"b\"\n[[subscriber]]\nid = \"x\"\nprefixes = [\"10.0.0.300\"]\n",
            "g.toml:5:13: subscriber[0].prefixes[0]: \"10.0.0.300\" is no address",
        ),
        (
            "mesh = \"a\"\nuplink = \"b\"\n[[delegated]]\nwithin = \"2001:db8::/40\"\nlength = 129\n",
            "g.toml:3:1: delegated: length: more bits than `within` has",
        ),
        ("mesh = \"a\"\nuplink", "g.toml:2:7: key with no value"),
    ] {
        let refused = Config::parse("g.toml", text).unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn subscribers_come_from_file_table_and_leases() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "g.toml",
        &format!(
            "{LEAST}subscribers = \"s.csv\"\n[[subscriber]]\nid = \"a\"\nprefixes = [\"10.0.0.1\"]\n[[leases]]\nformat = \"dnsmasq\"\nfile = \"l\"\n[[leases]]\nformat = \"kea\"\nfile = \"none\"\n"
        ),
    );
    write("s.csv", "id,prefixes\nb,10.0.0.2\n");
    write("l", "0 aa 10.0.0.3 c *\n");
    let path = folder.path().join("g.toml");
    let read = || subscribers(&path, &mut LastLeases::default());
    let (all, troubles) = read().unwrap();
    assert_eq!(all.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["a", "b", "mac-aa"]);
    assert_eq!(troubles.len(), 1, "a server that has not begun is no mistake of the operator's");
    write("s.csv", "id,prefixes\nb,10.0.0.1\n");
    let refused = read().unwrap_err().to_string();
    assert!(
        refused.ends_with(
            "s.csv:2: prefixes: 10.0.0.1 overlaps \"a\"'s 10.0.0.1; an address is one subscriber's, once"
        ),
        "{refused}"
    );
}

#[test]
fn leases_under_writing_keep_their_content() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("g.toml", &format!("{LEAST}[[leases]]\nformat = \"dnsmasq\"\nfile = \"l\"\n"));
    let path = folder.path().join("g.toml");
    let mut last = LastLeases::default();
    let mut ids = || {
        let (all, troubles) = subscribers(&path, &mut last).unwrap();
        let ids: Vec<String> = all.iter().map(|one| one.id.clone()).collect();
        (ids.join(" "), troubles.len(), last.are_all())
    };
    assert_eq!(ids(), (String::new(), 1, false), "the server has not begun");
    write("l", "0 aa 10.0.0.3 c *\n0 bb 10.0.0.4 d *\n");
    assert_eq!(ids(), ("mac-aa mac-bb".into(), 0, true));
    write("l", "0 aa 10.0.0.3 c *\n0 bb 10.0.");
    assert_eq!(ids(), ("mac-aa mac-bb".into(), 1, false));
    write("l", "0 bb 10.0.0.4 d *\n");
    assert_eq!(ids(), ("mac-bb".into(), 0, true));
}

/// A host name that is not UTF-8, a line that is no lease, and more leases than the gateway has room
/// for.
#[test]
fn leases_of_clients_that_attack_hide_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
    write("g.toml", format!("{LEAST}[[leases]]\nformat = \"dnsmasq\"\nfile = \"l\"\n").as_bytes());
    let path = folder.path().join("g.toml");
    let read = || subscribers(&path, &mut LastLeases::default()).unwrap();
    write("l", b"0 aa 10.0.0.3 c\xff *\nnonsense\n0 bb 10.0.0.4 d *\n");
    let (all, troubles) = read();
    assert_eq!(all.iter().map(Subscriber::called).collect::<Vec<_>>(), ["c", "d"]);
    let told: Vec<String> = troubles.iter().map(ToString::to_string).collect();
    assert!(matches!(&told[..], [one] if one.contains("l:2: lease: expected end, ")), "{told:?}");
    let mut many = String::new();
    for k in 0..70_000_u32 {
        many += &format!("0 {k:x} 10.{}.{}.{} x *\n", k >> 16, (k >> 8) & 255, k & 255);
    }
    write("l", many.as_bytes());
    let (all, troubles) = read();
    assert!(
        all.len() == SUBSCRIBERS_MAX && troubles[0].to_string().contains("leases are left out"),
        "{}",
        all.len()
    );
}

#[test]
fn unlikely_settings_warn() {
    let doubts = |text: &str| {
        let config = Config::parse("g.toml", &format!("{LEAST}{text}")).unwrap();
        let text = format!("{LEAST}{text}");
        let (subscribers, told) =
            config.subscribers_of(("g.toml", &text), None, 0, &mut LastLeases::default()).unwrap();
        (config.is_nobodys(&subscribers), told.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    let nobody = "g.toml: subscribers: no subscribers: name a table, or set leases, neighbours or delegated";
    assert_eq!(doubts(""), (true, nobody.into()));
    assert_eq!(doubts("neighbours = true\n"), (false, String::new()));
    let two = "[[subscriber]]\nid = \"a\"\n[[subscriber]]\nid = \"b\"\n";
    let homeless = "g.toml: prefixes: \"a\" and 1 more with no address: no packet is theirs";
    assert_eq!(doubts(two), (false, homeless.into()));
    let one =
        "[exempt]\nprefixes = [\"10.0.0.0/24\"]\n[[subscriber]]\nid = \"a\"\nprefixes = [\"10.0.0.9\"]\n";
    let exempt = "g.toml: exempt.prefixes: \"a\" with addresses that are exempt, and pass without a limit";
    assert_eq!(doubts(one), (false, exempt.into()));
}

#[test]
fn running_gateway_is_found_by_a_faulty_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.toml");
    let socket = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Config::socket_of(&path).strip_prefix(folder.path()).map(Path::to_path_buf).ok()
    };
    for mistake in ["", "mode = \"loud\"\n", "bad\n", "mesh = \"open\n", "[law\nx = 1\n"] {
        let text = format!("{LEAST}state = \"here\"\n{mistake}");
        assert_eq!(socket(&text), Some("here/control.sock".into()), "{mistake}");
    }
    assert_eq!(socket("socket = \"s\"\nbad"), Some("s".into()));
    assert_eq!(
        (socket(""), Config::socket_of(&folder.path().join("none"))),
        (None, "/var/lib/evenair/control.sock".into())
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "((mesh|uplink|law|mode|epoch|subscriber|id|exempt)( = |\\.)|[\\[\\]\"\n=a-z0-9{},]){0,60}") {
        let _ = Config::parse("g.toml", &text);
        let _ = Config::parse("g.toml", &format!("{LEAST}{text}"));
    }
}
