"""Text from a causal model or a decoder, token by token: greedy, or sampled from a generator of one's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..layers import AdaptiveSoftmax, CausalLM, Output, Prediction
from .awd_lstm import AwdLstm
from .base import Model
from .inputs import check_asked, check_ids, real_tokens, shape_of
from .transformer import Transformer
from .transformer_xl import TransformerXl

__all__ = ["generate", "positions"]


def positions(attention_mask: Tensor) -> Tensor:
    """(B, S) of bool or 0 and 1 -> (B, S) places that count real tokens alone; padding before them stands at 0."""
    return (attention_mask.long().cumsum(1) - 1).clamp(min=0)


@torch.no_grad()
def generate(
    model: Model, input_ids: Tensor, attention_mask: Tensor | None = None, *, max_new_tokens: int = 20,
    do_sample: bool = False, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None,
    generator: torch.Generator | None = None, eos_token_id: int | None = None, pad_token_id: int | None = None,
    use_cache: bool = True, langs: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Prompts (B, T), padded on the left -> (B, T + at most `max_new_tokens`), the prompts and what follows them.

    To a model with an encoder they are sources (B, S), padded on either side -> (B, 1 + at most `max_new_tokens`), the
    start token and the target.
    Greedy: the likeliest token each time. `do_sample`: drawn with `generator` from softmax(logits / temperature), of
    the `top_k` likeliest tokens, and of the fewest that hold `top_p` of the probability.
    A row ends at `eos_token_id`, and is then filled with `pad_token_id` (where not given: the model's, else
    `eos_token_id`); when all have ended, so does the result. `use_cache`: keep keys and values (or the
    state, or the memory) rather than compute them anew for each token; the text is the same, unless it outgrows a
    memory without `same_length`, and is then written from what is kept. The model keeps nothing.
    langs: (B,), the language of each row, where a causal XLM has several.
    Raises ValueError before any compute, where the text would outgrow the position table among others.
    """
    config = model.config
    B, _ = shape = shape_of(input_ids, None, 0)
    check_ids("input_ids", input_ids, config.vocab_size, shape, "encode the text with the model's own vocabulary")
    real = real_tokens(attention_mask, shape)
    beside = isinstance(model, Transformer)
    tokens = input_ids.new_full((B, 1), config.decoder_start_token_id).long() if beside else input_ids.long()
    real = torch.ones_like(tokens, dtype=torch.bool) if real is None or beside else real
    check_asked(max_new_tokens, config.vocab_size, eos_token_id=eos_token_id, pad_token_id=pad_token_id)
    _check(model, real, max_new_tokens)
    if use_cache and isinstance(model, TransformerXl) and model.config.mem_len == 0:
        raise ValueError("mem_len is 0, so that nothing is kept to go on from; give use_cache=False, or load the model "
                         "with a longer memory")  # fmt: skip
    _check_sampling(do_sample, temperature, top_k, top_p, generator)
    pad = next((x for x in (pad_token_id, config.pad_token_id, eos_token_id) if x is not None), 0)

    read: Any = (
        _Decoder(model, input_ids, attention_mask) if isinstance(model, Transformer)
        else _Recurrent(model) if isinstance(model, AwdLstm)
        else _Remembering(model) if isinstance(model, TransformerXl) else model
    )  # fmt: skip
    past, cached = None, 0
    ended = torch.zeros(B, dtype=torch.bool, device=tokens.device)
    for _ in range(max_new_tokens):
        cache = {"past_key_values": past, "use_cache": True} if use_cache else {}
        more = cache if langs is None else {**cache, "langs": langs[:, None]}
        output = read(tokens[:, cached:], real, position_ids=positions(real)[:, cached:], **more)
        logits = output.logits[:, -1]                                           # (B, V)
        if use_cache:
            past, cached = output.past_key_values, tokens.shape[1]
        new = _sampled(logits, temperature, top_k, top_p, generator) if do_sample else logits.argmax(1)
        new = new.masked_fill(ended, pad)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
        real = torch.cat([real, torch.ones_like(real[:, :1])], dim=1)
        if eos_token_id is not None:
            ended = ended | (new == eos_token_id)
            if bool(ended.all()):
                break
    return tokens


