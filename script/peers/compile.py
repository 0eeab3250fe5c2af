#!/usr/bin/env python3
"""Compiles the Triton kernels of kernels.py in all their tiles, without a GPU, and writes the results as tables.

    python3 -m venv /somewhere && /somewhere/bin/pip install triton==3.6.0
    /somewhere/bin/python script/peers/compile.py attention 90 > kernels/attention/mappings/triton.compiled.csv
    /somewhere/bin/python script/peers/compile.py attention 80 > kernels/attention/mappings/triton_sm80.compiled.csv
    /somewhere/bin/python script/peers/compile.py attention 100 > kernels/attention/mappings/triton_sm100.compiled.csv
    /somewhere/bin/python script/peers/compile.py attention 120 > kernels/attention/mappings/triton_sm120.compiled.csv
    /somewhere/bin/python script/peers/compile.py matmul 90 > kernels/matmul/mappings/triton_matmul.compiled.csv
    /somewhere/bin/python script/peers/compile.py matmul 80 > kernels/matmul/mappings/triton_matmul_sm80.compiled.csv
    /somewhere/bin/python script/peers/compile.py encoder 80 > kernels/attention/mappings/triton_encoder.compiled.csv
    /somewhere/bin/python script/peers/compile.py encoder 120 > kernels/attention/mappings/triton_encoder_sm120.compiled.csv
    /somewhere/bin/python script/peers/compile.py few_rows 90 > kernels/matmul/mappings/triton_matmul_few_rows.compiled.csv

triton.compiled.csv has the rows of a second release below those of the first (knob `release`), made in an environment of
that release (triton==3.0.0 setuptools):

    /somewhere/else/bin/python script/peers/compile.py attention 90 --below kernels/attention/mappings/triton.compiled.csv

A tile that this release's compiler does not get through (64 rows with 8 warps) has the first one's row: the mapping
refuses it by name.

With --outside: registers and stack alone, of tiles of which the tables have no row. tests/law/triton_outside.csv holds the
rule to them that judges such tiles:

    /somewhere/bin/python script/peers/compile.py attention 90 --outside > tests/law/triton_outside.csv
    /somewhere/bin/python script/peers/compile.py matmul 90 --outside > tests/law/triton_matmul_outside.csv

A row is a tile: registers of a thread, bytes of its stack (spills), shared memory of a block, and the instructions of a
warp in one iteration by unit. lead: from the barrier behind which a chunk is there to the first product; s_: the rest up
to the first operation's last product; p_: until the second operation's first one; o_: from there on. A
loop of one product has s_ alone. m_: what a masked iteration has more; head, tail: what stands before the first loop and
behind the last. s_waits, o_waits: how often a warp waits for products that run asynchronously, once where the compiler
has registers enough. Of local memory bytes of a thread stand in place of instructions. Of mma.sync, whose loads of fragments the model
counts itself, `ldmatrix` and `products` are there for the tests. _stall: clocks that a warp waits beyond its
instructions' slots, by the compiler's own counts, without those of products. Of tcgen05 there are two parts: p_ up to the first product, which is the
second operation's, and o_ from there on; words: of 32 bits that a thread moves from or to tensor memory.
The table of `encoder` has the tiles that its library takes.
"""

import argparse
import concurrent.futures
import datetime
import itertools
import os
import subprocess
import sys
import tempfile

import triton
import triton.compiler.compiler
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import compiler as nvidia
from triton.compiler import ASTSource

import kernels
import sass

TOOLS = os.path.join(os.path.dirname(nvidia.__file__), "bin")
CUOBJDUMP = os.path.join(TOOLS, "cuobjdump")
UNITS = ["special", "fp32", "alu", "conversion", "shuffle", "copy", "local", "other"]
ATTENTION = {"q": [128, 64], "x": [128, 64, 32], "warps": [8, 4], "stages": [3, 2, 4]}
HEADS = {90: [64, 128, 256], 80: [64, 128], 86: [64, 128], 89: [64, 128], 100: [64, 128], 120: [64, 128]}
# Fewer rows than wgmma has go by mma.sync on Hopper: a table of their own (few_rows).
FEW_ROWS = [32, 16]
MATMUL = {"a": [128, 64], "c": [256, 128, 64], "b": [64, 32, 128], "warps": [8, 4], "stages": [3, 2, 4, 5, 6]}
# Rows and keys of a tile, and warps by head: the library takes 4 up to 64, else 8; heads of 80 stand for all of 65 to 128.
ENCODER = {80: (64, {64: 4, 80: 8}), 120: (128, {80: 8})}
OUTSIDE = {"attention": {"q": [256, 128, 64], "x": [256, 128, 64, 32, 16], "warps": [8, 4], "stages": [2]},
           "matmul": {"a": [256, 128, 64], "c": [256, 128, 64, 32], "b": [64], "warps": [8, 4], "stages": [3]}}
