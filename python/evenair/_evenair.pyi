# Made from crates/python: `EVENAIR_BLESS=1 cargo xtask module` writes it.

from _typeshed import Incomplete, SupportsGetItem
from os import PathLike
from types import CapsuleType
from typing import Any, SupportsFloat, SupportsIndex, final

__all__ = ["Access", "Acked", "ClassRole", "ClassView", "ComparisonFacts", "Delivery", "Environment", "FlowRole", "FlowView", "FluidFacts", "FrameStatus", "FrameView", "GatewayRole", "GatewayView", "LinkRole", "LinkView", "Loss", "QueueRole", "QueueView", "RateRole", "Records", "Scenario", "SolutionFacts", "StudyFacts", "Table", "WindowStart", "check_law", "compare", "fluid", "gives_one_rate", "half_width", "program_is", "run", "scenario_ids", "scenario_text", "schema", "seconds", "solve", "study", "study_ids", "sweep", "tables", "verdict", "version"]

@final
class Access:
    """
    A back-off law's answer, as data: which time is drawn and when, the effect of a failure, how long the medium is
    held.

    `when` is "before-frame", "after-transmission" or "after-transmission-and-before-frame". The medium is held for a
    packet, for as many as fit into `burst_s` \\[s\\], or for `span_s` \\[s\\] in the mean. A value out of range raises a
    `ValueError`.
    """
    def __deepcopy__(self, /, _memo: Any) -> Access:
        """
        It never changes: a copy is itself.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self, /) -> tuple[Any, tuple[str, float, bool, int | None, str, float | None, float | None]]:
        """
        Lets it cross to another process.
        """
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restored(draw: str, value: SupportsFloat | SupportsIndex, slotted: bool, window_max: SupportsIndex | None, when: str, burst_s: SupportsFloat | SupportsIndex | None, span_s: SupportsFloat | SupportsIndex | None) -> Access:
        """
        The arguments that `__reduce__` gave.
        """
    @staticmethod
    def exponential(mean: SupportsFloat | SupportsIndex, of: str = "second", *, slotted: bool = False, when: str = "before-frame", burst_s: SupportsFloat | SupportsIndex | None = None, span_s: SupportsFloat | SupportsIndex | None = None) -> Access:
        """
        Exponential with this mean, in the unit `of`: "second"; "frame", the airtime of the waiting frame; "packet", the
        bits of the waiting packet over its rate. In whole slots, if it is `slotted`.
        """
    @staticmethod
    def fixed(mean_s: SupportsFloat | SupportsIndex, *, when: str = "before-frame", burst_s: SupportsFloat | SupportsIndex | None = None, span_s: SupportsFloat | SupportsIndex | None = None) -> Access:
        """
        Always the same, `mean_s` [s].
        """
    @staticmethod
    def slots(window: SupportsIndex, window_max: SupportsIndex | None = None, *, when: str = "before-frame", burst_s: SupportsFloat | SupportsIndex | None = None, span_s: SupportsFloat | SupportsIndex | None = None) -> Access:
        """
        A whole number of slots, uniform from 0 to `window` [slots], which doubles at each failure up to `window_max` [slots], if that is
        given.
        """
    @staticmethod
    def uniform(mean_s: SupportsFloat | SupportsIndex, *, when: str = "before-frame", burst_s: SupportsFloat | SupportsIndex | None = None, span_s: SupportsFloat | SupportsIndex | None = None) -> Access:
        """
        Uniform between zero and twice the mean, `mean_s` [s].
        """

@final
class Acked:
    """
    An acknowledgement.
    """
    def __repr__(self, /) -> str: ...
    @property
    def advances(self, /) -> bool:
        """
        It acknowledges new data cumulatively.
        """
    @property
    def flight(self, /) -> int:
        """
        Segments under way before it came.
        """
    @property
    def grows(self, /) -> bool:
        """
        Whether windows that know only growth and loss grow with it.
        """
    @property
    def in_recovery(self, /) -> bool:
        """
        A loss is being repaired.
        """
    @property
    def least_s(self, /) -> float | None:
        """
        The least round-trip time so far [s], once there is one.
        """
    @property
    def now_s(self, /) -> float:
        """
        When it came [s].
        """
    @property
    def sample_s(self, /) -> float | None:
        """
        The round-trip time that it measures [s], if it does.
        """
    @property
    def segments(self, /) -> int:
        """
        Segments that it reports to have arrived and none did before.
        """
    @property
    def smoothed_s(self, /) -> float | None:
        """
        The smoothed round-trip time [s], once there is one.
        """
    @property
    def window_limited(self, /) -> bool:
        """
        The congestion window limits the sender.
        """

@final
class ClassRole:
    """
    A class of a gateway: the traffic that one subscriber sends (up) or receives (down).
    """
    def __repr__(self, /) -> str: ...
    @property
    def direction(self, /) -> str:
        """
        Which way its data goes: "up", to the gateway, or "down".
        """
    @property
    def link_rate_bps(self, /) -> int | None:
        """
        The capacity of the gateway's own link on the class's path, without the MAC's overhead [bit/s], if known.
        """
    @property
    def subscriber(self, /) -> int | None:
        """
        Its subscriber: classes with the same number share one subscriber's due; none, a subscriber of its own.
        """
    @property
    def weight(self, /) -> float:
        """
        Its weight; above zero.
        """

@final
class ClassView:
    """
    The counts of one class by the gateway's queue in an epoch.
    """
    def __repr__(self, /) -> str: ...
    @property
    def arrived_bytes(self, /) -> int:
        """
        Arrivals at the queue, dropped or not [bytes].
        """
    @property
    def arrived_packets(self, /) -> int:
        """
        Arrivals at the queue, dropped or not [packets].
        """
    @property
    def backlog_bytes(self, /) -> int:
        """
        The backlog now [bytes].
        """
    @property
    def backlog_packets(self, /) -> int:
        """
        The backlog now [packets].
        """
    @property
    def busy_s(self, /) -> float | None:
        """
        For how long data were outstanding beyond the gateway [s], where that is told.
        """
    @property
    def delay_s(self, /) -> float | None:
        """
        The mean time from data let through to their acknowledgement [s], where that is told.
        """
    @property
    def dropped_bytes(self, /) -> int:
        """
        Drops of the queue [bytes].
        """
    @property
    def dropped_packets(self, /) -> int:
        """
        Drops of the queue [packets].
        """
    @property
    def held_packets(self, /) -> int | None:
        """
        How many packets had to wait for tokens, where that is counted.
        """
    @property
    def served_bytes(self, /) -> int:
        """
        Departures from the queue [bytes].
        """
    @property
    def served_packets(self, /) -> int:
        """
        Departures from the queue [packets].
        """

@final
class ComparisonFacts:
    """
    The facts of a comparison.
    """
    @property
    def notes(self, /) -> list[str]: ...
    @property
    def senders_time(self, /) -> list[tuple[str, float]]: ...

@final
class Delivery:
    """
    An acknowledgement's delivery.
    """
    def __repr__(self, /) -> str: ...
    @property
    def application_limited(self, /) -> bool:
        """
        The application may have limited the sender.
        """
    @property
    def delivery_rate_pps(self, /) -> float | None:
        """
        Segments per second that the network delivered, if that can be told.
        """
    @property
    def flight(self, /) -> int:
        """
        Segments thought to be in the network now.
        """
    @property
    def flight_before(self, /) -> int:
        """
        Segments thought to be in the network before it came.
        """
    @property
    def lost(self, /) -> int:
        """
        Segments found lost with it.
        """
    @property
    def lost_total(self, /) -> int:
        """
        Segments found lost in all.
        """
    @property
    def now_s(self, /) -> float:
        """
        When it came [s].
        """
    @property
    def repair(self, /) -> str:
        """
        The repair under way: "none", "recovery" or "timeout".
        """
    @property
    def round_trip_s(self, /) -> float | None:
        """
        Round-trip time of the segment sent last of those [s], if it is not ambiguous.
        """
    @property
    def segments(self, /) -> int:
        """
        Segments that it reports to have arrived and none did before.
        """
    @property
    def smoothed_s(self, /) -> float | None:
        """
        The smoothed round-trip time [s], once there is one.
        """
    @property
    def total(self, /) -> int:
        """
        Segments that have arrived in all.
        """

@final
class Environment:
    """
    A network and its controls.
    """
    def __new__(cls, /, scenario: Scenario, control: str, step_s: SupportsFloat | SupportsIndex, horizon_s: SupportsFloat | SupportsIndex, seed: SupportsIndex) -> Environment:
        """
        A scenario at its beginning; all of its flows are controlled, once per `step_s`. Goodput is averaged over
        `horizon_s`.
        """
    @property
    def names(self, /) -> list[str]:
        """
        The flows.
        """
    @property
    def now_s(self, /) -> float:
        """
        How far it is [s].
        """
    @property
    def scales(self, /) -> list[list[float]]:
        """
        The divisors of each flow's quantities in observations.
        """
    def step(self, /, actions: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> tuple[bytearray, bool]:
        """
        Sets each flow's control, runs one step, and returns the quantities of each flow and whether the run is over.
        The numbers have 32 bits in the machine's byte order: the quantities, then all of them over their scales, 1 at
        most.
        """

@final
class FlowRole:
    """
    The flow that a law of connections or of a rate is put at.
    """
    def __repr__(self, /) -> str: ...
    @property
    def payload_bytes(self, /) -> int:
        """
        Payload of a segment [bytes].
        """

@final
class FlowView:
    """
    A law's view of its flow after an interval.
    """
    def __repr__(self, /) -> str: ...
    @property
    def delivered_bytes(self, /) -> int:
        """
        Payload delivered in the interval [bytes].
        """
    @property
    def delivered_packets(self, /) -> int:
        """
        Payload delivered in the interval [segments].
        """
    @property
    def first_backlog_bytes(self, /) -> int | None:
        """
        The backlog at the flow's first link [bytes], if the host knows it.
        """
    @property
    def first_backlog_packets(self, /) -> int | None:
        """
        The backlog at the flow's first link [packets], if the host knows it.
        """
    @property
    def goodput_bps(self, /) -> int:
        """
        Payload delivered in the interval, per time [bit/s].
        """
    @property
    def interval_s(self, /) -> float:
        """
        The time since the law ran last [s].
        """
    @property
    def least_in_interval_s(self, /) -> float | None:
        """
        The least round-trip time of the segments acknowledged in the interval [s].
        """
    @property
    def least_round_trip_s(self, /) -> float | None:
        """
        The least round-trip time so far [s].
        """
    @property
    def lost(self, /) -> int | None:
        """
        The flow's packets dropped on their way in the interval; None where the host cannot tell.
        """
    @property
    def marked(self, /) -> int | None:
        """
        Segments that queues marked in the interval; None where nothing is marked, or where the host cannot tell.
        """
    @property
    def now_s(self, /) -> float:
        """
        When [s].
        """
    @property
    def outstanding(self, /) -> int | None:
        """
        Segments sent and not acknowledged at the interval's end; None over another transport than TCP.
        """
    @property
    def path_backlog_bytes(self, /) -> int | None:
        """
        The backlog at all links on the flow's path [bytes], for laws that need it.
        """
    @property
    def path_backlog_packets(self, /) -> int | None:
        """
        The backlog at all links on the flow's path [packets], for laws that need it.
        """
    @property
    def retransmitted(self, /) -> int:
        """
        Repetitions among the segments sent in the interval.
        """
    @property
    def round_trip_of_probes_s(self, /) -> float | None:
        """
        The mean of the probes' samples [s], if the law needs probes.
        """
    @property
    def round_trip_of_windows_s(self, /) -> float | None:
        """
        The mean of the retransmission timers' samples [s].
        """
    @property
    def round_trip_s(self, /) -> float | None:
        """
        Mean round-trip time of all segments acknowledged in the interval [s]; None without any, or if unknown.
        """
    @property
    def route_changed(self, /) -> bool | None:
        """
        Whether the path has changed in the interval; None where the host cannot tell.
        """
    @property
    def sent(self, /) -> int:
        """
        Segments sent in the interval, repetitions included.
        """
    @property
    def smoothed_round_trip_s(self, /) -> float | None:
        """
        The mean of the connections' smoothed round-trip times at the interval's end [s], as Linux knows them.
        """

@final
class FluidFacts:
    """
    The facts of a fluid model's run.
    """
    @property
    def corners(self, /) -> int: ...
    @property
    def eigenvalues(self, /) -> list[tuple[float, float]] | None: ...
    @property
    def has_settled(self, /) -> bool: ...
    @property
    def is_stable(self, /) -> bool | None: ...
    @property
    def lacks(self, /) -> str | None: ...
    @property
    def steps(self, /) -> int: ...
    @property
    def warning(self, /) -> str | None: ...

@final
class FrameStatus:
    """
    How a frame ended.
    """
    def __repr__(self, /) -> str: ...
    @property
    def acknowledged(self, /) -> int:
        """
        Packets of it that were acknowledged, all in the last mode that was tried.
        """
    @property
    def now_s(self, /) -> float:
        """
        When [s].
        """
    @property
    def packets(self, /) -> int:
        """
        Packets in the frame, when it was last sent.
        """
    @property
    def tried(self, /) -> list[tuple[int, int, int]]:
        """
        The steps of its chain that were tried: mode, tries, and packets in all of these frames together.
        """

@final
class FrameView:
    """
    The frame that is next.
    """
    def __repr__(self, /) -> str: ...
    @property
    def best(self, /) -> int | None:
        """
        The mode with the greatest expected rate, by the medium; None, unless the law asks for it.
        """
    @property
    def now_s(self, /) -> float:
        """
        When [s].
        """

@final
class GatewayRole:
    """
    The gateway that a law is put at.
    """
    def __repr__(self, /) -> str: ...
    @property
    def classes(self, /) -> list[ClassRole]:
        """
        Its classes, in the order in which the flows ask for them.
        """

@final
class GatewayView:
    """
    A gateway law's view after an epoch.
    """
    def __repr__(self, /) -> str: ...
    @property
    def classes(self, /) -> list[ClassView | None]:
        """
        The classes, in the order of their roles; none, of which nothing is known.
        """
    @property
    def interval_s(self, /) -> float:
        """
        The time since the law ran last [s].
        """
    @property
    def now_s(self, /) -> float:
        """
        When [s].
        """
    @property
    def served_bps(self, /) -> list[float]:
        """
        The rate served of each class [bit/s]; zero over no time.
        """

@final
class LinkRole:
    """
    The queue that a back-off law is put at.
    """
    def __repr__(self, /) -> str: ...
    @property
    def acknowledgements_only(self, /) -> bool:
        """
        It carries nothing but acknowledgements.
        """
    @property
    def carries_tcp(self, /) -> bool:
        """
        It carries TCP's packets.
        """
    @property
    def exchange_s(self, /) -> float:
        """
        Time from one largest packet to the next without disturbance, back-off not counted [s].
        """
    @property
    def frame_s(self, /) -> float:
        """
        Airtime of the frame of its largest packet [s].
        """
    @property
    def is_ideal(self, /) -> bool:
        """
        The MAC is ideal CSMA: no slots, no collisions.
        """
    @property
    def packet_bytes(self, /) -> int:
        """
        Network-layer size of its largest packet [bytes].
        """
    @property
    def payload_bytes(self, /) -> int:
        """
        Payload of its largest packet [bytes].
        """
    @property
    def slot_s(self, /) -> float:
        """
        A slot [s].
        """

@final
class LinkView:
    """
    A back-off law's view of its link.
    """
    def __repr__(self, /) -> str: ...
    @property
    def arrivals_bytes(self, /) -> int:
        """
        Accepted arrivals since the last update [bytes].
        """
    @property
    def arrivals_packets(self, /) -> int:
        """
        Accepted arrivals since the last update [packets].
        """
    @property
    def backlog_bytes(self, /) -> int:
        """
        The backlog, the packet in service counted [bytes].
        """
    @property
    def backlog_packets(self, /) -> int:
        """
        The backlog, the packet in service counted [packets].
        """
    @property
    def data_rate_bps(self, /) -> int:
        """
        The rate at which data are sent [bit/s].
        """
    @property
    def dummies_packets(self, /) -> int:
        """
        Dummy packets sent since the last update [packets].
        """
    @property
    def head_of_line_delay_s(self, /) -> float | None:
        """
        The waiting time of the backlog's first packet [s], if known.
        """
    @property
    def interval_s(self, /) -> float:
        """
        The time since the last update [s].
        """
    @property
    def now_s(self, /) -> float:
        """
        When [s].
        """
    @property
    def service_bytes(self, /) -> int:
        """
        Sent to the next hop since the last update [bytes].
        """
    @property
    def service_packets(self, /) -> int:
        """
        Sent to the next hop since the last update [packets].
        """

@final
class Loss:
    """
    A loss, as duplicate acknowledgements or a time-out announce it.
    """
    def __repr__(self, /) -> str: ...
    @property
    def flight(self, /) -> float:
        """
        Segments under way [segments].
        """
    @property
    def now_s(self, /) -> float:
        """
        When it was found [s].
        """
    @property
    def repeated(self, /) -> bool:
        """
        One more of a flight for which the window was cut already.
        """

@final
class QueueRole:
    """
    The queue that a marking law is put at.
    """
    def __repr__(self, /) -> str: ...
    @property
    def full_packet_bytes(self, /) -> int:
        """
        The largest packet [bytes].
        """
    @property
    def rate_bps(self, /) -> int:
        """
        The rate at which its packets are sent [bit/s].
        """

@final
class QueueView:
    """
    A marking law's view of its queue.
    """
    def __repr__(self, /) -> str: ...
    @property
    def flow(self, /) -> int:
        """
        The flow of the packet that comes or leaves: one number for each flow and direction.
        """
    @property
    def size_bytes(self, /) -> int:
        """
        Network-layer size of the packet that comes or leaves [bytes].
        """
    @property
    def waiting_bytes(self, /) -> int:
        """
        The backlog beside the packet that comes or leaves [bytes].
        """
    @property
    def waiting_packets(self, /) -> int:
        """
        The backlog beside the packet that comes or leaves [packets].
        """

@final
class RateRole:
    """
    The link that a rate control is put at.
    """
    def __repr__(self, /) -> str: ...
    @property
    def modes(self, /) -> list[tuple[str, int, int, int, int, int]]:
        """
        The modes that frames may have, which a law names by their place here: format, index, streams, width in MHz, guard
        interval in ns, rate in bit/s.
        """
    @property
    def own(self, /) -> int:
        """
        The place of the link's own mode, the fastest.
        """
    @property
    def seed(self, /) -> int:
        """
        A number for the law's own draws.
        """

@final
class Records:
    """
    The results kept of some runs of one scenario.
    """
    def __len__(self, /) -> int: ...
    def __reduce__(self, /) -> tuple[Any, tuple[bytes]]: ...
    @property
    def events(self, /) -> int:
        """
        How many events were handled in all.
        """
    @staticmethod
    def from_bytes(bytes: bytes) -> Records:
        """
        The bytes that `to_bytes` gave.
        """
    @property
    def seeds(self, /) -> list[int]:
        """
        The seeds, in order.
        """
    def to_bytes(self, /) -> bytes:
        """
        All of it, exactly: to be sent to another process, or kept.
        """
    def to_dicts(self, /) -> Any:
        """
        The same as dictionaries and lists, one of them per run.
        """
    def with_more(self, /, more: Records) -> Records:
        """
        These and others.
        """

@final
class Scenario:
    """
    A scenario with nothing left open.
    """
    def __new__(cls, /, file: str, text: str, has_lines: bool, changes: SupportsGetItem[int, str], laws: SupportsGetItem[int, tuple[str, Any]]) -> Scenario:
        """
        A scenario of its text, with `changes` of the form key=value applied, then `laws` put in their places; `file` names it in
        errors, and `has_lines` says whether its user knows its lines.
        """
    @property
    def calls_python(self, /) -> bool:
        """
        Whether a law of it is called in Python.
        """
    def conflicts(self, /) -> list[tuple[str, str]]:
        """
        Pairs of links that may not transmit at once.
        """
    @property
    def description(self, /) -> str:
        """
        Its description.
        """
    def flows(self, /) -> list[tuple[str, list[str]]]:
        """
        The flows with the nodes on their ways.
        """
    def links(self, /) -> list[tuple[str, str, str]]:
        """
        The links of the air that carry data: name, sender, receiver.
        """
    def map_svg(self, /) -> str:
        """
        Its map for a notebook, or its conflict graph where nodes have no positions.
        """
    @property
    def name(self, /) -> str:
        """
        Its name.
        """
    def nodes(self, /) -> list[tuple[str, tuple[float, float] | None]]:
        """
        The nodes with their positions [m], where they have any.
        """
    def ranges_m(self, /) -> tuple[float, float] | None:
        """
        Transmission and carrier-sense range [m], if ranges decide on reception.
        """
    @property
    def seed(self, /) -> int:
        """
        The seed that it begins with.
        """
    def settings(self, /) -> Any:
        """
        Every setting, by key.
        """
    def to_toml(self, /) -> str:
        """
        Every setting, as TOML.
        """
    def warnings(self, /) -> list[str]:
        """
        The settings that are allowed and hardly meant.
        """

@final
class SolutionFacts:
    """
    The facts of a best allocation.
    """
    @property
    def bound(self, /) -> float | None: ...
    @property
    def objective(self, /) -> float | None: ...
    @property
    def residual(self, /) -> float | None: ...
    @property
    def solver(self, /) -> str: ...

@final
class StudyFacts:
    """
    A study's metadata and findings.
    """
    @property
    def about(self, /) -> str: ...
    @property
    def id(self, /) -> str: ...
    @property
    def labels(self, /) -> list[tuple[str, str]]: ...
    @property
    def report(self, /) -> str: ...
    @property
    def result(self, /) -> Any: ...
    @property
    def source(self, /) -> str: ...
    @property
    def title(self, /) -> str: ...

@final
class Table:
    """
    A table.
    """
    def __arrow_c_schema__(self, /) -> CapsuleType:
        """
        The schema alone.
        """
    def __arrow_c_stream__(self, /, requested_schema: Any | None = None) -> CapsuleType:
        """
        Arrow's `PyCapsule` interface: one batch, handed over as it lies.
        """
    def __len__(self, /) -> int: ...
    def __reduce__(self, /) -> tuple[Any, tuple[list[tuple[str, str, Any]]]]:
        """
        Lets it cross to another process: its columns as lists.
        """
    @staticmethod
    def _restored(columns: SupportsGetItem[int, tuple[str, str, Any]]) -> Table:
        """
        The arguments that `__reduce__` gave.
        """
    def column(self, /, name: str) -> "list[str] | list[int] | list[float] | list[float | None]":
        """
        A column as a list; a missing value is None.
        """
    @property
    def column_names(self, /) -> list[str]:
        """
        The names of its columns.
        """

@final
class WindowStart:
    """
    A sender's start.
    """
    def __repr__(self, /) -> str: ...
    @property
    def byte_counting(self, /) -> bool:
        """
        Grow by the segments that an acknowledgement covers, not by one for each.
        """
    @property
    def hops(self, /) -> int | None:
        """
        Hops of the path on the air; none, if nothing is known of it.
        """
    @property
    def initial_threshold(self, /) -> float:
        """
        Slow-start threshold at the start [segments].
        """
    @property
    def initial_window(self, /) -> float:
        """
        Congestion window at the start [segments].
        """

def check_law(law: Any, seeds: SupportsIndex) -> None:
    """
    Drives a law through the suite of its family, which raises `AssertionError` where the law does not conform.
    """

def compare(scenario: Scenario, seeds: SupportsIndex, progress: Any | None) -> tuple[list[tuple[str, Table]], ComparisonFacts]:
    """
    Each flow's rate in each world in turn.
    """

def fluid(scenario: Scenario) -> tuple[list[tuple[str, Table]], FluidFacts]:
    """
    The fluid model's trajectory and rest.
    """

def gives_one_rate(law: Any) -> bool:
    """
    Whether a law gives one rate for all, judged by one class, and not each class its own: its default shaper depends on
    that.
    """

def half_width(values: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> float | None:
    """
    Half of the 95 % interval of the mean of values, by Student's t as reports have it; None of a single value.
    """

def program_is(file: str | PathLike[str]) -> None:
    """
    Names the file that holds this module: it is part of the key of stored runs.
    """

def run(scenario: Scenario, seed: SupportsIndex | None, seeds: SupportsIndex, precision: SupportsFloat | SupportsIndex | None, series: bool, every_s: SupportsFloat | SupportsIndex, ledger: bool, timeline_s: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex] | None, threads: SupportsIndex | None, progress: Any | None) -> Records:
    """
    Runs a scenario with seeds from the scenario's own on, or from `seed` on.
    """

def scenario_ids() -> list[str]:
    """
    The ids of the built-in scenarios, such as "chen10/a".
    """

def scenario_text(name: str) -> tuple[str, str]:
    """
    The text of a scenario and the name by which errors are to call it: a file's, or a built-in one's.
    """

def schema(of: str = "scenario") -> "dict[str, Any]":
    """
    The JSON Schema of a language, "scenario" or "study", or of output, "result"; of anything else a `ValueError`.
    """

def seconds(words: Any) -> float:
    """
    A time in words, such as "10 ms", in seconds.
    """

def solve(scenario: Scenario, asked: Incomplete, utility: Any | None, marginal: Any | None) -> tuple[list[tuple[str, Table]], SolutionFacts]:
    """
    The best allocation: tables of flows, links and sets, and its facts. `utility` of a flow's name and a rate, and its
    derivative, `marginal`, take the place of the objective.
    """

def study(name: str, folder: str | PathLike[str], quick: bool, changes: SupportsGetItem[int, str], seeds: SupportsIndex | None, variants: SupportsGetItem[int, str], precision: SupportsFloat | SupportsIndex | None, threads: SupportsIndex | None, progress: Any | None) -> tuple[list[tuple[str, Table]], StudyFacts]:
    """
    Conducts a study and keeps finished runs in a folder: tables, findings, and its report.
    """

def study_ids() -> list[str]:
    """
    The ids of the built-in studies, such as "chen10/table-6-1".
    """

def sweep(points: SupportsGetItem[int, tuple[str, Scenario]], seeds: SupportsIndex, precision: SupportsFloat | SupportsIndex | None, series: bool, every_s: SupportsFloat | SupportsIndex, ledger: bool, timeline_s: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex] | None, folder: str | PathLike[str], threads: SupportsIndex | None, progress: Any | None) -> list[Records]:
    """
    Runs several scenarios, each with a name, with several seeds, and keeps finished runs in a folder.
    """

def tables(groups: SupportsGetItem[int, tuple[str, SupportsFloat | SupportsIndex | None, Records]], keys: SupportsGetItem[int, tuple[str, SupportsGetItem[int, tuple[str, tuple[str, SupportsFloat | SupportsIndex | None]]]]]) -> list[tuple[str, Table]]:
    """
    The tables of groups of runs: id of the variant, its value of a parameter, its runs; `keys` become columns after the variant.
    """

def verdict(scenario: Scenario, records: Records) -> Any:
    """
    Which flows of a scenario's runs starve, why, and which settings to try: as `evenair run --json` has it.
    """

def version() -> str:
    """
    The version of evenair.
    """
