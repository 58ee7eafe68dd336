"""A result as JSON and back, and the list of its numbers. Serves every experiment, since all are dataclasses of
`Measured` numbers, settings (numbers and words) and tuples of these."""

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from lmexplain.experiments.measure import Measured

__all__ = ["from_json", "numbers", "to_json"]

Result = TypeVar("Result")


def numbers(result: Any) -> tuple[Measured, ...]:
    """Every `Measured` of a result, in the order in which its class names them."""
    found: list[Measured] = []
    for field in fields(result):
        value = getattr(result, field.name)
        found += [each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, Measured)]
    return tuple(found)


def to_json(result: Any) -> dict[str, Any]:
    """A dict that `json` writes. TypeError for anything but a dataclass of numbers, words, `Measured` and tuples."""
    if not is_dataclass(result) or isinstance(result, type):
        raise TypeError(f"{result!r} is not a result; experiments return a frozen dataclass")
    return {field.name: _pack(getattr(result, field.name)) for field in fields(result)}


def from_json(kind: type[Result], data: dict[str, Any]) -> Result:
    """The result that `to_json` wrote; TypeError or ValueError where `data` does not fit `kind`."""
    return kind(**{name: _unpack(value) for name, value in data.items()})


def _pack(value: Any) -> Any:
    if isinstance(value, Measured):
        return {field.name: _pack(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_pack(each) for each in value]
    if isinstance(value, (int, float, str)):
        return value
    raise TypeError(f"{value!r} cannot be recorded; a result holds numbers, words, Measured and tuples of these")


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        return Measured(**{name: _unpack(each) for name, each in value.items()})
    return tuple(_unpack(each) for each in value) if isinstance(value, list) else value
