"""Refuse every connection that leaves this machine, so that no test, notebook or experiment can ask the network."""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import Any

__all__ = ["NetworkRefused", "install"]


class NetworkRefused(OSError):
    """A connection beyond this machine was tried."""


def install() -> None:
    """Put the guard in place for the rest of the process. Python asks it before each look-up and each connection."""
    if not hasattr(sys, "lmexplain_guard"):
        sys.lmexplain_guard = True      # type: ignore[attr-defined]
        sys.addaudithook(_audit)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        _check(args[0])
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg") and isinstance(args[1], tuple):
        _check(args[1][0])              # anything but a tuple is a path on this machine


def _check(host: Any) -> None:
    if not _is_local(host):
        raise NetworkRefused(f"The tests may not ask the network: {host!r} is not this machine.")


def _is_local(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    try:
        address = ipaddress.ip_address(name)
        return address.is_loopback or address.is_unspecified
    except ValueError:
        return name in ("localhost", socket.gethostname())
