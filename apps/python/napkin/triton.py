"""Hooks for Triton's autotuner, which then times only the best of the listed configurations by prediction.

>>> @triton.autotune(configs=[...], key=["N_CTX"],
...     prune_configs_by={"early_config_prune": napkin.triton.prune("triton", top_k=6, gpu="h200-sxm",
...         shape={"b": "Z", "h": "H", "q": "N_CTX", "x": "N_CTX", "d": "HEAD_DIM"})})
... @triton.jit
... def kernel(..., Z, H, N_CTX, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr): ...

The mapping ("triton", or one of your own) says what the kernel keeps where and who waits for whom; docs/own-kernel.md.
Nothing here imports triton until it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from . import _session
from ._errors import InputError

__all__ = ["configs", "draft_mapping", "prune"]

Shape = Union[Mapping[str, Union[str, int]], Callable[[dict[str, Any]], Mapping[str, Any]]]


def _question(shape: Shape, arguments: dict[str, Any]) -> dict[str, Any]:
    if callable(shape):
        return dict(shape(arguments))
    question: dict[str, Any] = {}
    for axis, name in shape.items():
        if isinstance(name, str) and name not in arguments:
            raise InputError("shape", f"{axis} is the argument {name!r}, which the kernel does not have",
                             "one of " + ", ".join(arguments))
        question[axis] = arguments[name] if isinstance(name, str) else name
    return question


def _knobs(config: Any) -> dict[str, Any]:
    """Returns the configuration's values by Triton's names."""
    knobs = dict(config.kwargs)
    for name in ("num_warps", "num_stages", "num_ctas"):
        value = getattr(config, name, None)
        if value is not None:
            knobs[name] = value
    return {name: value for name, value in knobs.items() if isinstance(value, (int, str, bool))}


def prune(kernel_mapping: Any = "triton", top_k: int = 8, *, shape: Shape, gpu: Any = "here", algorithm: Any = "attention",
          **question: Any) -> Callable[..., list[Any]]:
    """Returns the pruner of triton.autotune(prune_configs_by={"early_config_prune": ...}) that keeps the `top_k` best by predicted time.

    shape: the argument of the kernel that is the size of each axis, {"q": "N_CTX", "d": "HEAD_DIM"} (or the size itself), or
    a function from all arguments to keywords of napkin.select (sizes, causal, window, dtype). gpu: a profile; "here": the
    GPU in this machine. A list of mappings serves a source that the compiler turns into different loops, such as
    ["triton_matmul", "triton_matmul_few_rows"] on Hopper. All configurations are judged in one call. Those that cannot run
    (shared memory, registers) are left out; if none can run, all are kept and Triton decides.
    """
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise InputError("top_k", f"is {top_k!r}", "a whole number from 1")

    def early_config_prune(configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        asked = {**question, **_question(shape, {**named_args, **kwargs})}
        ranked = _session.rank_configs(algorithm, [_knobs(config) for config in configs], kernel=kernel_mapping, gpu=gpu,
                                       **asked)
        best = [configs[one.index] for one in ranked if one.legal][:top_k]
        return best or list(configs)

    return early_config_prune


def configs(algorithm: Any = "attention", top_k: int = 8, *, kernel: Any = "triton", **question: Any) -> list[Any]:
    """Returns the best configurations of a shape as triton.Config, best first. Takes what napkin.select takes."""
    import triton

    from ._commands import emit

    text = emit(algorithm, "triton", kernel=kernel, top=top_k, **question)
    return list(eval(text, {"__builtins__": {}, "triton": triton})) if text else []


def draft_mapping(compiled: Any, algorithm: Any = "attention", *, name: str | None = None, tile: Mapping[str, int] | None = None,
                  out: Any = None) -> str:
    """Drafts a mapping of a kernel that Triton compiled: counts the instructions of its machine code, and writes "#
    TODO" at values that it does not show (docs/own-kernel.md). Needs Triton's own nvdisasm and no GPU.

    compiled: what kernel.warmup(..., grid=...), kernel[grid](...) or triton.compile(...) returns. tile: sizes that the
    code leaves open. Returns the text, and writes it to `out` if that is given.
    """
    import os
    import tempfile

    from . import _core
    from ._commands import _pairs, _part

    with tempfile.TemporaryDirectory(prefix="napkin-") as folder:
        cubin, text = os.path.join(folder, "kernel.cubin"), os.path.join(folder, "kernel.sass")
        with open(cubin, "wb") as file:
            file.write(compiled.asm["cubin"])
        with open(text, "w", encoding="utf-8") as file:
            file.write(_disassembled(cubin, compiled.metadata.num_warps, getattr(compiled, "n_regs", None)))
        words = ["draft-mapping", "--algorithm", _part(algorithm, "algorithm"), "--disassembly", text]
        words += ["--name", name] if name else []
        words += ["--tile", _pairs(tile, "tile")] if tile else []
        drafted: str = _core.run(words)[1].decode("utf-8")
    if out is not None:
        with open(out, "w", encoding="utf-8") as file:
            file.write(drafted)
    return drafted


def _disassembled(cubin: str, warps: int, registers: int | None) -> str:
    """Returns the output of the tools in Triton's package: resources, then instructions."""
    import os
    import re
    import subprocess

    from triton.backends import nvidia

    tools = os.path.join(os.path.dirname(nvidia.__file__ or nvidia.__path__[0] + "/"), "bin")

    def ran(tool: str, *options: str) -> str:
        try:
            done = subprocess.run([os.path.join(tools, tool), *options, cubin], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise InputError("compiled", f"Triton's {tool} could not read it: {error}", "a kernel compiled for an NVIDIA GPU") from None
        return done.stdout + done.stderr

    found = re.search(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)", ran("cuobjdump", "-res-usage"))
    use = found.groups() if found else (str(registers or 0), "0", "0")
    return "REG:{} STACK:{} SHARED:{} THREADS:{}\n".format(*use, 32 * warps) + ran("nvdisasm", "-c")
