"""What the tests of attention share: inputs, comparison, and the definition as a loop."""

import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def assert_same(ours, other, what="", tolerance=1e-5):
    """max|a - b| ≤ 1e-5 · max(1, max|b|), the project's tolerance."""
    assert ours.shape == other.shape, (what, ours.shape, other.shape)
    ours, other = ours.detach(), other.detach()
    difference, size = float((ours - other).abs().max()), float(other.abs().max())
    assert difference <= tolerance * max(1.0, size), f"{what}: differs by {difference}"


def qkv(T, S=None, B=2, N=2, D=8, seed=0, dtype=torch.float32):
    """Leaves (B, N, T, D), (B, N, S, D), (B, N, S, D), laid out as projections give them."""
    source = torch.Generator().manual_seed(seed)
    lengths = (T, S or T, S or T)
    return [torch.randn(B, n, N, D, generator=source, dtype=dtype).transpose(1, 2).requires_grad_() for n in lengths]


def run(attend, q, k, v, grid, also=(), **options):
    """Output and the gradients of q, k, v and whatever else, for one fixed direction."""
    out = attend(q, k, v, grid, **options)
    direction = torch.randn(out.shape, generator=torch.Generator().manual_seed(1), dtype=out.dtype)
    return out, *torch.autograd.grad(out, (q, k, v, *also), direction, retain_graph=True)


def loop(q, k, v, allowed, score=None):
    """Attention by its definition, one number at a time; `allowed` and `score` take a pair (b, h, t, s)."""
    q, k, v = (x.detach() for x in (q, k, v))
    B, N, T, D = q.shape
    out = torch.zeros(B, N, T, v.shape[3])
    for b in range(B):
        for h in range(N):
            for t in range(T):
                powers = {s: math.exp(score(b, h, t, s) if score else float(q[b, h, t] @ k[b, h, s]) / math.sqrt(D))
                          for s in range(k.shape[2]) if allowed(b, h, t, s)}  # fmt: skip
                for s, power in powers.items():
                    out[b, h, t] += power / sum(powers.values()) * v[b, h, s]
    return out


class Seen(TorchDispatchMode):
    """Watches every tensor that is made, in forward and in backward."""

    def __init__(self):
        super().__init__()
        self.largest, self.total, self.types, self.calls = 0, 0, set(), []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        self.calls.append(name)
        for x in tree_leaves(result):
            if isinstance(x, torch.Tensor):
                self.types.add(x.dtype)
                if not func.is_view and not name.endswith("_"):     # views and what is done in place make nothing new
                    self.largest, self.total = max(self.largest, x.numel()), self.total + x.numel()
        return result
