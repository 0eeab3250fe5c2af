"""The hooks into Triton, Inductor and Helion, each loaded by the real package. No GPU is needed."""

import time

import napkin
import pytest

GPU = "h200-sxm"
SHAPE = {"b": "Z", "h": "H", "q": "N_CTX", "x": "N_CTX", "d": "HEAD_DIM"}


def configs_of(triton):
    return [triton.Config({"BLOCK_M": m, "BLOCK_N": n}, num_warps=w, num_stages=s)
            for m in (32, 64, 128, 256, 512) for n in (16, 32, 64, 128, 256) for w in (4, 8) for s in (2, 3, 4, 7)]


@pytest.fixture
def kernel():
    triton = pytest.importorskip("triton", reason="SKIP: no Triton in this environment")
    import napkin.triton
    import triton_attention

    prune = napkin.triton.prune("triton", 4, gpu=GPU, shape=SHAPE, causal=True)
    return triton.autotune(configs=configs_of(triton), key=["N_CTX"], prune_configs_by={"early_config_prune": prune})(
        triton_attention.attention)


def test_triton_autotune_keeps_the_best(kernel):
    kernel.nargs = {"Z": 2, "H": 16, "N_CTX": 4096}
    kept = kernel.prune_configs({"HEAD_DIM": 128})
    assert len(kept) == 4 and all(one in kernel.configs for one in kept)
    question = dict(gpu=GPU, b=2, h=16, q=4096, x=4096, d=128, causal=True, kernel="triton")
    times = [napkin.query("attention", **question, tile={"q": c.kwargs["BLOCK_M"], "x": c.kwargs["BLOCK_N"], "warps": c.num_warps,
                                                         "stages": c.num_stages}) for c in kept]
    assert all(t.legal and "searched over" not in " ".join(t.notes) for t in times), "none that the mapping says nothing about"
    assert [t.predicted.time for t in times] == sorted(t.predicted.time for t in times)
    assert times[0].predicted.time == pytest.approx(napkin.select("attention", **question).predicted.time, rel=0.01)


def test_what_is_kept_compiles(kernel):
    """Configurations that are kept compile for Hopper, and their registers and shared memory fit."""
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel.nargs = {"Z": 2, "H": 16, "N_CTX": 4096}
    best = kernel.prune_configs({"HEAD_DIM": 128})[0]
    signature = {"Q": "*bf16", "K": "*bf16", "V": "*bf16", "Out": "*bf16", "scale": "fp32", "Z": "i32", "H": "i32", "N_CTX": "i32",
                 "HEAD_DIM": "constexpr", "BLOCK_M": "constexpr", "BLOCK_N": "constexpr"}
    constants = {"HEAD_DIM": 128, **best.kwargs}
    source = ASTSource(fn=kernel.fn, signature=signature, constexprs=constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": best.num_warps, "num_stages": best.num_stages})
    assert 0 < compiled.metadata.shared <= 227 * 1024
    assert compiled.asm["cubin"]


def test_prune_is_one_fast_call():
    triton = pytest.importorskip("triton", reason="SKIP: no Triton in this environment")
    import napkin.triton

    prune = napkin.triton.prune("triton", 8, gpu=GPU, shape=SHAPE)
    configs = configs_of(triton)
    assert len(configs) == 200
    spent = []
    for n in range(4):
        start = time.process_time()
        prune(configs, {"Z": 1, "H": 16, "N_CTX": 8192 + 128 * n}, HEAD_DIM=128)
        spent.append(time.process_time() - start)
    assert min(spent) < 0.02, spent


def test_prune_without_a_legal_one_and_with_mistakes():
    triton = pytest.importorskip("triton", reason="SKIP: no Triton in this environment")
    import napkin.triton

    huge = [triton.Config({"BLOCK_M": 256, "BLOCK_N": 256}, num_warps=4, num_stages=7)]
    named = {"Z": 1, "H": 16, "N_CTX": 8192}
    assert napkin.triton.prune("triton", 8, gpu=GPU, shape=SHAPE)(huge, named, HEAD_DIM=256) == huge
    by_call = napkin.triton.prune("triton", 2, gpu=GPU, shape=lambda a: {"h": a["H"], "q": a["N_CTX"], "x": a["N_CTX"], "d": 64, "causal": True})
    assert len(by_call(configs_of(triton), named)) == 2
    for wrong in (lambda: napkin.triton.prune("triton", 0, shape=SHAPE), lambda: napkin.triton.prune("nonsense", 4, gpu=GPU, shape=SHAPE)(huge, named, HEAD_DIM=64),
                  lambda: napkin.triton.prune("triton", 4, gpu=GPU, shape={"q": "NOT_THERE"})(huge, named)):
        with pytest.raises(napkin.InputError):
            wrong()


def test_emitted_configs_are_tritons():
    triton = pytest.importorskip("triton", reason="SKIP: no Triton in this environment")
    import napkin.triton

    made = napkin.triton.configs(gpu=GPU, h=16, q=8192, x=8192, d=128, top_k=3)
    assert len(made) == 3 and all(isinstance(one, triton.Config) for one in made)
    assert {"BLOCK_M", "BLOCK_N"} <= set(made[0].kwargs)


def test_a_draft_of_a_compiled_kernel(kernel, tmp_path):
    """A kernel compiled for Hopper and disassembled by Triton's tools: the draft has the kernel's counts, and answers a
    question."""
    triton = pytest.importorskip("triton")
    import napkin.triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {"Q": "*bf16", "K": "*bf16", "V": "*bf16", "Out": "*bf16", "scale": "fp32", "Z": "i32", "H": "i32", "N_CTX": "i32",
                 "HEAD_DIM": "constexpr", "BLOCK_M": "constexpr", "BLOCK_N": "constexpr"}
    constants = {"HEAD_DIM": 64, "BLOCK_M": 128, "BLOCK_N": 64}
    source = ASTSource(fn=kernel.fn, signature=signature, constexprs=constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8, "num_stages": 3})
    path = tmp_path / "mine.yaml"
    text = napkin.triton.draft_mapping(compiled, "attention", name="mine", out=path)
    assert path.read_text() == text and "# TODO" in text
    assert "q: {unit: rows, domain: [128]" in text and "x: {unit: columns, domain: [64]" in text
    answer = napkin.query("attention", gpu=GPU, kernel=str(path), h=16, q=4096, x=4096, d=64)
    assert answer.predicted.time > 0
    with pytest.raises(napkin.InputError):
        napkin.triton.draft_mapping(compiled, "matmul", tile={"q": 1})