GROUP_M = 8
RELEASE = "v" + ".".join(triton.__version__.split(".")[:2])
RELEASES = {("attention", 90)}  # the tables with a column for it


def pointers(names, dtype):
    return {name: "*" + dtype for name in names}


def source_of(kernel, signature, constants, without=()):
    """Returns the kernel's source with pointers and strides that are multiples of 16, as PyTorch's are, except the
    arguments in `without`."""
    whole = [name for name in signature if name not in without]
    if RELEASE != "v3.0":
        attrs = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(signature) if name in whole}
        return ASTSource(kernel, signature, constexprs=constants, attrs=attrs)
    place = {name: i for i, name in enumerate(kernel.arg_names)}
    attrs = triton.compiler.compiler.AttrsDescriptor({place[name] for name in whole}, set())
    return ASTSource(kernel, {place[name]: type for name, type in signature.items()},
                     constants={place[name]: value for name, value in constants.items()}, attrs=attrs)


def attention(arch, tile, d, mask, dtype="bf16"):
    signature = {**pointers("QKVO", dtype), "L": "*fp32", "scale": "fp32", "stride": "i32", "length": "i32"}
    constants = {"BLOCK_M": tile["q"], "BLOCK_N": tile["x"], "D": d, "CAUSAL": mask == "causal"}
    return build(source_of(kernels.attention, signature, constants, ["scale"]), arch, tile)


def encoder(arch, tile, d, dtype="bf16"):
    strides = [f"{kind}_{array}" for kind in ("row", "head") for array in "qkvo"]
    signature = {**pointers("QKVO", dtype), "scale": "fp32", "starts": "*i32", "lengths": "*i32",
                 **{name: "i32" for name in strides}}
    constants = {"GROUP": 1, "BLOCK": tile["q"], "D": d, "D_PADDED": triton.next_power_of_2(d)}
    return build(source_of(kernels.encoder, signature, constants, ["scale"]), arch, tile)


def matmul(arch, tile, dtype="bf16"):
    signature = {**pointers("ABC", dtype),
                 **{name: "i32" for name in ("M", "N", "K", "stride_a", "stride_b", "stride_c")}}
    constants = {"BLOCK_M": tile["a"], "BLOCK_N": tile["c"], "BLOCK_K": tile["b"], "GROUP_M": GROUP_M}
    return build(source_of(kernels.matmul, signature, constants), arch, tile)


def build(source, arch, tile):
    options = {"num_warps": tile["warps"], "num_stages": tile["stages"]}
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


def by_unit(counts):
    """Returns the instructions of a section by UNITS; those without a unit are "other"."""
    out = {unit: counts[unit] for unit in UNITS if unit != "other"}
    out["other"] = counts["other"] + counts["int32"] + counts["shared"]
    return out


def row_of_tcgen05(compiled, code, row):
    """Returns the row of a kernel whose scores and sums are in tensor memory: a loop after the end of the code is the
    second try of a wait."""
    loops = [loop for loop in sass.main_loops(code) if not any(i.opcode == "EXIT" for i in loop)]
    parts = [split_at_products(loop) for loop in loops[:2]]
    for name, part in zip("po", parts[0]):
        row.update({f"{name}_{unit}": n for unit, n in by_unit(sass.count(part)).items()})
        row[f"{name}_words"], row[f"{name}_stall"] = sass.count(part)["words"], sass.stalls(part)
    row["products"] = sass.count(loops[0])["tensor"]
    if len(parts) > 1:
        masked, plain = (by_unit(sass.count(part[0])) for part in (parts[1], parts[0]))
        row["m_alu"] = max(masked["alu"] - plain["alu"], 0)
        row["m_other"] = max(sum(masked.values()) - sum(plain.values()) - row["m_alu"], 0)
    row["columns"] = compiled.metadata.tmem_size
    return ends(row, code, loops)