class _Decoder:
    """A Transformer beside one source, which is encoded once; called as a causal model is."""

    def __init__(self, model: Transformer, source: Tensor, attention_mask: Tensor | None) -> None:
        self.model, self.mask, self.encoder = model, attention_mask, model.encode(source, attention_mask)

    def __call__(self, tokens: Tensor, real: Tensor, position_ids: Tensor, **cache: Any) -> Output:
        return self.model(None, self.mask, tokens, real, self.encoder, **cache)


class _Recurrent:
    """A model whose memory of what was read is its state; called as one with a cache is."""

    def __init__(self, model: AwdLstm) -> None:
        self.model = model

    def __call__(
        self, tokens: Tensor, real: Tensor, position_ids: Tensor, past_key_values: Any = None, use_cache: bool = False
    ) -> Output:  # fmt: skip
        output = self.model(tokens, real[:, -tokens.shape[1] :], state=past_key_values)
        return replace(output, past_key_values=output.state)


class _Remembering:
    """A model whose segments go on from a memory, each new token a segment; called as one with a cache is."""

    def __init__(self, model: TransformerXl) -> None:
        self.model = model

    def __call__(
        self, tokens: Tensor, real: Tensor, position_ids: Tensor, past_key_values: Any = None, use_cache: bool = False
    ) -> Output:  # fmt: skip
        seen = tokens.shape[1] + (0 if past_key_values is None else len(past_key_values[0]))
        output = self.model(tokens, real[:, -seen:], past_key_values)       # padding stays closed in the memory
        return replace(output, past_key_values=output.mems)


def _sampled(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None, generator: torch.Generator | None
) -> Tensor:
    """(B, V) -> (B,): one token for each row, drawn from the likeliest."""
    below = (logits - logits.amax(1, keepdim=True)).float()     # so that no temperature, however low, overflows
    p, order = (below / temperature).softmax(1).sort(dim=1, descending=True, stable=True)
    if top_k is not None:
        p[:, top_k:] = 0.0
    if top_p is not None:
        p = p / p.sum(1, keepdim=True)
        p = p.masked_fill(p.cumsum(1) - p >= top_p, 0.0)    # what stands before it holds enough
    return order.gather(1, torch.multinomial(p, 1, generator=generator))[:, 0]


def _check(model: Model, real: Tensor, new: int) -> None:
    config = model.config
    beside = isinstance(model, Transformer)
    own = Prediction if beside or getattr(config, "causal", False) else CausalLM | AdaptiveSoftmax
    writes = isinstance(model.head, own)
    if not writes:
        want = next((head for head in ("ConditionalGeneration", "CausalLM") if head in model.heads), None)
        asks = f'one with "{want}"' if want else "a causal model, and its head for tokens"
        raise ValueError(f"{type(model).__name__} has head {model.head_name}; generation needs {asks}")
    if isinstance(model.head, CausalLM) and model.head.backward:
        raise ValueError("the model reads from right to left, and writes no text; load the one from left to right")
    if model.training:
        raise ValueError("the model is in training mode, where dropout makes every text another; call model.eval()")
    if not bool(real[:, -1].all()):
        row = int(real[:, -1].int().argmin())
        raise ValueError(f"row {row} ends in padding, after which no text can go on; pad on the left")
    longest, most = int(real.sum(1).max()), getattr(config, "max_position_embeddings", None)    # recurrent: no end
    if not beside and most is not None and longest + new - 1 > most:        # the last new token is not read again
        raise ValueError(
            f"a prompt of {longest} tokens and max_new_tokens={new} outgrow the position table of {most}; "
            f"shorten the prompt, or ask for at most {max(most - longest + 1, 0)}"
        )


def _check_sampling(
    do_sample: bool, temperature: float, top_k: int | None, top_p: float | None, generator: torch.Generator | None
) -> None:
    if not do_sample:
        if (temperature, top_k, top_p, generator) != (1.0, None, None, None):
            raise ValueError("temperature, top_k, top_p and generator speak of sampling; give do_sample=True, or none")
        return
    if generator is None:
        raise ValueError("sampling needs a generator=torch.Generator().manual_seed(0): the same seed, the same text")
    for name, value, holds, want in (
        ("temperature", temperature, temperature > 0, "above 0; for the likeliest token leave do_sample out"),
        ("top_k", top_k, top_k is None or isinstance(top_k, int) and top_k >= 1, "that is whole, at least 1"),
        ("top_p", top_p, top_p is None or 0 < top_p <= 1, "above 0 and at most 1"),
    ):
        if not holds:
            raise ValueError(f"{name} is {value}; give a value {want}")
