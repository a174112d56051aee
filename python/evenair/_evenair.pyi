"""What the package is made of, in Rust (`crates/python`)."""

from collections.abc import Callable
from typing import Any, final

def version() -> str: ...
def program_is(file: str) -> None: ...
def seconds(words: float | str) -> float: ...

@final
class Table:
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> list[Any]: ...
    def __reduce__(self) -> tuple[Any, tuple[list[tuple[str, str, list[Any]]]]]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Scenario:
    def __init__(
        self, file: str, text: str, has_lines: bool, changes: list[str], laws: list[tuple[str, Any]]
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def calls_python(self) -> bool: ...
    def settings(self) -> dict[str, Any]: ...
    def to_toml(self) -> str: ...
    def warnings(self) -> list[str]: ...
    def nodes(self) -> list[tuple[str, tuple[float, float] | None]]: ...
    def ranges_m(self) -> tuple[float, float] | None: ...
    def links(self) -> list[tuple[str, str, str]]: ...
    def conflicts(self) -> list[tuple[str, str]]: ...
    def flows(self) -> list[tuple[str, list[str]]]: ...
    def map_svg(self) -> str: ...

def scenario_text(name: str) -> tuple[str, str]: ...
def scenario_ids() -> list[str]:
    """Give the ids of the built-in scenarios."""

def study_ids() -> list[str]:
    """Give the ids of the built-in studies."""

def schema() -> dict[str, Any]:
    """Give the JSON Schema of the scenario language."""

@final
class Records:
    @staticmethod
    def from_bytes(bytes: bytes) -> Records: ...
    def to_bytes(self) -> bytes: ...
    def to_dicts(self) -> list[dict[str, Any]]: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def events(self) -> int: ...
    def with_more(self, more: Records) -> Records: ...
    def __len__(self) -> int: ...

def run(
    scenario: Scenario,
    seed: int | None,
    seeds: int,
    precision: float | None,
    series: bool,
    every_s: float,
    ledger: bool,
    timeline_s: tuple[float, float] | None,
    threads: int | None,
    progress: Callable[[int, int], object] | None,
) -> Records: ...
def sweep(
    points: list[tuple[str, Scenario]],
    seeds: int,
    precision: float | None,
    series: bool,
    every_s: float,
    ledger: bool,
    folder: str,
    threads: int | None,
    progress: Callable[[int, int], object] | None,
) -> list[Records]: ...
def tables(
    groups: list[tuple[str, float | None, Records]], keys: list[tuple[str, dict[str, tuple[str, float | None]]]]
) -> dict[str, Table]: ...
def study(
    name: str,
    folder: str,
    quick: bool,
    changes: list[str],
    seeds: int | None,
    variants: list[str],
    precision: float | None,
    threads: int | None,
    progress: Callable[[int, int], object] | None,
) -> tuple[dict[str, Table], dict[str, Any]]: ...
def solve(
    scenario: Scenario,
    asked: dict[str, Any],
    utility: Callable[[str, float], float] | None,
    marginal: Callable[[str, float], float] | None,
) -> tuple[dict[str, Table], dict[str, Any]]: ...
def fluid(scenario: Scenario) -> tuple[dict[str, Table], dict[str, Any]]: ...
def compare(
    scenario: Scenario, seeds: int, progress: Callable[[int, int], object] | None
) -> tuple[dict[str, Table], dict[str, Any]]: ...
def check_law(law: object, seeds: int) -> None: ...
def gives_one_rate(law: object) -> bool: ...

@final
class Access:
    """A back-off law's answer, as data: what is drawn, when, what a failure does, how long the medium is held.

    ``when`` is "before-frame", "after-transmission" or "after-transmission-and-before-frame". The medium is held
    for a packet, for as many as fit into ``burst_s``, or for ``span_s`` in the mean.
    """

    @staticmethod
    def slots(
        window: int,
        window_max: int | None = None,
        *,
        when: str = "before-frame",
        burst_s: float | None = None,
        span_s: float | None = None,
    ) -> Access: ...
    @staticmethod
    def exponential(
        mean: float,
        of: str = "second",
        *,
        slotted: bool = False,
        when: str = "before-frame",
        burst_s: float | None = None,
        span_s: float | None = None,
    ) -> Access:
        """Exponential with this mean, counted in what ``of`` says.

        "second"; "frame", the airtime of the frame that waits; "packet", the bits of the packet that waits over its
        rate.
        """

    @staticmethod
    def uniform(
        mean_s: float, *, when: str = "before-frame", burst_s: float | None = None, span_s: float | None = None
    ) -> Access: ...
    @staticmethod
    def fixed(
        mean_s: float, *, when: str = "before-frame", burst_s: float | None = None, span_s: float | None = None
    ) -> Access: ...

@final
class LinkRole:
    """The queue that a back-off law is put at."""

    @property
    def slot_s(self) -> float:
        """A slot [s]."""

    @property
    def is_ideal(self) -> bool:
        """The MAC is ideal CSMA: no slots, no collisions."""

    @property
    def acknowledgements_only(self) -> bool:
        """It carries nothing but acknowledgements."""

    @property
    def carries_tcp(self) -> bool:
        """It carries TCP's packets."""

    @property
    def payload_bytes(self) -> int:
        """Payload of its largest packet [bytes]."""

    @property
    def packet_bytes(self) -> int:
        """Network-layer size of that [bytes]."""

    @property
    def frame_s(self) -> float:
        """Airtime of its frame [s]."""

    @property
    def exchange_s(self) -> float:
        """Time from one such packet to the next where nobody disturbs, back-off not counted [s]."""

@final
class LinkView:
    """What a back-off law sees of its link."""

    @property
    def now_s(self) -> float:
        """When [s]."""

    @property
    def interval_s(self) -> float:
        """The time since the last update [s]."""

    @property
    def arrivals_packets(self) -> int:
        """What came since then and was accepted [packets]."""

    @property
    def arrivals_bytes(self) -> int:
        """The same [bytes]."""

    @property
    def service_packets(self) -> int:
        """What left for its next hop since then [packets]."""

    @property
    def service_bytes(self) -> int:
        """The same [bytes]."""

    @property
    def dummies_packets(self) -> int:
        """Dummy packets sent since then [packets]."""

    @property
    def backlog_packets(self) -> int:
        """What waits, the packet in service counted [packets]."""

    @property
    def backlog_bytes(self) -> int:
        """The same [bytes]."""

    @property
    def head_of_line_delay_s(self) -> float | None:
        """How long the first of it has waited [s], where that is known."""

    @property
    def data_rate_bps(self) -> int:
        """The rate at which data are sent [bit/s]."""

@final
class FlowRole:
    """The flow that a law of connections or of a rate is put at."""

    @property
    def payload_bytes(self) -> int:
        """Payload of a segment [bytes]."""

@final
class FlowView:
    """What a law sees of its flow after an interval."""

    @property
    def now_s(self) -> float:
        """When [s]."""

    @property
    def interval_s(self) -> float:
        """The time since the law ran last [s]."""

    @property
    def round_trip_s(self) -> float | None:
        """Mean round-trip time of all segments acknowledged in the interval [s]; None without any, or if unknown."""

    @property
    def round_trip_of_windows_s(self) -> float | None:
        """The mean of what the retransmission timers sampled [s]."""

    @property
    def round_trip_of_probes_s(self) -> float | None:
        """The mean of what probes measured [s], where the law needs them sent."""

    @property
    def smoothed_round_trip_s(self) -> float | None:
        """The mean of the connections' smoothed round-trip times at the interval's end [s], as Linux knows them."""

    @property
    def least_round_trip_s(self) -> float | None:
        """The least round-trip time so far [s]."""

    @property
    def route_changed(self) -> bool | None:
        """Whether the path has changed in the interval; None where the host cannot tell."""

    @property
    def delivered_packets(self) -> int:
        """Payload delivered in the interval [segments]."""

    @property
    def delivered_bytes(self) -> int:
        """The same [bytes]."""

    @property
    def goodput_bps(self) -> int:
        """The same per time [bit/s]."""

    @property
    def sent(self) -> int:
        """Segments sent in the interval, repetitions included."""

    @property
    def retransmitted(self) -> int:
        """Repetitions among them."""

    @property
    def lost(self) -> int | None:
        """The flow's packets dropped on their way in the interval; None where the host cannot tell."""

    @property
    def first_backlog_packets(self) -> int | None:
        """What waits at the flow's first link [packets], where the host knows."""

    @property
    def first_backlog_bytes(self) -> int | None:
        """The same [bytes]."""

    @property
    def path_backlog_packets(self) -> int | None:
        """What waits at all links on the flow's way [packets], for laws that need it."""

    @property
    def path_backlog_bytes(self) -> int | None:
        """The same [bytes]."""

@final
class ClassRole:
    """A class of a gateway: what one subscriber sends (up) or receives (down)."""

    @property
    def weight(self) -> float:
        """Its weight; above zero."""

    @property
    def direction(self) -> str:
        """Which way its data goes: "up", to the gateway, or "down"."""

    @property
    def link_rate_bps(self) -> int | None:
        """What the gateway's own link on the class's way carries [bit/s], where it is known.

        The MAC's overhead is taken off.
        """

@final
class GatewayRole:
    """The gateway that a law is put at."""

    @property
    def classes(self) -> list[ClassRole]:
        """Its classes, in the order in which the flows ask for them."""

@final
class ClassView:
    """What the gateway's queue counted of one class in an epoch."""

    @property
    def arrived_packets(self) -> int:
        """What came to the queue, dropped or not [packets]."""

    @property
    def arrived_bytes(self) -> int:
        """The same [bytes]."""

    @property
    def served_packets(self) -> int:
        """What left it [packets]."""

    @property
    def served_bytes(self) -> int:
        """The same [bytes]."""

    @property
    def dropped_packets(self) -> int:
        """What it gave up [packets]."""

    @property
    def dropped_bytes(self) -> int:
        """The same [bytes]."""

    @property
    def backlog_packets(self) -> int:
        """What waits now [packets]."""

    @property
    def backlog_bytes(self) -> int:
        """The same [bytes]."""

    @property
    def held_packets(self) -> int | None:
        """How many packets had to wait for tokens, where that is counted."""

@final
class GatewayView:
    """What a gateway's law sees after an epoch."""

    @property
    def now_s(self) -> float:
        """When [s]."""

    @property
    def interval_s(self) -> float:
        """The time since the law ran last [s]."""

    @property
    def served_bps(self) -> list[float]:
        """What was served of each class per time [bit/s]; nothing in no time."""

    @property
    def classes(self) -> list[ClassView | None]:
        """The classes, in the order of their roles; none, of which nothing is known."""

@final
class QueueRole:
    """The queue that a marking law is put at."""

    @property
    def full_packet_bytes(self) -> int:
        """The largest packet [bytes]."""

    @property
    def rate_bps(self) -> int:
        """The rate at which its packets are sent [bit/s]."""

@final
class QueueView:
    """What a marking law sees of its queue."""

    @property
    def waiting_packets(self) -> int:
        """What waits beside the packet that comes or leaves [packets]."""

    @property
    def waiting_bytes(self) -> int:
        """The same [bytes]."""

    @property
    def flow(self) -> int:
        """The flow of that packet: one number for each flow and direction."""

    @property
    def size_bytes(self) -> int:
        """Its network-layer size [bytes]."""

@final
class WindowStart:
    """What a sender starts with."""

    @property
    def initial_window(self) -> float:
        """Congestion window at the start [segments]."""

    @property
    def initial_threshold(self) -> float:
        """Slow-start threshold at the start [segments]."""

    @property
    def byte_counting(self) -> bool:
        """Grow by what an acknowledgement covers, not by one for each."""

    @property
    def hops(self) -> int | None:
        """Hops of the path on the air; none, if nothing is known of it."""

@final
class Acked:
    """An acknowledgement."""

    @property
    def now_s(self) -> float:
        """When it came [s]."""

    @property
    def segments(self) -> int:
        """Segments that it reports to have arrived and none did before."""

    @property
    def advances(self) -> bool:
        """It acknowledges new data cumulatively."""

    @property
    def in_recovery(self) -> bool:
        """A loss is being repaired."""

    @property
    def window_limited(self) -> bool:
        """The congestion window is what limits the sender."""

    @property
    def grows(self) -> bool:
        """Whether windows that know only growth and loss grow with it."""

    @property
    def flight(self) -> int:
        """Segments under way before it came."""

    @property
    def sample_s(self) -> float | None:
        """The round-trip time that it measures [s], if it does."""

    @property
    def smoothed_s(self) -> float | None:
        """The smoothed round-trip time [s], once there is one."""

    @property
    def least_s(self) -> float | None:
        """The least round-trip time so far [s], once there is one."""

@final
class Loss:
    """A loss, as duplicate acknowledgements or a time-out announce it."""

    @property
    def now_s(self) -> float:
        """When it was found [s]."""

    @property
    def flight(self) -> float:
        """What was under way [segments]."""

    @property
    def repeated(self) -> bool:
        """One more of a flight for which the window was cut already."""

@final
class Delivery:
    """What an acknowledgement delivered."""

    @property
    def now_s(self) -> float:
        """When it came [s]."""

    @property
    def segments(self) -> int:
        """Segments that it reports to have arrived and none did before."""

    @property
    def total(self) -> int:
        """Segments that have arrived in all."""

    @property
    def lost(self) -> int:
        """Segments found lost with it."""

    @property
    def lost_total(self) -> int:
        """Segments found lost in all."""

    @property
    def flight_before(self) -> int:
        """Segments thought to be in the network before it came."""

    @property
    def flight(self) -> int:
        """Segments thought to be in the network now."""

    @property
    def repair(self) -> str:
        """What is being repaired: "none", "recovery" or "timeout"."""

    @property
    def round_trip_s(self) -> float | None:
        """Round-trip time of the segment sent last of those [s], if it is not ambiguous."""

    @property
    def smoothed_s(self) -> float | None:
        """The smoothed round-trip time [s], once there is one."""

    @property
    def delivery_rate_pps(self) -> float | None:
        """Segments per second that the network delivered, if that can be told."""

    @property
    def application_limited(self) -> bool:
        """The application may have been what limited the sender."""

class Environment:
    def __init__(self, scenario: Scenario, control: str, step_s: float, horizon_s: float, seed: int) -> None: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def now_s(self) -> float: ...
    def step(self, actions: list[float]) -> tuple[list[float], bool]: ...
