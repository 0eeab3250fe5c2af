"""Counts the instructions of a kernel's machine code in one iteration: of a warp, by unit, in the order of the loop.

A loop is the code from the target of a backward branch to that branch; the main loops are those with tensor
instructions. Each is cut at its tensor instructions: what stands before and among those of the first operation, between
the operations, and from the second on.
"""

import collections
import datetime
import re
import subprocess

TENSOR = {"HGMMA", "QGMMA", "IGMMA", "HMMA", "QMMA", "IMMA", "UTCHMMA"}
UNITS = {
    "special": {"MUFU"},
    "fp32": {"FADD", "FMUL", "FFMA"},
    "alu": {"FMNMX", "FMNMX3", "LOP3", "IADD3", "ISETP", "FSETP", "SEL", "FSEL", "PRMT", "SHF", "LEA", "PLOP3", "VIADD",
            "IMNMX", "VIMNMX", "IABS", "LOP32I"},
    "int32": {"IMAD", "IMUL"},
    "conversion": {"F2FP", "F2F", "F2I", "I2F", "I2FP"},
    "shuffle": {"SHFL"},
    "copy": {"LDGSTS"},
    "ldmatrix": {"LDSM"},
    "shared": {"LDS", "STS", "STSM", "ATOMS"},
    "local": {"LDL", "STL"},
    "words": {"LDTM", "STTM"},
}
UNIT_OF = {opcode: unit for unit, opcodes in UNITS.items() for opcode in opcodes}
NAMES = [*UNITS, "other", "tensor"]
# The second word of an instruction's encoding, on a line of its own: from bit 41 on the stall count (4 bits), a hint, the barriers
# that its result and its last read release (3 each, 7 for none), and a bit for each of the six that it waits for.
SECOND = re.compile(r"^\s+/\* 0x([0-9a-f]{16}) \*/")
LINE = re.compile(r"^\s+/\*([0-9a-f]{4,6})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)([.\w]*)\s*([^;]*);")


class Instruction:
    def __init__(self, address, opcode, suffix, operands):
        self.address, self.opcode, self.suffix, self.operands = address, opcode, suffix, operands
        self.unit = "tensor" if opcode in TENSOR else UNIT_OF.get(opcode, "other")
        self.stall, self.writes, self.reads, self.waits = 1, 7, 7, 0


def disassemble(cuobjdump, cubin):
    text = subprocess.run([cuobjdump, "-sass", cubin], check=True, capture_output=True, text=True).stdout
    return parse(text)


def parse(text):
    code = []
    for line in text.splitlines():
        if m := LINE.match(line):
            code.append(Instruction(int(m[1], 16), m[2], m[3], m[4].strip()))
        elif code and (m := SECOND.match(line)):
            control = int(m[1], 16) >> 41
            code[-1].stall = max(control & 15, 1)
            code[-1].writes, code[-1].reads, code[-1].waits = control >> 5 & 7, control >> 8 & 7, control >> 11 & 63
    return code


def stalls(body):
    """Clocks that a warp waits beyond its instructions' slots, as the compiler wrote them; without those of products."""
    return sum(i.stall - 1 for i in body if i.unit != "tensor")


def resources(cuobjdump, cubin):
    """Returns a thread's registers and the bytes of its stack frame, which holds values that do not fit in
    registers."""
    text = subprocess.run([cuobjdump, "-res-usage", cubin], check=True, capture_output=True, text=True)
    found = re.search(r"REG:(\d+) STACK:(\d+)", text.stdout + text.stderr)
    return int(found[1]), int(found[2])


def print_head(about, code, command, columns):
    """Prints the head of a table that nvcc's code makes: lines of what it is, what was compiled, the command, the columns."""
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    release = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    for line in about:
        print("#", line)
    print(f"# compiler: {re.search(r'Build .*', release)[0]}, {code}\n# date: {datetime.date.today()}")
    print(f"# revision: {revision}\n# command: {command}\n{columns}", flush=True)


def main_loops(code):
    """Returns the innermost loops with tensor instructions, in the order of the code."""
    loops = []
    for branch in code:
        target = re.search(r"0x([0-9a-f]+)", branch.operands) if branch.opcode == "BRA" else None
        if not target or int(target[1], 16) >= branch.address:
            continue
        body = [i for i in code if int(target[1], 16) <= i.address <= branch.address]
        if any(i.unit == "tensor" for i in body):
            loops.append(body)
    inner = [a for a in loops
             if not any(b is not a and a[0].address <= b[0].address and b[-1].address <= a[-1].address for b in loops)]
    return sorted(inner, key=lambda body: body[0].address)


def width(instruction):
    """Returns the bytes that an instruction moves for each thread."""
    return 16 if ".128" in instruction.suffix else 8 if ".64" in instruction.suffix else 4


def words(instruction):
    """Returns the 32-bit words that an instruction of tensor memory moves for a thread; one for 16 of a warp's rows
    moves half of them."""
    found = re.search(r"\.x(\d+)", instruction.suffix)
    return (int(found[1]) if found else 1) // (2 if "16dp" in instruction.suffix else 1)


def count(body):
    """Counts instructions by unit; for local memory (values that do not fit in registers) bytes of a thread, for tensor
    memory words."""
    counts = collections.Counter()
    for i in body:
        counts[i.unit] += {"local": width, "words": words}.get(i.unit, lambda _: 1)(i)
    return {name: counts[name] for name in NAMES}



def lead(body):
    """Returns the instructions from the barrier at which a chunk has arrived to the first product, each of which a warp
    waits for."""
    first = next(n for n, i in enumerate(body) if i.unit == "tensor")
    barriers = [n for n, i in enumerate(body[:first]) if i.opcode == "BAR"]
    return body[barriers[-1] + 1:first] if barriers else []


def from_shared(body):
    """Returns the number of asynchronous products that read both operands from shared memory: Q K, if P V has P in
    registers."""
    return sum(i.unit == "tensor" and bool(re.match(r"R\d+, gdesc", i.operands)) for i in body)


def cut(body, first):
    """Cuts a loop in three parts: up to the end of the `first` products, until the next product, and the rest; a single
    part if there are no other products."""
    tensor = [n for n, i in enumerate(body) if i.unit == "tensor"]
    if not 0 < first < len(tensor):
        return [body]
    return [body[:tensor[first - 1] + 1], body[tensor[first - 1] + 1:tensor[first]], body[tensor[first]:]]
