"""Measures the loss of a pruned autotuner on Triton kernels of other projects, on this machine's GPU: attention, a
product and the grouped products of a mixture of experts, each in the configurations that its own project lists or tunes
over.

    python tests/python/run_foreign.py OUT.jsonl --attention FILE --product FILE --experts FILE [--seconds S] [--processes N]

FILE: the source with the kernel, which this project does not carry.
  attention   flag_gems/ops/attention.py of flag_gems 5.0.2 on PyPI (from Triton's tutorial): _attn_fwd
  product     tritonbench/operators/gemm/triton_matmul.py of meta-pytorch/tritonbench (Triton's tutorial): matmul_kernel
  experts     flag_gems/fused/fused_moe.py of the same package (vLLM's): fused_moe_kernel, get_default_config

All configurations are predicted first, by the mappings that were made from this project's own Triton kernels. OUT.jsonl has what
run_triton_prune.py's has; the regret of experts also says what vLLM's own default configuration loses.
"""

import argparse
import ast
import importlib.util
import itertools
import json
import multiprocessing
import pathlib
import sys
import tempfile
import time

import run_triton_prune as prune

sys.path.insert(0, str(prune.PEERS))
PRODUCT_KERNELS = ["triton_matmul", "triton_matmul_few_rows"]


def module_of(path, names):
    """Returns a module with the functions `names` and those that they call, without the rest of the file."""
    tree = ast.parse(pathlib.Path(path).read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    wanted = list(names)
    for name in wanted:
        called = {node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)}
        wanted += [other for other in called if other in functions and other not in wanted]
    for name in wanted:
        kept = [one for one in functions[name].decorator_list if ast.unparse(one) == "triton.jit"]
        functions[name].decorator_list = kept  # without the autotuner
    source = "from typing import *\nimport torch\nimport triton\nimport triton.language as tl\n\n"
    source += "\n\n".join(ast.unparse(functions[name]) for name in functions if name in wanted)
    file = pathlib.Path(tempfile.gettempdir()) / f"foreign_{pathlib.Path(path).stem}.py"  # jit reads the source of a file
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def product(**lists):
    return [dict(zip(lists, values)) for values in itertools.product(*lists.values())]


class Attention(prune.Question):
    def __init__(self, path, shape, causal):
        # The list of flag_gems (its tuning configurations), without keys below BLOCK_N <= HEAD_DIM, which the kernel asserts.
        configs = product(BLOCK_M=[32, 64, 128], BLOCK_N=[32, 64, 128], PRE_LOAD_V=[0, 1], num_warps=[4, 8], num_stages=[2, 3, 4])
        configs = [one for one in configs if one["BLOCK_N"] <= shape["d"] and (not causal or one["BLOCK_M"] >= one["BLOCK_N"])]
        super().__init__("attention", {"b": 1, **shape}, causal, configs)
        self.path, self.name = path, "flag_gems 5.0.2, ops/attention.py"

    def small(self):
        return Attention(self.path, {**self.shape, "h": 1, "q": 256, "x": 256}, self.causal)

    def call(self, config):
        import torch
        import triton

        kernel, shape = module_of(self.path, ["_attn_fwd"])._attn_fwd, self.shape
        q, k, v = (torch.randn(1, shape["h"], shape["q"], shape["d"], device="cuda", dtype=torch.bfloat16) for _ in range(3))
        out, sums = torch.empty_like(q), torch.empty(1, shape["h"], shape["q"], device="cuda", dtype=torch.float32)
        strides = [stride for array in (q, k, v) for stride in array.stride()] + [0] * 4 + list(out.stride())

        def run():
            return kernel[(triton.cdiv(shape["q"], config["BLOCK_M"]), shape["h"])](
                q, k, v, None, shape["d"] ** -0.5, sums, out, *strides, 1, shape["h"], shape["h"], 1, shape["q"], shape["x"], shape["d"],
                STAGE=3 if self.causal else 1, HAS_ATTN_MASK=False, **config)

        def error():
            few = slice(0, 1), slice(0, 2)
            want = torch.nn.functional.scaled_dot_product_attention(q[few].float(), k[few].float(), v[few].float(), is_causal=self.causal)
            return ((out[few].float() - want).norm() / want.norm()).item()
        return run, error, out


