"""Laws in Python: written again after built-in ones, they take the same path, frame by frame."""

from __future__ import annotations

import copy
import math
import pickle
import traceback
from pathlib import Path

import evenair
import pytest
from evenair.laws import BackoffLaw, ConnectionLaw, GatewayLaw, MarkingLaw, RateControl, RateLaw, WindowLaw

SHORT = {"duration": "5 s", "warmup": "1 s"}


def path(source: evenair.ScenarioLike, **changes: object) -> tuple[str, int, list[int]]:
    """Give the marks of a run's trajectory: its hash, its events, its packets sent."""
    runs = evenair.run(source, **SHORT, **changes)
    return runs.records[0]["fingerprint"], runs.events, runs.flows["sent"]


class Dcf(BackoffLaw):
    """802.11b's contention window."""

    scope = "node"

    def access(self) -> evenair.Access:
        return evenair.Access.slots(31, 1023, when="after-transmission")


class Reno(WindowLaw):
    """RFC 5681."""

    def begin(self, start: evenair.laws.WindowStart) -> None:
        super().begin(start)
        self.byte_counting = start.byte_counting

    def on_ack(self, acked: evenair.laws.Acked) -> None:
        if not acked.grows:
            return
        if self.window < self.threshold:
            self.window += min(acked.segments, 2) if self.byte_counting else 1.0
        else:
            self.window += (acked.segments if self.byte_counting else 1.0) / self.window

    def on_loss(self, loss: evenair.laws.Loss) -> None:
        self.threshold = max(math.floor(loss.flight / 2), 2.0)
        self.window = self.threshold

    def on_timeout(self, loss: evenair.laws.Loss) -> None:
        if not loss.repeated:
            self.threshold = max(math.floor(loss.flight / 2), 2.0)
        self.window = 1.0

    def deflate(self, segments: float) -> None:
        self.window = max(self.window - segments, 1.0)


class Proportional(ConnectionLaw):
    """[Chen10] eq. (5.1)."""

    needs = ("smoothed_round_trip",)

    def __init__(self, k: float) -> None:
        self.k = k
        self.connections = 1

    def on_interval(self, flow: evenair.laws.FlowView) -> int:
        if flow.smoothed_round_trip_s is not None:
            self.connections = max(1, int(self.k * flow.smoothed_round_trip_s))
        return self.connections


class Refusing(MarkingLaw):
    """The more wait, the likelier it is refused."""

    def on_arrival(self, now_s: float, queue: evenair.laws.QueueView) -> float:
        return min(1.0, 0.001 * queue.waiting_packets)


class Constant(RateLaw):
    """Always the same."""

    def __init__(self, bps: float) -> None:
        self.bps = bps

    def on_interval(self, flow: evenair.laws.FlowView) -> float:
        return self.bps


class Arf(RateControl):
    """Ten acknowledgements up, two failures down."""

    def begin(self, link: evenair.laws.RateRole) -> None:
        self.last, self.mode = len(link.modes) - 1, 0
        self.good = self.bad = self.since = 0
        self.tries_faster = False

    def on_frame(self, frame: evenair.laws.FrameView) -> int:
        return self.mode

    def on_status(self, status: evenair.laws.FrameStatus) -> None:
        self.since += 1
        if status.acknowledged > 0 and status.acknowledged >= status.packets // 2:
            self.good, self.bad, self.tries_faster = self.good + 1, 0, False
            if (self.good >= 10 or self.since >= 15) and self.mode < self.last:
                self.turn(self.mode + 1, tries_faster=True)
            return
        self.good, self.bad = 0, self.bad + 1
        if self.tries_faster or self.bad >= 2:
            self.turn(max(self.mode - 1, 0), tries_faster=False)

    def turn(self, mode: int, *, tries_faster: bool) -> None:
        self.mode, self.tries_faster = mode, tries_faster
        self.good = self.bad = self.since = 0


class Fixed(GatewayLaw):
    """So much for all, which they share by weight, or so much for each."""

    def __init__(self, bps: float, each: bool = False) -> None:
        self.bps, self.each, self.classes = bps, each, 0

    def begin(self, gateway: evenair.laws.GatewayRole) -> None:
        self.classes = len(gateway.classes)

    def at_start(self) -> float | list[float]:
        return [self.bps / self.classes] * self.classes if self.each else self.bps

    def on_epoch(self, view: evenair.laws.GatewayView) -> float | list[float]:
        return self.at_start()


