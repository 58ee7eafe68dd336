"""What an experiment gives back: numbers with their spread, and the verdict that they carry.

Nothing here draws or prints. A view draws a result, a claim is judged by it.
"""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, SupportsFloat, TypeVar

from lmexplain.words import word

__all__ = ["JUDGEMENTS", "LENGTHS", "Experiment", "Measured", "Verdict", "choose"]

JUDGEMENTS = ("correct", "imprecise", "wrong", "depends")
"""What a claim can turn out to be; `Verdict.word` names it in either language."""

LENGTHS = ("reduced", "quick", "thorough")
"""How long an experiment may run: 6 s (the sweep), 60 s (a reader's), as long as it takes (the ledger's)."""


Setting = TypeVar("Setting")


def choose(length: str, *, reduced: Setting, quick: Setting, thorough: Setting) -> Setting:
    """The setting that belongs to a length. ValueError for a length that is none of the three."""
    if length not in LENGTHS:
        raise ValueError(f"length={length!r} is not known; choose one of {', '.join(LENGTHS)}")
    return {"reduced": reduced, "quick": quick, "thorough": thorough}[length]


@dataclass(frozen=True)
class Measured:
    """One quantity, measured once (an exact count) or several times (one value per seed).

    `values` are kept as they came; `mean`, `spread` (the sample standard deviation), `low` and `high` are
    derived. Shares are given in percent with the unit "%". Infinity is a value (a run that diverged), NaN is not.
    """

    values: tuple[float, ...]
    unit: str = ""
    what: str = ""
    unit_zh: str = ""
    what_zh: str = ""

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError(f"nothing was measured for {self.what or 'this quantity'}; give at least one value")
        if any(math.isnan(value) for value in self.values):
            raise ValueError(
                f"{self.what or 'a measured value'} is NaN; give infinity, or count such runs as a share of all runs"
            )

    @classmethod
    def of(
        cls,
        values: SupportsFloat | Iterable[SupportsFloat],
        unit: str = "",
        what: str = "",
        *,
        unit_zh: str = "",
        what_zh: str = "",
    ) -> "Measured":
        """From one number, or any iterable of them (list, generator, 1-d array or tensor)."""
        if isinstance(values, str):
            raise TypeError(f"{values!r} is text; give numbers")
        try:
            each: tuple[SupportsFloat, ...] = tuple(values)  # type: ignore[arg-type]
        except TypeError:  # one number, or a tensor without axes
            each = (values,)  # type: ignore[assignment]
        return cls(tuple(float(value) for value in each), unit, what, unit_zh, what_zh)

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float:
        """Sample standard deviation; 0 for one value, infinite where some runs diverged and others did not."""
        if self.n == 1 or self.low == self.high:
            return 0.0
        return statistics.stdev(self.values) if math.isfinite(self.high - self.low) else math.inf

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    @property
    def number(self) -> str:
        """`2,035,456` · `10.4 ± 0.5`: the spread sets the digits, and is left out where it is 0."""
        if self.spread == 0:
            return _short(self.mean)
        if not math.isfinite(self.spread) or not math.isfinite(self.mean):
            return self.range
        if self.spread < 1e-3 * abs(self.mean):
            return f"{_short(self.mean)} ± {self.spread:.1g}"
        digits = max(0, 1 - math.floor(math.log10(self.spread)))  # two digits of the spread
        return f"{self.mean:,.{digits}f} ± {self.spread:,.{digits}f}"

    @property
    def range(self) -> str:
        """`7–8`, from the lowest to the highest; one number where all are equal."""
        return _short(self.low) if self.low == self.high else f"{_short(self.low)}–{_short(self.high)}"

    def text(self, lang: str = "en") -> str:
        """Number, unit and, for several values, how many: `10.4 ± 0.5 layers (5 runs)`."""
        unit = (self.unit_zh or self.unit) if lang == "zh" else self.unit
        joined = f"{self.number}{unit}" if unit in ("%", "×") else f"{self.number} {unit}".rstrip()
        if self.n == 1:
            return joined
        return word("experiment.runs", lang, number=joined, runs=self.n)

    def label(self, lang: str = "en") -> str:
        """What was measured, in words; English where there is no Chinese."""
        return (self.what_zh or self.what) if lang == "zh" else self.what

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Verdict:
    """What the numbers say of a claim, and in one sentence why, in English and Chinese."""

    judgement: str
    because: str
    because_zh: str

    def __post_init__(self) -> None:
        if self.judgement not in JUDGEMENTS:
            raise ValueError(f"judgement={self.judgement!r} is not known; choose one of {', '.join(JUDGEMENTS)}")
        if not self.because.strip() or not self.because_zh.strip():
            raise ValueError(f"the verdict {self.judgement!r} gives no reason; write one sentence in each language")

    def word(self, lang: str = "en") -> str:
        return word(f"experiment.judgement.{self.judgement}", lang)

    def reason(self, lang: str = "en") -> str:
        return self.because_zh if lang == "zh" else self.because

    def __str__(self) -> str:
        return f"{self.judgement}: {self.because}"


class Experiment(Protocol):
    """A frozen dataclass of settings and `Measured` numbers that can judge its claim."""

    def verdict(self) -> Verdict: ...


def _short(value: float) -> str:
    """Whole numbers in full with separators, others to four significant digits."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == round(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
