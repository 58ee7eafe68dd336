"""What all models share: a frozen configuration, checked inputs, grids for the layers, a head, an `Output`."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from ..layers import Head, MultipleChoice, Output, Pooler, Run, activation
from ..layers.heads import check_tensors
from ..patterns import Grid, Pattern, full, padding
from .inputs import real_tokens

__all__ = ["AttentionConfig", "Config", "Model", "layered"]


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes that every model has, under the transformers library's names.

    Raises ValueError where sizes do not fit each other.
    """

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Published sizes by their name; what is left out is the default."""

    vocab_size: int = 30522
    hidden_size: int = 768                      # H
    initializer_range: float = 0.02             # standard deviation of new weights
    pad_token_id: int | None = 0
    tie_word_embeddings: bool = True            # a head's decoder is the token table
    num_labels: int = 2

    @classmethod
    def published(cls, name: str, **smaller: Any) -> Self:
        """The published configuration of this name, with some fields replaced: `num_hidden_layers=2` shrinks it.

        An owner before the name ("google-bert/…") is understood. Raises ValueError for an unknown name or field.
        """
        known = cls.PUBLISHED.get(name, cls.PUBLISHED.get(name.rpartition("/")[2]))
        if known is None:
            near = difflib.get_close_matches(name, cls.PUBLISHED, n=3, cutoff=0.4) or list(cls.PUBLISHED)
            raise ValueError(f"{cls.__name__}: no published size {name!r}; there is {', '.join(near)}")
        unknown = smaller.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"{cls.__name__} has no {', '.join(sorted(unknown))}; `{cls.__name__}()` shows its fields")
        return cls(**{**known, **smaller})

    def __post_init__(self) -> None:
        for name in ("vocab_size", "hidden_size", "num_labels"):
            self.check(name, getattr(self, name) >= 1, "at least 1")
        self.check("initializer_range", self.initializer_range >= 0, "at least 0")
        self.check("pad_token_id", self.pad_token_id is None or 0 <= self.pad_token_id < self.vocab_size,
                   f"one of the {self.vocab_size} tokens, or None")  # fmt: skip

    def check(self, name: str, holds: bool, want: str) -> None:
        """Raises ValueError that names the field, its value and the limit, unless it holds."""
        if not holds:
            raise ValueError(f"{type(self).__name__}: {name} is {getattr(self, name)!r}; it must be {want}")


@dataclass(frozen=True, kw_only=True)
class AttentionConfig(Config):
    """Sizes and rates of a stack of attention layers; BERT's are the defaults."""

    num_hidden_layers: int = 12                 # L
    num_attention_heads: int = 12               # N
    intermediate_size: int = 3072               # width inside the feed-forward sublayer
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    layer_norm_eps: float = 1e-12
    classifier_dropout: float | None = None     # None: hidden_dropout_prob

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings"):
            self.check(name, getattr(self, name) >= 1, "at least 1")
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            self.check(name, 0 <= getattr(self, name) < 1, "0 to below 1")
        self.check("classifier_dropout", 0 <= (self.classifier_dropout or 0.0) < 1, "0 to below 1, or None")
        self.check("layer_norm_eps", self.layer_norm_eps > 0, "above 0")
        self.check("hidden_size", self.hidden_size % self.num_attention_heads == 0,
                   f"a multiple of the {self.num_attention_heads} heads")  # fmt: skip
        activation(self.hidden_act)


