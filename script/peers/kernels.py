"""Triton kernels with the structure of Triton's own tutorials: fused attention, forward, and a matrix product.

What Napkin's mappings of Triton stand for. `compile.py` reads what the compiler makes of them, `measure.py` times them.
"""

import triton
import triton.language as tl

LOG2_E = 1.4426950408889634


@triton.jit
def chunk_loop(acc, total, top, q, K, V, scale, first, last, row0,
               BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr):
    """Computes the online softmax over keys `first` to `last`; `scale` includes log2(e)."""
    K = tl.advance(K, (0, first))
    V = tl.advance(V, (first, 0))
    rows = row0 + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    for start in range(first, last, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        s = tl.dot(q, tl.load(K))
        if MASKED:
            seen = rows[:, None] >= start + columns[None, :]
            s = s * scale + tl.where(seen, 0, -1.0e6)
            new_top = tl.maximum(top, tl.max(s, 1))
            s -= new_top[:, None]
        else:
            new_top = tl.maximum(top, tl.max(s, 1) * scale)
            s = s * scale - new_top[:, None]
        p = tl.math.exp2(s)
        part = tl.sum(p, 1)
        fade = tl.math.exp2(top - new_top)
        total = total * fade + part
        acc = acc * fade[:, None]
        v = tl.load(V)
        acc = tl.dot(p.to(v.dtype), v, acc)
        top = new_top
        K = tl.advance(K, (0, BLOCK_N))
        V = tl.advance(V, (BLOCK_N, 0))
    return acc, total, top


@triton.jit
def attention(Q, K, V, O, L, scale, stride, length,
              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """Computes a block's BLOCK_M queries of a head over all its keys; under a causal mask the diagonal has its own
    loop."""
    head = tl.program_id(1)
    row0 = tl.program_id(0) * BLOCK_M
    base = head.to(tl.int64) * stride
    q_block = tl.make_block_ptr(Q + base, (length, D), (D, 1), (row0, 0), (BLOCK_M, D), (1, 0))
    o_block = tl.make_block_ptr(O + base, (length, D), (D, 1), (row0, 0), (BLOCK_M, D), (1, 0))
    k_block = tl.make_block_ptr(K + base, (D, length), (1, D), (0, 0), (D, BLOCK_N), (0, 1))
    v_block = tl.make_block_ptr(V + base, (length, D), (D, 1), (0, 0), (BLOCK_N, D), (1, 0))
    top = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    log2_scale = scale * 1.4426950408889634
    q = tl.load(q_block)
    if CAUSAL:
        acc, total, top = chunk_loop(acc, total, top, q, k_block, v_block, log2_scale, 0, row0, row0,
                                     BLOCK_M, BLOCK_N, False)
        last = tl.minimum(row0 + BLOCK_M, length)
        acc, total, top = chunk_loop(acc, total, top, q, k_block, v_block, log2_scale, row0, last, row0,
                                     BLOCK_M, BLOCK_N, True)
    else:
        acc, total, top = chunk_loop(acc, total, top, q, k_block, v_block, log2_scale, 0, length, row0,
                                     BLOCK_M, BLOCK_N, False)
    tl.store(L + head * length + row0 + tl.arange(0, BLOCK_M), top + tl.math.log2(total))
    acc = acc / total[:, None]
    tl.store(o_block, acc.to(O.dtype.element_ty))


@triton.jit
def encoder(Q, K, V, O, scale, starts, lengths, row_q, row_k, row_v, row_o, head_q, head_k, head_v, head_o,
            GROUP: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, D_PADDED: tl.constexpr):
    """Computes attention of an encoder over packed sequences as SGLang does: every load masked by the length and the
    head's width, every chunk's scores too, O divided by its sum in each iteration."""
    batch, head, row0 = tl.program_id(0), tl.program_id(1), tl.program_id(2) * BLOCK
    length, start = tl.load(lengths + batch), tl.load(starts + batch)
    rows, keys, width = row0 + tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, D_PADDED)
    q_at = Q + (start + rows[:, None]) * row_q + head * head_q + width[None, :]
    k_at = K + keys[None, :] * row_k + head // GROUP * head_k + width[:, None]
    v_at = V + keys[:, None] * row_v + head // GROUP * head_v + width[None, :]
    inside = width < D
    q = tl.load(q_at, mask=(rows[:, None] < length) & inside[None, :], other=0.0)
    top = tl.zeros([BLOCK], dtype=tl.float32) - float("inf")
    total = tl.zeros([BLOCK], dtype=tl.float32)
    acc = tl.zeros([BLOCK, D_PADDED], dtype=tl.float32)
    last = tl.where(row0 < length, length, 0)
    for first in range(0, last, BLOCK):
        first = tl.multiple_of(first, BLOCK)
        k = tl.load(k_at + (start + first) * row_k, mask=(first + keys[None, :] < length) & inside[:, None], other=0.0)
        s = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
        s += tl.dot(q, k)
        s *= scale
        s += tl.where(first + keys[None, :] < length, 0, float("-inf"))
        top_here = tl.max(s, 1)
        p = tl.exp(s - top_here[:, None])
        part = tl.sum(p, 1)
        new_top = tl.maximum(top, top_here)
        fade, rise = tl.exp(top - new_top), tl.exp(top_here - new_top)
        new_total = fade * total + rise * part
        p = p * (rise / new_total)[:, None]
        acc = acc * (total / new_total * fade)[:, None]
        v = tl.load(v_at + (start + first) * row_v, mask=(first + keys[:, None] < length) & inside[None, :], other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        total, top = new_total, new_top
    o_at = O + (start + rows[:, None]) * row_o + head * head_o + width[None, :]
    tl.store(o_at, acc.to(O.dtype.element_ty), mask=(rows[:, None] < length) & inside[None, :])


@triton.jit
def matmul(A, B, C, M, N, K, stride_a, stride_b, stride_c,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    """Computes a block's tile of C = A B; tiles go in groups of GROUP_M rows, so that neighbours share data in the
    L2."""
    tile = tl.program_id(0)
    rows_of_tiles = tl.cdiv(M, BLOCK_M)
    columns_of_tiles = tl.cdiv(N, BLOCK_N)
    group = tile // (GROUP_M * columns_of_tiles)
    rows_here = min(rows_of_tiles - group * GROUP_M, GROUP_M)
    within = tile % (GROUP_M * columns_of_tiles)
    row = group * GROUP_M + within % rows_here
    column = within // rows_here
    rows = (row * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (column * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    depth = tl.arange(0, BLOCK_K)
    a_at = A + rows[:, None] * stride_a + depth[None, :]
    b_at = B + depth[:, None] * stride_b + columns[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_at, mask=depth[None, :] < K - step * BLOCK_K, other=0.0)
        b = tl.load(b_at, mask=depth[:, None] < K - step * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_at += BLOCK_K
        b_at += BLOCK_K * stride_b
    rows = row * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = column * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * stride_c + columns[None, :], acc.to(C.dtype.element_ty), mask=inside)