def test_a_backoff_law_takes_the_path_of_its_twin() -> None:
    assert path("chen10/a", backoff=Dcf()) == path("chen10/a", backoff="dcf")


def test_a_window_law_takes_the_path_of_its_twin() -> None:
    assert path("chen10/a", tcp__window=Reno()) == path("chen10/a", tcp__window="newreno")


def test_a_marking_law_takes_the_path_of_its_twin() -> None:
    built_in = {"law": "proportional", "per_packet": 0.001}
    assert path("chen10/a", drop=Refusing()) == path("chen10/a", drop=built_in)
    assert path("chen10/a", drop=Refusing()) != path("chen10/a")


def test_a_rate_control_takes_the_path_of_its_twin() -> None:
    a = evenair.Scenario("chen10/a")
    assert path(a.with_(mac__rate_control=Arf())) == path(a.with_(mac__rate_control="arf")) != path(a)
    with pytest.raises(ValueError, match="modes of 99: give a mode from 0 to 3"):
        path(a.with_(mac__rate_control=type("Wild", (RateControl,), {"on_frame": lambda *_: 99})()))


def test_a_connection_law_takes_the_path_of_its_twin() -> None:
    built_in = evenair.Scenario("chen10/a").with_(connections={"k": 10, "interval": "1 s"})
    assert path("chen10/a", connections=Proportional(10.0)) == path(built_in)
    of_one = {"flows.3.connections": {"k": 40, "interval": "1 s"}}
    a = evenair.Scenario("chen10/a")
    assert path(a.with_({"flows.3.connections": Proportional(40.0)})) == path(a.with_(of_one))
    assert len({path(a.with_(of_one))[0], path(a)[0], path(built_in)[0]}) == 3


def test_rate_law_sets_the_rate_of_a_source() -> None:
    scenario = evenair.Builder(
        radio={"transmission_range": "250 m", "carrier_sense_range": "500 m"}, rate_law=Constant(80_000.0)
    )
    scenario.node("a", (0, 0)).node("b", (0, 100)).flow("up", "a", "b", traffic="rated")
    assert evenair.run(scenario.scenario(), **SHORT).mean()["up"] == pytest.approx(10.0, rel=0.05)


def test_one_node_may_have_a_backoff_law_of_its_own() -> None:
    def at(law: object, node: str) -> evenair.Scenario:
        return evenair.Scenario("chen10/a").with_(queues=[{"nodes": [node], "backoff": law}])

    hasty = {"law": "dcf", "window_min": 3}
    nodes = evenair.Scenario("chen10/a").flows["2"]
    assert path(at(Dcf(), nodes[0])) == path("chen10/a")
    assert path(at(hasty, nodes[0])) != path("chen10/a")

    class Hasty(Dcf):
        def access(self) -> evenair.Access:
            return evenair.Access.slots(3, 1023, when="after-transmission")

    assert path(at(Hasty(), nodes[0])) == path(at(hasty, nodes[0]))
    alone, mixed = evenair.run("chen10/a", **SHORT).mean(), evenair.run(at(Hasty(), nodes[0]), **SHORT).mean()
    assert mixed["2"] > 1.5 * alone["2"]


def test_one_flow_may_have_a_window_law_of_its_own() -> None:
    a = evenair.Scenario("chen10/a").with_(tcp__window="vegas")
    assert path(a.with_({"flows.1.window": Reno()})) == path(a.with_({"flows.1.window": "newreno"}))
    assert path(a.with_({"flows.1.window": Reno()})) != path(a)
    assert len({path(a.with_({f"flows.{flow}.window": Reno()}))[0] for flow in "1234"}) == 4


def test_law_is_at_its_flow_for_any_ids() -> None:
    # The id of each flow is the number of another.
    build = evenair.Builder(tcp={"window": "vegas"})
    build.node("a").node("b").wire("a", "b", "1 Mbps", "5 ms").flow("1", "a", "b").flow("0", "a", "b", window=Reno())

    def laws(scenario: evenair.Scenario) -> list[str | None]:
        return [flow.get("window", {}).get("identity") for flow in scenario.resolved["flows"]]

    scenario = build.scenario()
    identity = Reno().identity()
    assert laws(scenario) == [None, identity]
    assert laws(scenario.with_({"flows.1.window": Reno()})) == [identity, identity]
    assert laws(scenario.with_({"flows.1.window": Reno()}).with_({"flows.0.window": {"law": "cubic"}})) == [
        identity,
        None,
    ]
    assert laws(scenario.with_(duration="5 s")) == [None, identity]
    assert laws(pickle.loads(pickle.dumps(scenario))) == [None, identity]
    assert not scenario.with_({"flows.0.window": "cubic"}).calls_python