def split_at_products(loop):
    first = next(n for n, i in enumerate(loop) if i.unit == "tensor")
    return loop[:first], loop[first:]


def ends(row, code, loops):
    """Returns the instructions before the first loop and after the last."""
    row["head"] = sum(i.address < loops[0][0].address for i in code)
    last = next(i.address for i in code if i.opcode == "EXIT" and i.address > loops[-1][-1].address)
    row["tail"] = sum(loops[-1][-1].address < i.address <= last for i in code)
    row["loops"] = len(loops)
    return row


def row_of(compiled, first_share):
    """Returns the row of a tile. `first_share`: share of the first operation in the loop's products; 0 for a single
    operation, None if the operands show it."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compiled.asm["cubin"])
        file.flush()
        registers, stack = sass.resources(CUOBJDUMP, file.name)
        code = sass.disassemble(CUOBJDUMP, file.name)
    row = {"registers": registers, "stack": stack, "shared": compiled.metadata.shared}
    if any(i.opcode == "UTCHMMA" for i in code):
        return row_of_tcgen05(compiled, code, row)
    loops = sass.main_loops(code)
    main = sass.count(loops[0])
    first = sass.from_shared(loops[0]) if first_share is None else round(main["tensor"] * first_share)
    parts = sass.cut(loops[0], first)
    lead = sass.lead(loops[0])
    waits = [sum(i.opcode == "WARPGROUP" and "DEPBAR" in i.suffix for i in part) for part in parts]
    row["s_waits"], row["o_waits"] = sum(waits[:2]), sum(waits[2:])
    row["lead"] = sum(i.unit != "ldmatrix" for i in lead)
    parts[0] = [i for i in parts[0] if i not in lead or i.unit == "ldmatrix"]
    for name, part in zip("spo", parts):
        row.update({f"{name}_{unit}": n for unit, n in by_unit(sass.count(part)).items()})
        row[f"{name}_stall"] = sass.stalls(part)
    row.update(ldmatrix=main["ldmatrix"], products=main["tensor"])
    if len(loops) > 1:
        masked, plain = by_unit(sass.count(loops[1])), by_unit(main)
        row["m_alu"] = max(masked["alu"] - plain["alu"], 0)
        row["m_other"] = max(sum(masked.values()) - sum(plain.values()) - row["m_alu"], 0)
    row["sections"] = len(parts)
    return ends(row, code, loops)


def tiles(domain):
    return [dict(zip(domain, values)) for values in itertools.product(*domain.values())]


def products_of(kernel, arch):
    """Returns the tiles of a product's table."""
    if kernel == "few_rows":
        return {**MATMUL, "a": FEW_ROWS}
    return MATMUL if arch == 90 else {**MATMUL, "a": [*MATMUL["a"], *FEW_ROWS]}


def rows(kernel, arch, dtype, limit):
    """Yields keys and rows, compiled on all cores."""
    if kernel == "encoder":
        side, heads = ENCODER[arch]
        keys = [{"q": side, "x": side, "warps": warps} for warps in heads.values()]
        jobs = [(encoder_row, arch, {**key, "stages": 1}, d, dtype) for key, d in zip(keys, heads)]
    elif kernel in ("matmul", "few_rows"):
        keys = tiles(products_of(kernel, arch))[:limit]
        jobs = [(matmul_row, arch, tile, dtype) for tile in keys]
    else:
        share = None if arch in (90, 100) else 0.5  # of mma.sync S takes q x d products and O as many: d = dv
        release = {"release": RELEASE} if (kernel, arch) in RELEASES else {}
        asked = [(tile, d, mask) for d in HEADS[arch] for mask in ("none", "causal") for tile in tiles(ATTENTION)][:limit]
        keys = [{**tile, "d": d, "mask": mask, **release} for tile, d, mask in asked]
        jobs = [(attention_row, arch, tile, d, mask, dtype, share) for tile, d, mask in asked]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as all_cores:
        yield from zip(keys, all_cores.map(lambda job: attempt(*job), jobs))


def encoder_row(arch, tile, d, dtype):
    return row_of(encoder(arch, tile, d, dtype), 0.5)


def matmul_row(arch, tile, dtype):
    return row_of(matmul(arch, tile, dtype), 0)


def attention_row(arch, tile, d, mask, dtype, share):
    return row_of(attention(arch, tile, d, mask, dtype), share)


