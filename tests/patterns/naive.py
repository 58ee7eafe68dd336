"""Every primitive once more, as a rule for one query and one key, written from the sentence of its paper.

Nothing here calls the package: plain integers, plain loops. `n` is the number of keys, `start` the first query's place.
"""

import base64


def mixed(x):
    x = (x + 0x9E3779B9) % 2**32
    x = ((x ^ (x >> 16)) * 0x7FEB352D) % 2**32
    x = ((x ^ (x >> 15)) * 0x846CA68B) % 2**32
    return x ^ (x >> 16)


def floyd(seed, place, m, r):
    """r distinct numbers below m: Floyd's sampling."""
    taken = []
    for j in range(m - min(r, m), m):
        i = j - (m - min(r, m))
        t = mixed(i ^ mixed(place ^ mixed(seed % 2**32))) % (j + 1)
        taken.append(j if t in taken else t)
    return taken


def rule(node, q, k, n, start, b=0, h=0):
    """May the query at position q attend to the key at k, by the JSON tree of a pattern?"""
    op = node["op"]
    match op:
        case "full":
            return True
        case "causal":
            return k <= q
        case "window":
            d = node["dilation"]
            return any(k == q + d * m for m in range(-(node["width"] // 2), node["width"] // 2 + 1))
        case "global_tokens" if "where" in node:
            marks = sample(node["where"], b)
            return bool(marks[q] or marks[k])
        case "global_tokens":
            chosen = [p if p >= 0 else n + p for p in node["positions"]]
            return q in chosen or k in chosen
        case "random":
            return k in floyd(node["seed"], q, n, node["r"])
        case "random_blocks":
            blocks = -(-n // node["block"])
            i = q // node["block"]
            if i in (0, blocks - 1):
                return False
            free = [j for j in range(1, blocks - 1) if j not in (i - 1, i, i + 1)]
            return k // node["block"] in [free[c] for c in floyd(node["seed"], i, len(free), node["r"])]
        case "segments":
            ids = sample(node["ids"], b)
            return ids[q] == ids[k]
        case "prefix":
            p = node["length"] if isinstance(node["length"], int) else node["length"][b]
            return (k < p and q < p) or k <= q
        case "permutation":
            order = sample(node["order"], b)
            if k < start:
                return False
            step_q, step_k = order.index(q - start), order.index(k - start)
            return step_k < step_q or (step_k == step_q and node["stream"] == "content")
        case "memory":
            return k < start and (node["length"] is None or k >= start - node["length"])
        case "padding":
            real = sample(node["real"], b)
            return bool(real[k] and (real[q] or not node["rows"]))
        case "table":
            bits = "".join(f"{byte:08b}" for byte in base64.b64decode(node["bits"]))
            *lead, rows, columns = node["shape"]
            B, N = (1, 1, *lead)[-2:]
            place = ((b % B * N + h % N) * rows + (q - start) // node["block"]) * columns + k // node["block"]
            return bits[place] == "1"
        case "cells":
            return [q, k] in node["pairs"]
        case "per_head":
            return rule(node["heads"][h], q, k, n, start, b, h)
        case "in_blocks":
            s = node["size"]
            return rule(node["part"], q // s, k // s, -(-n // s), start // s, b, h)
        case "or":
            return any(rule(part, q, k, n, start, b, h) for part in node["parts"])
        case "and":
            return all(rule(part, q, k, n, start, b, h) for part in node["parts"])
        case "not":
            return not rule(node["part"], q, k, n, start, b, h)
    raise AssertionError(f"no naive rule for {op}")


def sample(values, b):
    return values[b] if isinstance(values[0], list) else values


def naive(pattern, grid):
    """The whole grid as nested lists, sample by sample, head by head."""
    B, N = grid.lead or (1, 1)
    start = grid.start or 0
    cells = [[[[rule(pattern.spec, t + start, k, grid.S, start, b, h) for k in range(grid.S)]
               for t in range(grid.T)] for h in range(N)] for b in range(B)]  # fmt: skip
    return cells if grid.lead else cells[0][0]