class Product(prune.Question):
    def __init__(self, path, m, n, k):
        configs = product(BLOCK_M=[64, 128], BLOCK_N=[64, 128, 256], BLOCK_K=[32, 64, 128], num_warps=[4, 8], num_stages=[3, 4, 5])
        super().__init__("matmul", {"a": m, "b": k, "c": n}, False, configs)
        self.kernel, self.dtype = PRODUCT_KERNELS, "f16"
        self.path, self.name = path, "tritonbench db2155c, gemm/triton_matmul.py"

    def small(self):
        return Product(self.path, 128, 256, 128)

    def call(self, config):
        import torch
        import triton

        kernel = module_of(self.path, ["matmul_kernel"]).matmul_kernel
        m, k, n = (self.shape[axis] for axis in "abc")
        a, b = (torch.randn(*size, device="cuda", dtype=torch.float16) for size in ((m, k), (k, n)))
        c = torch.empty(m, n, device="cuda", dtype=torch.float16)  # the kernel rounds to float16

        def run():
            return kernel[(triton.cdiv(m, config["BLOCK_M"]) * triton.cdiv(n, config["BLOCK_N"]),)](
                a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), GROUP_M=8, ACTIVATION="", ENABLE_BUFFER_OPS_ASSUMES=True, **config)

        def error():
            want = a[:64].float() @ b.float()
            return ((c[:64].float() - want).norm() / want.norm()).item()
        return run, error, c