def attempt(make, *arguments):
    """Returns the row, or {} if the compiler crashes, which ends only its own process."""
    with concurrent.futures.ProcessPoolExecutor(1) as own:
        try:
            return own.submit(make, *arguments).result()
        except concurrent.futures.process.BrokenProcessPool:
            return {}


def outside(kernel, arch, dtype):
    """Yields registers and stack of the tiles of OUTSIDE that the kernel's table lacks."""
    known = ATTENTION if kernel == "attention" else products_of(kernel, arch)
    for tile in tiles(OUTSIDE[kernel]):
        if all(value in known[name] for name, value in tile.items()):
            continue
        for d in HEADS[arch] if kernel == "attention" else [0]:
            compiled = attention(arch, tile, d, "none", dtype) if d else matmul(arch, tile, dtype)
            with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
                file.write(compiled.asm["cubin"])
                file.flush()
                registers, stack = sass.resources(CUOBJDUMP, file.name)
            yield {**tile, **({"d": d} if d else {})}, {"registers": registers, "stack": stack}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", choices=["attention", "encoder", "matmul", "few_rows"])
    parser.add_argument("arch", type=int, choices=[80, 86, 89, 90, 100, 120])
    parser.add_argument("--dtype", default="bf16", choices=["bf16", "fp16"])
    parser.add_argument("--limit", type=int, help="so many tiles, to try")
    parser.add_argument("--below", help="the table of another release, which gets these rows too")
    parser.add_argument("--outside", action="store_true", help="tiles that the tables lack, registers alone")
    asked = parser.parse_args()
    made = []
    found = outside(asked.kernel, asked.arch, asked.dtype) if asked.outside else rows(
        asked.kernel, asked.arch, asked.dtype, asked.limit)
    for key, row in found:
        made.append((key, row))
        print(key, row.get("registers"), row.get("stack"), file=sys.stderr, flush=True)
    write(asked, made)


def write(asked, made):
    ptxas = subprocess.run([os.path.join(TOOLS, "ptxas"), "--version"], capture_output=True, text=True).stdout
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    numbers = list(dict.fromkeys(name for _, row in made for name in row if name not in ("loops", "sections")))
    kinds = {f"{name}={n}" for _, row in made for name, n in row.items() if name in ("loops", "sections")}
    about = [f"# compiler: Triton {triton.__version__}, {ptxas.strip().splitlines()[-1]}, sm_{asked.arch}, {asked.dtype}",
             f"# date: {datetime.date.today()}",
             f"# revision: {revision}",
             f"# command: script/peers/compile.py {asked.kernel} {asked.arch}{' --outside' if asked.outside else ''}"]
    about += [f"# loops and sections found: {', '.join(sorted(kinds))}"] if kinds else []
    head = [*made[0][0], *numbers]
    lines = [[str(v) for v in [*key.values(), *(row.get(name, 0) for name in numbers)]] if row else [*map(str, key.values())]
             for key, row in made]
    if asked.below:
        add_below(asked.below, about, head, lines, len(made[0][0]))
        return
    if asked.outside:
        print("# What Triton's compiler makes of tiles of which its table has no row. Made, not edited.")
        print("\n".join([*about, *map(",".join, [head, *lines])]))
        return
    print("# What Triton's compiler makes of each tile: registers of a thread, bytes of its stack, shared memory of a")
    print("# block, and a warp's instructions in one iteration by unit (script/peers/compile.py). Made, not edited.")
    print("\n".join([*about, *map(",".join, [head, *lines])]))


def add_below(path, about, head, lines, keys):
    with open(path) as file:
        there = file.read().splitlines()
    at = next(i for i, line in enumerate(there) if not line.startswith("#"))
    if there[at] != ",".join(head):
        sys.exit(f"{path}: its columns are not {','.join(head)}")
    first = {tuple(row[:keys - 1]): row for row in (line.split(",") for line in there[at + 1:])}
    for line in lines:
        line += first[tuple(line[:keys - 1])][keys:] if len(line) == keys else []
    with open(path, "w") as file:
        file.write("\n".join([*both(there[:at], about), *there[at:], *map(",".join, lines)]) + "\n")


def both(first, second):
    """Yields the table's comments, and those of this release where they differ."""
    said = {line.split(":")[0]: line for line in second}
    for line in first:
        other = said.get(line.split(":")[0], line)
        yield line if other == line else f"{line}; {RELEASE}{other[other.index(':'):]}"


if __name__ == "__main__":
    main()
