"""Ends that are actors of Ray: each a process of its own on the node that was named, ended after its transport."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Mapping

from raxl.transfer import FAILURES, EndFailed, EndLost

START_SECONDS = 60.0
"""A worker on a busy node takes a while."""


class RayEnd:
    """An actor that runs functions of raxl's, whether raxl is installed on its node or not."""

    def __init__(
        self,
        node: Mapping[str, Any],
        modules: Any,
        environment: Mapping[str, str],
        has_tensors: bool,
        gpus: float = 0.0,
    ) -> None:
        """`node`: `id`, `name` and `address` as Ray says them, and `is_of_raxl`. `modules`: what
        `raxl.host.pack.modules` gave, or Ray's reference to it. `has_tensors`: prepared for Ray Direct Transport.
        `gpus`: so many Ray gives it."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        import ray

        self.node, self.node_id, self.address = str(node["name"]), str(node["id"]), str(node["address"])
        self.is_of_raxl = bool(node.get("is_of_raxl"))
        options: dict[str, Any] = {"num_cpus": 0, "max_restarts": 0, "max_task_retries": 0}
        if gpus:
            options["num_gpus"] = gpus
        if has_tensors:
            options["enable_tensor_transport"] = True
        actor: Any = ray.remote(**options)(_made())
        strategy = NodeAffinitySchedulingStrategy(self.node_id, soft=False)
        self.handle = actor.options(
            scheduling_strategy=strategy, runtime_env={"env_vars": dict(environment)} if environment else {}
        ).remote(modules)
        self.pid = 0

    def ready(self, seconds: float = START_SECONDS) -> None:
        """Waits until it runs. Raises `EndLost` or `TimeoutError`."""
        self.pid = self.call(_pid, seconds=seconds)

    def start(self, function: Callable[..., Any], *arguments: Any) -> RayPending:
        return RayPending(self.handle.run.remote(function, *arguments), self.node)

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float = START_SECONDS) -> Any:
        return self.start(function, *arguments).result(seconds)

    def end(self) -> None:
        """Kills the actor: some libraries crash when a process leaves by itself."""
        import ray

        ray.kill(self.handle, no_restart=True)


class RayPending:
    """A task of such an actor."""

    def __init__(self, reference: Any, node: str) -> None:
        self.reference, self._node = reference, node

    def result(self, seconds: float) -> Any:
        return waited(self.reference, self._node, seconds)


def answers(pending: Mapping[str, RayPending], seconds: float, lost: Callable[[str, str], None]) -> dict[str, Any]:
    """By name, what those give that answer within so many seconds all together; `lost` is told who does not, and
    why."""
    until = time.monotonic() + seconds
    found = {}
    for name, one in pending.items():
        try:
            found[name] = one.result(max(0.1, until - time.monotonic()))
        except FAILURES as error:
            lost(name, str(error) or type(error).__name__)
    return found


def waited(reference: Any, node: str, seconds: float) -> Any:
    """What a reference of Ray's holds. Raises `EndLost`, `EndFailed`, and `TimeoutError` when it takes too long."""
    import ray
    from ray import exceptions

    try:
        return ray.get(reference, timeout=seconds)
    except exceptions.GetTimeoutError as error:
        raise TimeoutError(f"no answer from {node} within {seconds:g} s") from error
    except exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, BaseException) else error
        raise EndFailed(f"{type(cause).__name__}: {first_line(cause)}") from error
    except exceptions.RayError as error:
        raise EndLost(f"{type(error).__name__}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """The first words of an error; of one that carries a traceback, its last ones."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (lines[-1] if any(line.startswith("Traceback") for line in lines) else lines[0])[:300]


def start_ray(folder: str, object_store_bytes: int) -> None:
    """A Ray for this machine alone, whose files are in `folder`."""
    import logging

    import ray

    ray.init(
        address="local",
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        logging_level=logging.ERROR,
        object_store_memory=object_store_bytes,
        _temp_dir=folder,
    )


def nodes() -> list[dict[str, Any]]:
    """The cluster's nodes, as Ray says them."""
    import ray

    return list(ray.nodes())  # type: ignore[no-untyped-call]


def shared(value: Any) -> Any:
    """A reference of Ray's to a value that many actors are given."""
    import ray

    return ray.put(value)


def _pid(state: dict[str, Any]) -> int:
    return os.getpid()


def _made() -> type:
    """A class within a function, so that Ray sends its text; it serves raxl's modules to its process from theirs."""

    class Ended:
        def __init__(self, modules: Mapping[str, Any]) -> None:
            import importlib.abc
            import importlib.machinery
            import sys

            class Packed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
                def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
                    if name not in modules:
                        return None
                    return importlib.machinery.ModuleSpec(name, self, is_package=modules[name][0])

                def create_module(self, spec: Any) -> Any:
                    return None

                def exec_module(self, module: Any) -> None:
                    text = modules[module.__name__][1]
                    exec(compile(text, module.__name__, "exec"), module.__dict__)  # noqa: S102 - raxl's own text

            sys.meta_path.insert(0, Packed())
            self._state: dict[str, Any] = {}

        def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
            return function(self._state, *arguments)

    Ended.__name__ = Ended.__qualname__ = "raxl_end"
    return Ended
