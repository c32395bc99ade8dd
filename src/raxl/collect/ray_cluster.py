"""Inside a process that joins a Ray cluster: finds it, asks Ray for its nodes, and each node for its snapshot.

The only file that imports ray. Its text also travels to a cluster's head as a job, where raxl is not installed: it
needs the standard library and Ray alone, and speaks through `tell(word, **values)`.

`found` address · `alive` · `joined` ray, python · `cluster` view · `node` its view · `snapshot` id, data (base64) ·
`lost` id, reason, message · `asking` seconds until the next word at the latest · `error` kind, what, why, try · `end`
"""

from __future__ import annotations

import base64
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

Tell = Callable[..., None]
CONNECT_SECONDS = 2.0
CLIENT_TRIES = 2
MOST_IN_FLIGHT = 64
CLUSTER_INFO = "/ray.rpc.RayletDriver/ClusterInfo"
CHECK_ALIVE = "/ray.rpc.NodeInfoGcsService/CheckAlive"
WITHOUT_RAY = "without Ray: raxl snapshot collector, on each node"
_HEAD = "node:__internal_head__"


class Refused(Exception):
    """The cluster cannot be joined: a kind, what, why, and what to try."""


def main(settings: Mapping[str, Any], collector: Callable[[], bytes], tell: Tell) -> None:
    """Joins the cluster at `settings["address"]` and asks all its nodes; ends with `end` or `error`.

    `collector` gives the packed asker, compressed by zlib, once it is wanted.
    """
    try:
        join(str(settings["address"]), tell)
        ask_all(collector(), float(settings["timeout"]), tell, float(settings["begun"]))
        tell("end")
    except Refused as refusal:
        tell("error", **dict(zip(("kind", "what", "why", "try"), refusal.args)))


def join(address: str, tell: Tell) -> None:
    """Connects this process to the cluster. Raises `Refused` within about 5 s where there is none, or it is locked."""
    ray = imported()
    if not address.startswith("ray://"):
        address = resolved(address)
    tell("found", address=address)
    host, port = host_and_port(address.replace("ray://", ""))
    _connect(host, port, address)
    if address.startswith("ray://"):
        _answers_grpc(host, port, address)
    else:
        check_alive(host, port, address)
        _is_node_here(address)
    tell("alive")
    try:
        _init(ray, address)
    except RuntimeError as error:
        raise _refusal(str(error), address) from error
    except Exception as error:
        raise Refused("failed", "Ray did not let raxl join " + address, _first(error), _other_ways(address)) from error
    tell("joined", ray=ray.__version__, python=python_version())


def _init(ray: Any, address: str) -> None:
    """`ray.init`, once more where Ray Client's server fails to start on the head, which it does now and then.

    Ray Client keeps such a failure to itself for as long as a client may reconnect, 30 s by default, and the head keeps
    as long what it started for one that is gone.
    """
    os.environ.setdefault("RAY_CLIENT_RECONNECT_GRACE_PERIOD", "1")
    for left in reversed(range(CLIENT_TRIES if address.startswith("ray://") else 1)):
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False, logging_level="ERROR")
            return
        except ConnectionError:
            if not left:
                raise


def leave() -> None:
    """Says farewell to the cluster."""
    import ray

    ray.shutdown()


def imported() -> Any:
    """Ray's package. Raises `Refused` where there is none."""
    try:
        import ray
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise Refused("missing", "Ray cannot be imported here", why, "pip install 'ray[default]'") from error
    return ray


def resolved(address: str) -> str:
    """`host:port` for `auto`, where one cluster runs on this host; else the address as given."""
    if address != "auto":
        return address
    from ray._private import services

    try:
        return services.canonicalize_bootstrap_address_or_die("auto")
    except Exception as error:
        several = "multiple" in str(error)
        what = "several Ray clusters run on this host" if several else "no Ray cluster on this host"
        why = _first(error) if several else "no raylet runs here, and RAY_ADDRESS is not set"
        raise Refused("unreachable", what, why, "name one: --address host:6379") from error


def host_and_port(address: str) -> tuple[str, int]:
    """Of `10.0.0.1:6379` or `[fd00::1]:6379`."""
    match = re.fullmatch(r"\[?([^\[\]/]+?)\]?:([0-9]{1,5})", address)
    if match is None or not 0 < int(match[2]) < 65536:
        raise Refused("usage", "no address: " + address, "host:6379, ray://host:10001, http://host:8265 or auto", "")
    return match[1], int(match[2])