class Model(nn.Module):
    """A model with or without a head. `head` is one of `heads`, named as in the transformers library's `…ForMaskedLM`.

    A subclass builds `embeddings` and `layers`, then calls `finish`. A forward pass carries nothing into the next one.
    """

    config: Any                             # of the subclass's own class
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {}
    embeddings: Any
    layers: nn.ModuleList
    has_pooler: ClassVar[bool] = True       # without a head
    pooled_at: ClassVar[int] = 0            # where [CLS] stands
    pooler: nn.Module | None
    head: Head | None
    head_name: str | None
    published: Mapping[str, Any] = {}       # config.json of the folder it was loaded from

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config

    def finish(self, head: str | None, pooler: bool | None = None) -> None:
        """Adds the head and a pooler, where the head or `pooler` asks for one; draws the weights."""
        if head is not None and head not in self.heads:
            raise ValueError(
                f"{type(self).__name__} has no head {head!r}; choose one of {', '.join(self.heads)}, or None"
            )
        self.head_name = head
        self.head = None if head is None else self.heads[head](self)
        wanted = self.has_pooler if self.head is None else self.head.pooled
        wanted = wanted if pooler is None else pooler
        self.pooler = Pooler(self.config.hidden_size, self.pooled_at) if wanted else None
        self.apply(self.init_weights)

    def init_weights(self, module: nn.Module) -> None:
        """Normal weights of `initializer_range`, no bias; norms that change nothing (Devlin et al. 2019's code)."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.initializer_range)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            with torch.no_grad():
                module.weight[module.padding_idx] = 0.0

    def classifier(self) -> tuple[int, int, float]:
        """Width, classes and dropout of a classification head."""
        c = self.config
        dropout = c.hidden_dropout_prob if c.classifier_dropout is None else c.classifier_dropout
        return c.hidden_size, c.num_labels, dropout

    # ── who attends to whom ───────────────────────────────────────────────────────────────────────────────────────

    def pattern(self) -> Pattern:
        """Who may attend to whom, padding apart."""
        return full()

    def grids(
        self, queries: int, keys: int | None = None, real: Tensor | None = None,
        pattern: Pattern | Sequence[Pattern] | None = None,
    ) -> tuple[Grid, ...]:  # fmt: skip
        """A grid for each layer, bottom to top: `pattern`, one for all layers or one for each, else the model's own.

        `real` (B, S), True at real tokens, closes the padding's keys.
        """
        own = self.pattern() if pattern is None else pattern
        return layered(own, len(self.stack()), queries, keys, real)

    # ── one pass ──────────────────────────────────────────────────────────────────────────────────────────────────

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As `forward`. With a MultipleChoice head inputs may be (B, choices, T): each choice runs by itself."""
        if not isinstance(self.head, MultipleChoice):
            return super().__call__(*args, **kwargs)
        return self.head.compare(super().__call__, *args, **kwargs)

    def stack(self) -> Sequence[nn.Module]:
        """The layers in the order in which they run, a shared one as often as it does."""
        return list(self.layers)

    def walk(self, x: Tensor, grids: Sequence[Grid], run: Run) -> list[Tensor]:
        """x (B, T, H) through the layers -> L + 1 states."""
        states = [x]
        for layer, grid in zip(self.stack(), grids, strict=True):
            states.append(layer(states[-1], grid, run))
        return states

    def answer(self, states: Sequence[Tensor], grids: tuple[Grid, ...], run: Run, **targets: Tensor | None) -> Output:
        """The output of a pass, through the head if there is one."""
        output = Output(
            hidden_states=tuple(states),
            attentions=None if run.weights is None else tuple(run.weights),
            past_key_values=None if run.present is None else tuple(run.present),
            grids=grids,
            **run.made,
        )
        if self.pooler is not None:
            output = replace(output, pooler_output=self.pooler(output.last_hidden_state))
        given = {name: target for name, target in targets.items() if target is not None}
        return output if self.head is None else self.head(output, **given)

    def check_targets(self, shape: tuple[int, int], targets: Mapping[str, Tensor | None]) -> None:
        """Raises ValueError unless the head takes these targets for an input (B, T); before compute."""
        given = {name: target for name, target in targets.items() if target is not None}
        if not given or torch.compiler.is_compiling():
            return
        if self.head is None:
            raise ValueError(
                f"{', '.join(given)} given to a model without a head; make it with one of {', '.join(self.heads)}"
            )
        known = [name for name in inspect.signature(self.head.check).parameters if name != "shape"]
        unknown = given.keys() - set(known)
        if unknown:
            raise ValueError(f"{self.head_name} takes {', '.join(known)}, not {', '.join(sorted(unknown))}")
        check_tensors(given)
        self.head.check(shape, **given)

    def real(self, attention_mask: Tensor | None, shape: tuple[int, int]) -> Tensor | None:
        """The mask as (B, S) bool, True at real tokens; None where all are."""
        return real_tokens(attention_mask, shape)


def layered(
    pattern: Pattern | Sequence[Pattern], layers: int, queries: int, keys: int | None = None,
    real: Tensor | None = None, start: int | None | str = "end",
) -> tuple[Grid, ...]:  # fmt: skip
    """A grid for each layer; `start` as `Pattern.at` takes it: None for the keys of another sequence."""
    patterns = pattern if isinstance(pattern, Sequence) else [pattern] * layers
    if len(patterns) != layers:
        raise ValueError(f"{len(patterns)} patterns for {layers} layers; give one, or one for each layer")
    closed = None if real is None else padding(real)
    made: dict[int, Grid] = {}              # layers of one pattern share its grid
    for p in patterns:
        if id(p) not in made:
            made[id(p)] = (p if closed is None else p & closed).at(queries, keys, start)
    return tuple(made[id(p)] for p in patterns)