class Experts(prune.Question):
    """The first product of a layer of experts: tokens are divided among them evenly, so that it is one product with the
    experts' columns side by side."""

    def __init__(self, path, experts, tokens, chosen, width, columns):
        configs = product(BLOCK_M=[16, 32, 64, 128], BLOCK_N=[64, 128, 256], BLOCK_K=[64, 128], num_warps=[4, 8], num_stages=[3, 4])
        rows = tokens * chosen // experts
        super().__init__("matmul", {"a": rows, "b": width, "c": columns * experts}, False, configs)
        self.kernel, self.path, self.name = PRODUCT_KERNELS, path, "flag_gems 5.0.2, fused/fused_moe.py (vLLM's)"
        self.experts, self.tokens, self.chosen, self.columns = experts, tokens, chosen, columns

    def small(self):
        return Experts(self.path, self.experts, 8 * self.experts, self.chosen, 256, 256)

    def head(self):
        return {**super().head(), "experts": {"experts": self.experts, "tokens": self.tokens, "chosen": self.chosen, "columns": self.columns}}

    def theirs(self):
        """Returns the configuration that vLLM takes if its tables lack the card."""
        found = module_of(self.path, ["get_default_config"]).get_default_config(
            self.tokens, self.experts, self.columns // 2, self.shape["b"], self.chosen, None)
        return {name.replace("BLOCK_SIZE", "BLOCK"): value for name, value in found.items() if name != "GROUP_SIZE_M"}

    def call(self, config):
        import torch
        import triton
        import triton.language as tl

        kernel, width = module_of(self.path, ["fused_moe_kernel"]).fused_moe_kernel, self.shape["b"]
        x = torch.randn(self.tokens, width, device="cuda", dtype=torch.bfloat16)
        w = torch.randn(self.experts, self.columns, width, device="cuda", dtype=torch.bfloat16)
        out = torch.empty(self.tokens * self.chosen, self.columns, device="cuda", dtype=torch.bfloat16)
        # Pair i of a token and a choice is expert i % experts; each expert's pairs are padded to whole blocks.
        pairs, block = self.tokens * self.chosen, config["BLOCK_M"]
        rows = torch.full((self.experts, triton.cdiv(pairs // self.experts, block) * block), pairs, dtype=torch.int32)
        for expert in range(self.experts):
            mine = torch.arange(expert, pairs, self.experts, dtype=torch.int32)
            rows[expert, :len(mine)] = mine
        of_block = torch.arange(self.experts, dtype=torch.int32).repeat_interleave(rows.shape[1] // block).cuda()
        rows = rows.flatten().cuda()
        padded = torch.tensor([len(rows)], dtype=torch.int32, device="cuda")
        sizes = {name.replace("BLOCK", "BLOCK_SIZE"): value for name, value in config.items()}

        def run():
            return kernel[(len(rows) // block * triton.cdiv(self.columns, config["BLOCK_N"]),)](
                x, w, out, None, None, None, None, rows, of_block, padded, self.columns, width, len(rows), pairs, x.stride(0), x.stride(1),
                w.stride(0), w.stride(2), w.stride(1), out.stride(0), out.stride(1), 0, 0, 0, 0, 0, 0, 0, group_n=0, group_k=0,
                naive_block_assignment=False, GROUP_SIZE_M=8, SPLIT_K=1, MUL_ROUTED_WEIGHT=False, top_k=self.chosen, compute_type=tl.bfloat16,
                use_fp8_w8a8=False, use_int8_w8a8=False, use_int8_w8a16=False, per_channel_quant=False, HAS_BIAS=False, SWAP_AB=False, **sizes)

        def error():
            few = torch.arange(0, min(pairs, 64), device="cuda")
            want = torch.einsum("pk,pnk->pn", x[few // self.chosen].float(), w[few % self.experts].float())
            return ((out[few].float() - want).norm() / want.norm()).item()
        return run, error, out


def questions_of(asked):
    attention = [Attention(asked.attention, {"h": 16, "q": 8192, "x": 8192, "d": 128}, False),
                 Attention(asked.attention, {"h": 32, "q": 4096, "x": 4096, "d": 64}, False),
                 Attention(asked.attention, {"h": 16, "q": 8192, "x": 8192, "d": 128}, True)]
    products = [Product(asked.product, *size) for size in ((4096, 4096, 4096), (1024, 28672, 4096), (8192, 4096, 14336))]
    # Mixtral 8x7B, and Qwen3 30B-A3B: gate and up in one product.
    experts = [Experts(asked.experts, 8, tokens, 2, 4096, 28672) for tokens in (64, 1024, 8192)]
    return attention + products + experts + [Experts(asked.experts, 128, 512, 8, 2048, 1536)]


def loss_of_theirs(question, rows):
    """Returns the time of the project's own configuration over the best that ran, less one; None if it is not in the
    list."""
    times = {json.dumps(row["config"], sort_keys=True): row["time"] for row in rows if row.get("time") is not None}
    own = times.get(json.dumps(question.theirs(), sort_keys=True))
    return own / min(times.values()) - 1 if own else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    for name in ("attention", "product", "experts"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seconds", type=float, default=0.08, help="of launches before a configuration is timed")
    parser.add_argument("--processes", type=int, default=14, help="that compile")
    parser.add_argument("--predict", action="store_true", help="write the predictions alone; needs no GPU")
    parser.add_argument("--questions", help="only these of the list, from 0: 8,9")
    asked = parser.parse_args()
    begin, questions = time.time(), questions_of(asked)
    if asked.questions:
        questions = [questions[int(at)] for at in asked.questions.split(",")]
    with open(asked.out, "w", encoding="utf-8") as file:
        def say(row, **more):
            file.write(json.dumps({**row, **more}) + "\n")
            file.flush()

        found = [(question, *prune.predicted(question)) for question in questions]
        for question, rows, _ in found:
            for row in rows:
                row["source"] = question.name
                say(row)
        if asked.predict:
            return
        jobs = list({(type(question), question.shape.get("d"), question.causal, getattr(question, "chosen", 0), json.dumps(config)): (question, config)
                     for question in questions for config in question.configs}.values())
        with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
            compiled = pool.map(prune.compile_one, jobs, chunksize=1)
        print(f"{time.time() - begin:.0f} s: compiled {sum(one is not None for one in compiled)} of {len(compiled)} variants", flush=True)
        where = prune.facts()
        for question, rows, spent in found:
            for row in rows:
                row |= prune.measured(question, row["config"], asked.seconds)
                say({**row, "row": "measurement"}, **where)
            regret = prune.regret_of(rows, spent) or {"ran": 0}
            if isinstance(question, Experts) and regret["ran"]:
                regret["regret_theirs"] = loss_of_theirs(question, rows)
            say({"row": "regret", **question.head(), "source": question.name, **regret}, **where)
            print(f"{time.time() - begin:.0f} s: {question.name} {question.shape} causal={question.causal}: {json.dumps(regret)}", flush=True)


if __name__ == "__main__":
    main()