def _spelled(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _connect(host: str, port: int, address: str) -> None:
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except socket.gaierror as error:
        raise Refused("unreachable", "no Ray cluster at " + address, error.strerror or str(error), "") from error
    except OSError as error:
        why = f"no answer within {CONNECT_SECONDS:g} s" if isinstance(error, socket.timeout) else error.strerror
        raise Refused("unreachable", "no Ray cluster at " + address, why or str(error), "") from error


def authorization() -> dict[str, str]:
    """The header that Ray's own code gives for the token of this environment; empty where it has none."""
    try:
        from ray._private.authentication.http_token_authentication import get_auth_headers_if_auth_enabled
    except ImportError:  # before Ray 2.52
        return {}
    try:
        return dict(get_auth_headers_if_auth_enabled({}))
    except Exception as error:
        raise locked("this environment's token cannot be read: " + _first(error)) from error


def locked(why: str) -> Refused:
    """The cluster wants a token that this environment does not give."""
    step = "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH unless the token is in ~/.ray/auth_token"
    return Refused("locked", "the cluster is locked", why, step)


def check_alive(host: str, port: int, address: str) -> None:
    """One call that a live GCS answers at once, a locked one refuses and a stopped one leaves open."""
    try:
        import grpc
    except ImportError:  # `pip install ray` brings none; the caller's deadline then says what this would
        return
    token = [(name.lower(), value) for name, value in authorization().items()]
    channel = grpc.insecure_channel(_spelled(host, port))
    try:
        channel.unary_unary(CHECK_ALIVE)(b"", timeout=CONNECT_SECONDS, metadata=token)
    except grpc.RpcError as error:
        code = error.code()
        if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
            raise locked("its token is another" if token else "it wants a token") from error
        why = f"no answer within {CONNECT_SECONDS:g} s: it is stopped, or no Ray"
        if code is not grpc.StatusCode.DEADLINE_EXCEEDED:
            why = f"what listens there is no GCS of Ray's: {code.name.lower()}"
        raise Refused("unreachable", "no Ray cluster at " + address, why, "") from error
    finally:
        channel.close()


def _answers_grpc(host: str, port: int, address: str) -> None:
    """Whether Ray Client's server speaks; a port that leads elsewhere or a stopped process does not."""
    try:
        import grpc
    except ImportError as error:
        raise Refused("missing", "ray:// needs grpcio", "it is not installed", "pip install 'ray[client]'") from error
    token = [(name.lower(), value) for name, value in authorization().items()]
    channel = grpc.insecure_channel(_spelled(host, port))
    try:
        grpc.channel_ready_future(channel).result(CONNECT_SECONDS)
        # Whatever it says but this: the call lacks what a client sends.
        channel.unary_unary(CLUSTER_INFO)(b"", timeout=CONNECT_SECONDS, metadata=token)
    except grpc.FutureTimeoutError as error:
        why = f"no answer within {CONNECT_SECONDS:g} s: it is stopped, or no Ray Client's server"
        raise Refused("unreachable", "no Ray cluster at " + address, why, "") from error
    except grpc.RpcError as error:
        if error.code() in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
            raise locked("its token is another" if token else "it wants a token") from error
    finally:
        channel.close()


def _is_node_here(address: str) -> None:
    """Ray joins through a raylet on this host: without one it would wait for it."""
    from ray._raylet import GcsClient  # type: ignore[attr-defined]

    try:
        nodes = GcsClient(address=address).get_all_node_info().values()
    except Exception as error:
        raise Refused("failed", f"Ray's GCS at {address} gives no list of nodes", _first(error), "") from error
    alive = [node.node_manager_address for node in nodes if node.state == 0]
    if alive and not any(map(is_own, alive)):
        raise Refused("elsewhere", "this host is no node of the cluster at " + address, "", _other_ways(address))


def is_own(address: str) -> bool:
    """Whether an IP address is one of this host's: only such can be bound."""
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as one:
            one.bind((address, 0))
    except OSError:
        return False
    return True


def _other_ways(address: str) -> str:
    """The ways in that were not taken."""
    host = host_and_port(address.replace("ray://", ""))[0]
    if address.startswith("ray://"):
        return f"another way in: --address http://{host}:8265"
    return f"from elsewhere: --address ray://{host}:10001 or --address http://{host}:8265"


def _refusal(message: str, address: str) -> Refused:
    """What Ray raises when it will not let a driver join."""
    versions = re.findall(r"Ray: (\S+)\s+Python: (\S+)", message)
    host = host_and_port(address.replace("ray://", ""))[0]
    if len(versions) >= 2:
        (theirs, their_python), (ours, our_python) = versions[:2]
        why = f"it runs Ray {theirs}, Python {their_python}; here are Ray {ours}, Python {our_python}"
        step = f"--address http://{host}:8265 needs neither: a job on the head does the asking"
        return Refused("versions", "the versions differ from the cluster's", why, step)
    return Refused("failed", "Ray did not let raxl join " + address, _first(message), _other_ways(address))


def _first(error: Any) -> str:
    """What an error says, in one line; of a server's traceback, its last one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (lines[-1] if any("Traceback" in line for line in lines) else lines[0])[:300]


def ask_all(collector: bytes, timeout: float, tell: Tell, begun: float = 0.0) -> None:
    """Tells what Ray says of the cluster and its nodes, and each node's snapshot as it comes.

    `collector` is the packed asker, compressed by zlib; `timeout` a node's whole budget in seconds, which for those
    that are asked at once counts from `begun` (`time.monotonic`; 0: from now). A node that
    joins while others are asked is asked too.
    """
    import ray

    known: dict[str, Mapping[str, Any]] = {}
    tell("cluster", **cluster_view(ray))
    packed = ray.put(collector)
    while True:
        nodes = {node["NodeID"]: node for node in ray.nodes()}  # type: ignore[no-untyped-call]
        fresh = {node_id: node for node_id, node in nodes.items() if node_id not in known}
        known.update(fresh)
        drained = draining()
        views = {node_id: node_view(node, node_id in drained) for node_id, node in fresh.items()}
        asked = []
        for node_id, view in views.items():
            if view["state"] != "dead":
                asked.append(node_id)
                tell("node", **view)
            elif is_vacant(fresh[node_id], nodes.values()):
                tell("node", **view)
                tell("lost", id=node_id, reason="failed", message="dead: " + (view["reason"] or "Ray does not say why"))
        if not asked:
            return
        _ask_each(ray, asked, packed, timeout, tell, begun)


def python_version() -> str:
    """`3.11.7`: Ray wants a driver's to be the cluster's."""
    return ".".join(map(str, sys.version_info[:3]))


def cluster_view(ray: Any) -> dict[str, Any]:
    """Versions and how many nodes are alive and dead."""
    states = [node["Alive"] for node in ray.nodes()]
    return {
        "ray_version": ray.__version__,
        "python_version": python_version(),
        "nodes_alive": sum(states),
        "nodes_dead": len(states) - sum(states),
    }


def draining() -> Collection[str]:
    """The ids of the nodes that are being emptied; none where Ray does not tell, as to a client."""
    from ray._private.state import state

    try:
        return list(state.get_draining_nodes())
    except Exception:
        return ()


def node_view(node: Mapping[str, Any], is_drained: bool = False) -> dict[str, Any]:
    """What Ray says of a node, as `raxl.model.cluster.RayNode` has it."""
    resources = node.get("Resources") or {}
    alive = bool(node["Alive"])
    return {
        "node_id": node["NodeID"],
        "state": "dead" if not alive else "draining" if is_drained else "alive",
        "name": node.get("NodeManagerHostname") or node.get("NodeName"),
        "address": node.get("NodeManagerAddress"),
        "is_head": _HEAD in resources if alive else None,
        "reason": node.get("DeathReasonMessage") or None,
        "death": None if alive else node.get("DeathReason"),
        "resources": {name: amount for name, amount in resources.items() if not name.startswith("node:")},
        "labels": dict(node.get("Labels") or {}),
    }


def is_vacant(node: Mapping[str, Any], nodes: Any) -> bool:
    """Whether no other node has taken the place of a dead one."""
    address = node.get("NodeManagerAddress")
    return not any(other["Alive"] and other.get("NodeManagerAddress") == address for other in nodes)


def _ask_each(ray: Any, node_ids: list[str], packed: Any, timeout: float, tell: Tell, begun: float) -> None:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    now = time.monotonic()
    begun = begun or now
    tell("asking", seconds=max(begun + timeout - now, timeout / 2))  # Ray hangs in what follows where its GCS is gone
    probe = ray.remote(num_cpus=0, max_retries=0)(asking())
    budget = max(timeout - 3.0, timeout / 2)
    waiting = list(reversed(node_ids))
    flying: dict[Any, tuple[str, float]] = {}
    while waiting or flying:
        while waiting and len(flying) < MOST_IN_FLIGHT:
            node_id = waiting.pop()
            strategy = NodeAffinitySchedulingStrategy(node_id, soft=False)
            reference = probe.options(scheduling_strategy=strategy).remote(packed, budget)
            flying[reference] = (node_id, max(begun + timeout, time.monotonic() + timeout / 2))
        tell("asking", seconds=max(until for _, until in flying.values()) - time.monotonic())
        left = min(until for _, until in flying.values()) - time.monotonic()
        done, _ = ray.wait(list(flying), timeout=max(0.0, left), fetch_local=True)
        for reference in done:
            _tell_answer(ray, reference, flying.pop(reference)[0], tell)
        for reference in [one for one, (_, until) in flying.items() if until <= time.monotonic()]:
            node_id, _ = flying.pop(reference)
            tell("lost", id=node_id, reason="timed-out", message=f"no answer within {timeout:g} s")
        begun = time.monotonic()
    tell("asking", seconds=0.0)


def _tell_answer(ray: Any, reference: Any, node_id: str, tell: Tell) -> None:
    try:
        answer = ray.get(reference, timeout=5)
    except Exception as error:
        kind = type(error).__name__
        if kind == "TaskUnschedulableError":
            tell("lost", id=node_id, reason="failed", message="Ray takes no task there: the node is leaving, or gone")
            return
        tell(
            "lost",
            id=node_id,
            reason="failed",
            message=f"Ray could not run the task there ({kind}): {_first(error)}",
        )
        return
    if isinstance(answer, bytes):
        tell("snapshot", id=node_id, data=base64.b64encode(answer).decode("ascii"))
    else:
        tell("lost", id=node_id, reason="failed", message=str(answer)[:300])


def asking() -> Callable[[bytes, float], Any]:
    """The task: a function within a function, so that Ray sends its text and no node needs this module."""

    def ask_node(collector: bytes, budget: float) -> Any:
        """The snapshot of this node, from the packed asker as a child of the worker; else why there is none."""
        import importlib.util
        import os
        import signal
        import subprocess
        import sys
        import zlib

        environment = {}
        try:
            # The raylet's: Ray changes the variables that hide devices for its workers.
            with open(f"/proc/{os.getppid()}/environ", "rb") as file:
                pairs = (entry.partition(b"=") for entry in file.read().split(b"\0") if entry)
                environment = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
        except OSError:
            pass
        environment = environment or dict(os.environ)
        found = importlib.util.find_spec("ray")
        beside = os.path.dirname(os.path.dirname(found.origin)) if found and found.origin else ""
        environment.update(RAXL_TIMEOUT=f"{budget:g}", RAXL_PACKAGES=beside)
        # It ends with the worker: prctl(PR_SET_PDEATHSIG, SIGKILL).
        start = "import ctypes,sys;ctypes.CDLL(None).prctl(1,9);exec(compile(sys.stdin.buffer.read(),'raxl','exec'))"
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
        )
        try:
            output, errors = child.communicate(zlib.decompress(collector), timeout=budget + 2)
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
            return "the asking process did not end within %g s" % (budget + 2)
        if child.returncode == 0:
            return output
        words = errors.decode("utf-8", "replace").strip().splitlines()
        return (
            words[-1].replace("raxl: error: ", "", 1) if words else f"the asking process ended with {child.returncode}"
        )

    return ask_node


def lines_to(descriptor: int) -> Tell:
    """A `tell` that writes a JSON line each to a file descriptor."""
    import json

    def tell(word: str, **values: Any) -> None:
        line = json.dumps([word, values]).encode("ascii") + b"\n"
        while line:
            line = line[os.write(descriptor, line) :]

    return tell
