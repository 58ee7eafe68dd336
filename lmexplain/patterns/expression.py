"""Patterns as text and as JSON: what the command line, a page's link and the browser speak. Nothing is evaluated."""

from __future__ import annotations

import ast
import base64
import binascii
import inspect
import math
import operator
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np
import torch

from . import papers, primitives
from .base import SPEC_VERSION, And, Not, Or, Pattern
from .given import Permutation

__all__ = ["EXAMPLES", "FUNCTIONS", "call", "from_spec", "parse"]

FUNCTIONS: dict[str, Callable[..., Pattern]] = {
    name: getattr(module, name) for module in (primitives, papers) for name in module.__all__
}
"""The whole vocabulary of the expression language."""

EXAMPLES = {
    "bigbird": "bigbird(r=1, block=4)", "bigbird_tokens": "bigbird_tokens(r=2)", "causal": "causal()",
    "cells": "cells((0, 1), (2, 0))", "full": "full()", "global_tokens": "global_tokens(0, -1)",
    "in_blocks": "in_blocks(4, window(3))", "longformer": "longformer(8, tokens=(0, 1))",
    "memory": "memory(4)", "padding": "padding([1, 1, 1, 0])", "per_head": "per_head(window(4), causal())",
    "permutation": "permutation([2, 0, 1])", "prefix": "prefix(4)", "random": "random(2, seed=7)",
    "random_blocks": "random_blocks(1, block=4)", "segments": "segments([0, 0, 1, 1])",
    "table": "table([[1, 0], [1, 1]])", "transformer_xl": "transformer_xl(4)",
    "unilm": "unilm('sequence-to-sequence', source=4)", "window": "window(4, dilation=2)",
    "xlnet": "xlnet([2, 0, 1])",
}  # fmt: skip
"""One way to call each."""

MOST_CHARACTERS, MOST_DEPTH, MOST_PLACES = 100_000, 50, 4_000_000


def parse(text: str) -> Pattern:
    """Read an expression such as `window(4) | global_tokens(0)`: calls of the pattern functions, `|`, `&`, `~`.

    The text is read as a syntax tree and walked; nothing of it is ever executed. Raises ValueError with the place and
    what may stand there.
    """
    if not isinstance(text, str):
        raise ValueError(f"a pattern is read from text, not from {text!r}; write for example \"window(4)\"")
    if not text.strip():
        raise ValueError("the pattern is empty; write for example window(4) | global_tokens(0)")
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"the pattern has {len(text)} characters, the limit is {MOST_CHARACTERS}; write it shorter")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (MemoryError, RecursionError):
        raise ValueError(f"{_short(text)} is nested too deep or has too many parts; write it flatter") from None
    except (SyntaxError, ValueError) as error:
        place = f" at character {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise ValueError(f"cannot read {_short(text)}{place}; write for example window(4) | global_tokens(0)") from None
    return _pattern(tree, 0)


def _pattern(node: ast.expr, depth: int) -> Pattern:
    if depth > MOST_DEPTH:
        raise ValueError(f"the pattern is nested deeper than {MOST_DEPTH}; write it flatter")
    match node:
        case ast.BinOp(op=ast.BitOr() | ast.BitAnd() as op):
            *parts, first = _chain(node, type(op))                         # from the last to the first
            join = operator.or_ if isinstance(op, ast.BitOr) else operator.and_
            return reduce(join, (_pattern(part, depth + 1) for part in (first, *reversed(parts))))
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return ~_pattern(operand, depth + 1)
        case ast.Attribute(value=value, attr="content" | "query" as stream):
            inner = _pattern(value, depth + 1)
            if isinstance(inner, Permutation):
                return getattr(inner, stream)
            raise ValueError(f".{stream} belongs to permutation(…), not to {inner.name}")
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return _call(name, args, keywords, depth)
    words = ", ".join(sorted(FUNCTIONS))
    raise ValueError(f"{_short(ast.unparse(node))} is not a pattern; use {words} with |, & and ~")


def _chain(node: ast.expr, op: type[ast.operator]) -> Iterator[ast.expr]:
    """a | b | c as c, b, a: a long row of parts is not a deep one."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, op):
        yield node.right
        node = node.left
    yield node


def _call(name: str, args: list[ast.expr], keywords: list[ast.keyword], depth: int) -> Pattern:
    if name not in FUNCTIONS:
        raise ValueError(f"there is no pattern {name!r}; there are {', '.join(sorted(FUNCTIONS))}")
    values = [_value(arg, depth + 1) for arg in args]
    named = {str(k.arg): _value(k.value, depth + 1) for k in keywords if k.arg}
    if len(named) < len(keywords):
        raise ValueError(f"{name}: ** is not understood; name each parameter")
    _fit(name, values, named)
    try:
        return FUNCTIONS[name](*values, **named)
    except TypeError as error:
        raise ValueError(f"{name}: {str(error).removeprefix(name + '() ')}") from None


def _fit(name: str, values: list[Any], named: dict[str, Any]) -> None:
    """ValueError where a function can't be called so: what is wrong, what it takes, and an example."""
    signature = inspect.signature(FUNCTIONS[name])
    try:
        signature.bind(*values, **named)
        return
    except TypeError:
        known = list(signature.parameters)
    if unknown := [repr(key) for key in named if key not in known]:
        wrong = f"there is no parameter {', '.join(unknown)}"
    elif twice := [key for key in named if key in known[:len(values)]]:
        wrong = f"{twice[0]} is given twice"
    elif len(values) > len(known):
        wrong = f"{len(values)} values, but it takes {len(known) or 'none'}"
    else:
        needed = [key for key, each in signature.parameters.items() if each.default is each.empty]
        wrong = f"{', '.join(key for key in needed[len(values):] if key not in named)} is missing"
    raise ValueError(f"{name}: {wrong}; it is called {call(name)}, for example {EXAMPLES[name]}")