def test_queues_of_some_nodes_and_wires_may_have_a_marking_law_of_their_own() -> None:
    built_in = {"law": "proportional", "per_packet": 0.001}
    node = evenair.Scenario("chen10/a").flows["1"][0]

    def at(law: object) -> evenair.Scenario:
        return evenair.Scenario("chen10/a").with_(queues=[{"nodes": [node], "drop": law}])

    assert path(at(Refusing())) == path(at(built_in)) != path("chen10/a")

    def wired(law: object) -> evenair.Scenario:
        build = evenair.Builder(tcp={"window": "reno"})
        build.node("a").node("b").node("c").flow("one", "a", "c")
        return build.wire("a", "b", "10 Mbps", "5 ms").wire("b", "c", "1 Mbps", "5 ms", drop=law).scenario()

    assert path(wired(Refusing())) == path(wired(built_in)) != path(wired("drop-tail"))


def test_a_gateways_law_takes_the_path_of_its_twin() -> None:
    def shaped(**gateway: object) -> tuple[str, list[int]]:
        fingerprint, _, sent = path("jam10/chain", gateway={"node": "0", **gateway})  # epochs are events, too
        return fingerprint, sent

    assert shaped(law=Fixed(3e5)) == shaped(law={"law": "fixed", "rate": "300 kbps"})
    each = {"law": "fixed", "rate": "300 kbps", "shared": True}
    assert shaped(law=Fixed(3e5, each=True)) == shaped(law=each)
    assert shaped(law=Fixed(3e5), shaper="aggregate") == shaped(rate="300 kbps", shaper="aggregate")
    of = evenair.Scenario("jam10/chain").with_(gateway={"node": "0", "law": Fixed(3e5)}).resolved["gateway"]
    assert of["shaper"] == "aggregate-fair", "one rate for all, and a line for each"
    assert "Fixed" in of["law"]["identity"]
    with pytest.raises(ValueError, match=r"rates of \[100000.0\]: there are \d classes"):
        path("jam10/chain", gateway={"node": "0", "law": type("Two", (Fixed,), {"at_start": lambda _: [1e5]})(1.0)})


@pytest.mark.parametrize(
    "law", [Dcf(), Reno(), Proportional(10.0), Refusing(), Constant(1e6), Arf(), Fixed(1e6), Fixed(1e6, each=True)]
)
def test_laws_conform(law: evenair.laws.Law) -> None:
    evenair.testing.check_law(law)


def test_nonconforming_law_is_rejected() -> None:
    class Fickle(ConnectionLaw):
        calls = 0

        def on_interval(self, flow: evenair.laws.FlowView) -> int:
            Fickle.calls += 1
            return Fickle.calls

    with pytest.raises(AssertionError, match="one sequence gives one answer"):
        evenair.testing.check_law(Fickle())


def test_law_declares_its_needs() -> None:
    class Seeing(ConnectionLaw):
        needs = ("smoothed_round_trip", "path_backlog")

        def on_interval(self, flow: evenair.laws.FlowView) -> int:
            if flow.smoothed_round_trip_s is None or flow.path_backlog_packets is None:
                return 1
            return 2 + min(flow.path_backlog_packets, 3)

    class Blind(Seeing):
        needs = ("smoothed_round_trip",)

    evenair.testing.check_law(Seeing())
    with pytest.raises(AssertionError, match="that it does not declare"):
        evenair.testing.check_law(Blind())
    evenair.run("chen10/a", connections=Seeing(), **SHORT)

    class Timing(RateLaw):
        needs = ("round_trip",)

        def on_interval(self, flow: evenair.laws.FlowView) -> float:
            return 1e6

    with pytest.raises(ValueError, match=r"needs the round trip of every segment, .* nobody acknowledges"):
        evenair.run("chen10/a", **SHORT, flows__1__traffic="rated", flows__1__rate_law=Timing())


def test_seeds_and_order_of_runs_do_not_matter() -> None:
    law = Proportional(10.0)
    first = evenair.run("chen10/a", seeds=2, connections=law, **SHORT)
    law.connections = 99  # neither later changes of the object nor copies in runs matter
    second = evenair.run("chen10/a", seeds=2, connections=Proportional(10.0), **SHORT)
    assert [r["fingerprint"] for r in first.records] == [r["fingerprint"] for r in second.records]


