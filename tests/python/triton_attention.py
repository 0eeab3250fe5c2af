"""A flash attention kernel in Triton, as its tutorials write one; tests use it for the hooks."""

import triton
import triton.language as tl


@triton.jit
def attention(Q, K, V, Out, scale, Z, H, N_CTX, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Computes causal attention of dense [Z, H, N_CTX, HEAD_DIM]; N_CTX is a multiple of both blocks."""
    start = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1).to(tl.int64) * N_CTX * HEAD_DIM
    rows = start + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    depth = tl.arange(0, HEAD_DIM)
    q = tl.load(Q + base + rows[:, None] * HEAD_DIM + depth[None, :])
    largest = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    o = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    scale2 = scale * 1.44269504
    for first in range(0, start + BLOCK_M, BLOCK_N):
        at = first + columns
        k = tl.load(K + base + at[None, :] * HEAD_DIM + depth[:, None])
        s = tl.dot(q, k) * scale2
        s = tl.where(rows[:, None] >= at[None, :], s, float("-inf"))
        larger = tl.maximum(largest, tl.max(s, 1))
        p = tl.math.exp2(s - larger[:, None])
        shrink = tl.math.exp2(largest - larger)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(V + base + at[:, None] * HEAD_DIM + depth[None, :])
        o = tl.dot(p.to(v.dtype), v, o * shrink[:, None])
        largest = larger
    tl.store(Out + base + rows[:, None] * HEAD_DIM + depth[None, :], (o / total[:, None]).to(Out.dtype.element_ty))