def call(name: str) -> str:
    """A function of the vocabulary with its parameters: `window(width, dilation=1)`."""
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    return f"{name}({', '.join(str(each.replace(annotation=each.empty)) for each in parameters)})"


def _value(node: ast.expr, depth: int) -> Any:
    """A number, word, truth value, list or tuple of these, or a pattern (an argument of per_head and in_blocks)."""
    match node:
        case ast.Constant(value=bool() | int() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if not isinstance(value, bool):
            return -value
        case ast.List(elts=elements):
            return [_value(element, depth + 1) for element in elements]
        case ast.Tuple(elts=elements):
            return tuple(_value(element, depth + 1) for element in elements)
        case ast.Constant() | ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            raise ValueError(f"{_short(ast.unparse(node))} is not understood; give whole numbers, or patterns")
    return _pattern(node, depth)


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def from_spec(spec: Any) -> Pattern:
    """The pattern of a JSON tree written by `pattern.spec`. Raises ValueError naming what is not understood."""
    if not isinstance(spec, dict):
        raise ValueError(f"a pattern's spec is a JSON object, not {type(spec).__name__}; write it with pattern.spec")
    version = spec.get("version", SPEC_VERSION)
    if type(version) is not int or version != SPEC_VERSION:
        raise ValueError(f"this spec has version {version!r}, this lmexplain reads {SPEC_VERSION}; update lmexplain")
    return _from_node({key: value for key, value in spec.items() if key != "version"}, 0)


def _from_node(node: Any, depth: int) -> Pattern:
    if not isinstance(node, dict) or not isinstance(node.get("op"), str):
        raise ValueError(f"{_short(repr(node))} is not a pattern; each node is an object with an \"op\"")
    if depth > MOST_DEPTH:
        raise ValueError(f"the pattern is nested deeper than {MOST_DEPTH}; write it flatter")
    fields = dict(node)
    op, title = fields.pop("op"), fields.pop("title", "")
    if not isinstance(title, str):
        raise ValueError(f"{op}: the title must be text, not {title!r}")
    try:
        pattern = _build(op, fields, depth)
    except (TypeError, KeyError) as error:
        raise ValueError(f"{op}: the parameters {_short(repr(fields))} do not fit ({error})") from None
    return pattern.titled(title) if title else pattern


def _build(op: str, fields: dict[str, Any], depth: int) -> Pattern:
    match op:
        case "or" | "and":
            (parts,) = _only(fields, "parts")
            if not isinstance(parts, list) or not parts:
                raise ValueError(f"{op}: parts must be a list of at least one pattern, not {_short(repr(parts))}")
            return (Or if op == "or" else And)(tuple(_from_node(part, depth + 1) for part in parts))
        case "not":
            (part,) = _only(fields, "part")
            return Not(_from_node(part, depth + 1))
        case "per_head":
            (heads,) = _only(fields, "heads")
            return primitives.per_head(*(_from_node(head, depth + 1) for head in heads))
        case "in_blocks":
            size, part = _only(fields, "size", "part")
            return primitives.in_blocks(size, _from_node(part, depth + 1))
        case "table":
            shape, bits, block = _only(fields, "shape", "bits", "block")
            return primitives.table(_unpacked(shape, bits), block)
        case "cells":
            (pairs,) = _only(fields, "pairs")
            return primitives.cells(*pairs)
        case "global_tokens" if "positions" in fields:
            (positions,) = _only(fields, "positions")
            return primitives.global_tokens(*positions)
    if op not in primitives.__all__:
        words = ", ".join(sorted(primitives.__all__))
        raise ValueError(f"there is no pattern {op!r}; there are {words}, or, and, not")
    return FUNCTIONS[op](**fields)


def _only(fields: dict[str, Any], *names: str) -> list[Any]:
    surplus = set(fields) - set(names)
    if surplus:
        raise KeyError(f"surplus {', '.join(sorted(surplus))}")
    return [fields[name] for name in names]


def _unpacked(shape: Any, bits: Any) -> torch.Tensor:
    """The bits of a table, eight to a byte, the first the highest."""
    if not isinstance(shape, list) or not all(type(size) is int and size > 0 for size in shape):
        raise ValueError(f"table: shape {_short(repr(shape))} is not a list of sizes; write the spec with pattern.spec")
    sizes, count = shape, math.prod(shape)
    if not 0 < count <= MOST_PLACES:
        raise ValueError(f"table: shape {shape} has {count} places, the limit is {MOST_PLACES}; give blocks")
    try:
        raw = base64.b64decode(bits, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ValueError("table: the bits are not base64; write the spec with pattern.spec") from None
    if len(raw) != -(-count // 8):
        raise ValueError(f"table: {len(raw)} bytes for {count} places; give {-(-count // 8)}")
    flat = np.unpackbits(np.frombuffer(raw, dtype=np.uint8), count=count)
    return torch.from_numpy(flat.reshape(sizes).astype(bool))


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:60] + " … " + text[-16:]
