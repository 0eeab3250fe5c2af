"""Simulates warps that repeat a loop of machine code on an SM's schedulers: what they take where the compiler's stall
counts, barriers, pipes and the port of shared memory say when an instruction may issue.

A scheduler issues an instruction a clock and is held longer by a product of mma.sync. Of warps that could issue at one
clock, the one that issued longest ago does. Copies, and what a barrier of threads takes, are the event graph's.
ports.py holds HOLD and the pipes to what an H200 measured.
"""

import sass

# Clocks of a pipe for a warp's instruction; tensor: m16 n8 k16, as measured on an H200, elsewhere by the profile's rate.
PIPES = {"sm_80": {"tensor": 8, "fp32": 2, "int32": 2, "alu": 2, "conversion": 2, "special": 8},
         "sm_90": {"tensor": 6.03, "fp32": 1, "int32": 2, "alu": 2, "conversion": 2, "special": 8}}
PIPES["sm_86"] = PIPES["sm_120"] = {**PIPES["sm_90"], "tensor": 16}
PIPES["sm_100"] = {**PIPES["sm_90"], "tensor": 8}
HOLD = 5.4  # clocks for which a product holds its scheduler: of 4 to 6 in steps of a tenth the nearest to an H200's readings
# Clocks of the SM's port for a warp's instruction (512 bytes, 128, and a word of each lane), and from there to the result.
PORT = {"ldmatrix": 4, "copy": 4, "shared": 1, "shuffle": 1, "local": 1}
LATENCY = {"ldmatrix": 29, "copy": 29, "shared": 23, "shuffle": 24, "local": 35, "special": 17}
OTHERS, READ = 6, 12  # clocks to a result of no pipe above, and at most to the last read of an operand
SCHEDULERS = 4


class Warp:
    def __init__(self, block, start):
        self.block, self.at, self.ready, self.barriers = block, 0, start, [0.0] * 6
        self.waits = False  # true at a barrier of threads
        self.last = 0       # count of issued instructions, of all warps, at its last one
        self.ends = []      # clocks at which its iterations ended


class Sm:
    """One SM: its schedulers, their pipes and the port that they share."""

    def __init__(self, loop, pipes, hold, blocks, warps, repeats, apart):
        self.loop, self.pipes, self.hold, self.repeats, self.each = loop, pipes, hold, repeats, warps
        self.port, self.issued, self.met = 0.0, 0, {}
        self.coming = []  # of each scheduler what next_of returns
        self.free = [0.0] * SCHEDULERS
        self.busy = [dict.fromkeys(pipes, 0.0) for _ in range(SCHEDULERS)]
        self.warps = [[Warp(b, b * apart) for b in range(blocks) for w in range(warps) if w % SCHEDULERS == s]
                      for s in range(SCHEDULERS)]

    def earliest(self, s, warp):
        i = self.loop[warp.at]
        barriers = [until for n, until in enumerate(warp.barriers) if i.waits >> n & 1]
        return max([warp.ready, self.free[s], self.busy[s].get(i.unit, 0.0), *barriers])

    def next_of(self, s):
        """Returns the clock of a scheduler's next instruction and its warp, if one can issue."""
        able = [w for w in self.warps[s] if not w.waits and len(w.ends) < self.repeats]
        return min(((self.earliest(s, w), w.last, n, w) for n, w in enumerate(able)), default=None)

    def result(self, i, time):
        if i.unit not in PORT:
            return time + LATENCY.get(i.unit, OTHERS)
        self.port = max(self.port, time) + (sass.width(i) // 4 if i.unit == "local" else PORT[i.unit])
        return self.port + LATENCY[i.unit]

    def issue(self, s, time, warp):
        i = self.loop[warp.at]
        self.issued += 1
        warp.last, warp.ready = self.issued, time + i.stall
        self.free[s] = time + (self.hold if i.unit == "tensor" else 1)
        if i.unit in self.busy[s]:
            self.busy[s][i.unit] = time + self.pipes[i.unit]
        result = self.result(i, time)
        for n, until in ((i.writes, result), (i.reads, min(result, time + READ))):
            if n < len(warp.barriers):
                warp.barriers[n] = max(warp.barriers[n], until)
        if i.opcode == "BAR":
            self.meet(warp, time)
        warp.at = (warp.at + 1) % len(self.loop)
        if warp.at == 0:
            warp.ends.append(time)

    def meet(self, warp, time):
        """Has a warp wait for the others of its block at a barrier of threads."""
        at = self.met.setdefault((warp.block, len(warp.ends), warp.at), [])
        at.append(warp)
        warp.waits = True
        if len(at) == self.each:
            for other in at:
                other.waits, other.ready = False, max(other.ready, time)
            self.coming = [self.next_of(s) for s in range(SCHEDULERS)]

    def run(self):
        self.coming = [self.next_of(s) for s in range(SCHEDULERS)]
        while any(self.coming):
            time, s = min((found[0], s) for s, found in enumerate(self.coming) if found)
            self.issue(s, time, self.coming[s][3])
            self.coming[s] = self.next_of(s)  # an instruction changes no other scheduler's next one, but at a barrier of threads


def clocks(loop, architecture, blocks, warps=SCHEDULERS, hold=HOLD, repeats=8, apart=700):
    """Returns the clocks that an SM takes for an iteration of one block, beside so many others, once they have begun."""
    sm = Sm(loop, PIPES[architecture], hold, blocks, warps, repeats, apart)
    sm.run()
    of_one = sm.warps[0]
    end = min(w.ends[-1] for w in of_one)
    rate = 0.0
    for warp in of_one:
        ends = [e for e in warp.ends if e <= end]
        rate += (len(ends) - 2) / (ends[-1] - ends[1])
    return max(warps // SCHEDULERS, 1) / rate
