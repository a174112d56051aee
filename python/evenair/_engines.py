"""Where the runs of a sweep are done, if not in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._run import Progress
    from ._scenario import Scenario

Job: TypeAlias = "tuple[Scenario, int, bool, float, bool]"
"""The arguments of one run."""

KNOWN = 'give "dask", "ray", a client of dask.distributed, the module ray, or an executor of concurrent.futures'


@contextmanager
def engine(executor: object) -> Iterator[object]:
    """Give an executor. "dask" and "ray" are those already running, or are started, and stopped at the end."""
    if executor == "dask":
        with _dask() as client:
            yield client
    elif executor == "ray":
        with _ray() as module:
            yield module
    elif isinstance(executor, (str, type)):
        message = f"executor = {executor!r}: {KNOWN}"
        raise (ValueError if isinstance(executor, str) else TypeError)(message)
    else:
        yield executor


def _missing(name: str, package: str) -> ImportError:
    return ImportError(f"executor = {name!r}: {package} is not installed; pip install 'evenair[{name}]' brings it")


@contextmanager
def _dask() -> Iterator[object]:
    """Give the client that is current, or one of dask's configuration: this machine by default."""
    try:
        from distributed import Client, default_client
    except ImportError:
        raise _missing("dask", "dask.distributed") from None
    try:
        current = default_client()
    except ValueError:
        with Client() as client:
            yield client
    else:
        yield current


@contextmanager
def _ray() -> Iterator[object]:
    """Give ray, connected to `RAY_ADDRESS`: this machine by default."""
    try:
        import ray
    except ImportError:
        raise _missing("ray", "ray") from None
    was_running = ray.is_initialized()
    if not was_running:
        ray.init()
    try:
        yield ray
    finally:
        if not was_running:
            ray.shutdown()


def gather(executor: Any, function: Callable[..., bytes], jobs: Sequence[Job], progress: Progress) -> list[bytes]:  # noqa: ANN401 -- of other libraries
    """Do all jobs with an executor, in order; the rest is cancelled when one fails, and at Ctrl-C."""
    if hasattr(executor, "remote") and hasattr(executor, "get"):  # the module ray
        task = executor.remote(function)
        futures = [task.remote(*job) for job in jobs]
        take, give_up = executor.get, executor.cancel
    elif hasattr(executor, "submit"):
        # To dask, two calls with the same arguments are one; so they are to us.
        futures = [executor.submit(function, *job) for job in jobs]
        take, give_up = (lambda future: future.result()), (lambda future: future.cancel())
    else:
        message = f"{executor!r} is no executor: {KNOWN}"
        raise TypeError(message)
    done: list[bytes] = []
    try:
        for future in futures:
            done.append(take(future))
            if progress is not None:
                progress(len(done), len(jobs))
    except BaseException:
        for future in futures[len(done) :]:
            give_up(future)
        raise
    return done