def test_an_exception_ends_the_run_with_its_traceback() -> None:
    class Failing(ConnectionLaw):
        def on_interval(self, flow: evenair.laws.FlowView) -> int:
            message = "out of ideas"
            raise LookupError(message)

    with pytest.raises(LookupError, match="out of ideas") as raised:
        evenair.run("chen10/a", seeds=100, connections=Failing(), duration="50 s")
    assert "on_interval" in "".join(traceback.format_tb(raised.value.__traceback__))


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({"connections": type("None", (ConnectionLaw,), {"on_interval": lambda _self, _flow: 0})()}, "1 at least"),
        ({"drop": type("Sure", (MarkingLaw,), {"on_arrival": lambda *_: 2.0})()}, "from 0 to 1"),
        ({"backoff": type("Mute", (BackoffLaw,), {"access": lambda _self: 31})()}, "give an evenair.Access"),
        ({"backoff": type("Else", (BackoffLaw,), {"scope": "world", "access": Dcf.access})()}, "there are node"),
        ({"tcp__window": Dcf()}, "no back-off law has its place there"),
        ({"mac": Dcf()}, "laws stand under backoff"),
        ({"connections": type("Still", (ConnectionLaw,), {"interval": 0})()}, "more than no time"),
        ({"connections": type("Asking", (ConnectionLaw,), {"needs": ["luck"]})()}, "expected one of `round_trip`"),
    ],
)
def test_answer_out_of_bounds_is_an_error(law: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evenair.run("chen10/a", **SHORT, **law)


def test_an_identity_is_of_code_and_parameters() -> None:
    def made(factor: int) -> evenair.laws.Law:
        class Law(ConnectionLaw):
            def on_interval(self, flow: evenair.laws.FlowView) -> int:
                return max(1, flow.sent * 3)

        class Other(ConnectionLaw):
            def on_interval(self, flow: evenair.laws.FlowView) -> int:
                return max(1, flow.sent * 4)

        Other.__qualname__ = Law.__qualname__
        return Law() if factor == 3 else Other()

    assert made(3).identity() == made(3).identity()
    assert made(3).identity() != made(4).identity()
    assert Proportional(1.0).identity() != Proportional(2.0).identity()
    assert "k=1.0" in Proportional(1.0).identity()


@pytest.mark.parametrize(
    "access",
    [
        evenair.Access.slots(31, 1023, when="after-transmission"),
        evenair.Access.slots(7, burst_s=0.003),
        evenair.Access.exponential(2.0, "frame", slotted=True),
        evenair.Access.exponential(0.5, "packet", span_s=0.01),
        evenair.Access.exponential(1e-4, when="after-transmission-and-before-frame"),
        evenair.Access.uniform(1e-4),
        evenair.Access.fixed(2e-4),
    ],
)
def test_an_answer_crosses_to_another_process(access: evenair.Access) -> None:
    assert pickle.loads(pickle.dumps(access)) == access
    assert copy.deepcopy(access) is access


def test_a_file_cannot_hold_a_law(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a file cannot hold the laws under backoff"):
        evenair.Scenario("chen10/a").with_(backoff=Dcf()).save(tmp_path / "a.toml")


def test_law_is_replaced_by_a_later_setting() -> None:
    scenario = evenair.Scenario("chen10/a").with_(backoff=Dcf())
    assert scenario.calls_python
    assert not scenario.with_(backoff="dcf").calls_python
    assert scenario.with_(backoff__law="adaptive").resolved["backoff"]["law"] == "adaptive"


@pytest.mark.parametrize(
    ("law", "error", "message"),
    [
        ({"backoff": Dcf}, TypeError, "is a class: give a law of it"),
        ({"backoff": object()}, TypeError, "has no place in a scenario"),
        ({"tcp__window": WindowLaw()}, NotImplementedError, "WindowLaw has no on_ack: define it"),
        ({"connections": ConnectionLaw()}, NotImplementedError, "ConnectionLaw has no on_interval: define it"),
        ({"backoff": BackoffLaw()}, NotImplementedError, "BackoffLaw has no access: define it"),
    ],
)
def test_invalid_law_is_an_error(law: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        evenair.run("chen10/a", **SHORT, **law)


def test_a_class_is_no_law_to_be_checked() -> None:
    with pytest.raises(TypeError, match="is a class: give a law of it"):
        evenair.testing.check_law(Dcf)