def test_helion_takes_the_seeds():
    helion = pytest.importorskip("helion", reason="SKIP: no Helion in this environment, or one that its PyTorch does not suit",
                                 exc_type=ImportError)
    import napkin.helion

    seeds = napkin.helion.seeds("attention", 3, gpu=GPU, h=16, q=8192, x=8192, d=128, block_sizes=["b", "q", "x"])
    assert len(seeds) == 3 and all(isinstance(one, helion.Config) for one in seeds) and seeds[0].config["block_sizes"][0] == 1
    assert helion.Settings(autotune_seed_configs=seeds).autotune_seed_configs


def test_inductor_asks_napkin_for_flex_attention():
    torch = pytest.importorskip("torch", reason="SKIP: no PyTorch in this environment")
    import napkin.inductor
    from torch._inductor.virtualized import V

    before = type(V.choices)
    napkin.inductor.activate(GPU, rows=4096)
    try:
        found = V.choices.get_flex_attention_fwd_configs(128, torch.bfloat16, "cuda")
        answer = napkin.select("attention", gpu=GPU, kernel="triton", top=1, h=16, q=4096, x=4096, d=128)
        assert len(found) == 1
        assert (found[0].block_m, found[0].block_n) == tuple(answer.tile.get(a, answer.tile.get(b)) for a, b in (("q", "BLOCK_M"), ("x", "BLOCK_N")))
    finally:
        napkin.inductor.restore()
    assert type(V.choices) is before
    options = napkin.inductor.kernel_options(GPU, h=16, q=8192, x=8192, d=128)
    assert set(options) == {"BLOCK_M", "BLOCK_N", "num_warps", "num_stages"}


def test_inductor_asks_napkin_for_products():
    """Uses Inductor's own classes, with other inputs, since its own need a GPU."""
    torch = pytest.importorskip("torch", reason="SKIP: no PyTorch in this environment")
    import napkin.inductor
    from torch._inductor.kernel_template_choice import KernelTemplateChoice
    from torch._inductor.template_heuristics.params import DictKernelTemplateParams
    from torch._inductor.virtualized import V

    class Inputs:
        device_type = "cuda"

        def dtype(self, index=0):
            return torch.bfloat16

        def mnk_hinted(self):
            return 4096, 8192, 2048

    def choice(**knobs):
        return KernelTemplateChoice(template=None, params=DictKernelTemplateParams(knobs), extra_kwargs={}, layout=None, inputs=Inputs())

    tiles = [choice(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_stages=s, num_warps=w, GROUP_M=8, EVEN_K=True)
             for m in (64, 128) for n in (64, 128, 256) for k in (32, 64) for s in (2, 3, 4) for w in (4, 8)]
    vendor = choice()
    napkin.inductor.activate(GPU, top_k=3)
    try:
        kept = V.choices._finalize_template_configs({"vendor": iter([vendor]), "triton::mm": iter(tiles)}, Inputs(), [], "mm")
        other = V.choices._finalize_template_configs({"triton::mm": iter(tiles)}, Inputs(), [], "scaled_mm")
    finally:
        napkin.inductor.restore()
    assert kept[0] is vendor and len(kept) == 4 and all(one in tiles for one in kept[1:])
    assert other == tiles
    best = napkin.select("matmul", gpu=GPU, kernel="triton_matmul", a=4096, b=2048, c=8192)
    times = [napkin.rank_configs("matmul", [one.params.to_kwargs()], gpu=GPU, kernel="triton_matmul", a=4096, b=2048, c=8192)[0].time for one in kept[1:]]
    assert min(times) <= best.predicted.time * 1.25
