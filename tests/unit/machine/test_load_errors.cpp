// Every mistake that a profile can have, with its place, the problem and a correction.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/machine/load.hpp"
#include "small_profile.hpp"
#include "tests/support/mistakes.hpp"

namespace test_load_errors {

using namespace napkin;
using namespace napkin::internal;

namespace {

void check_refused(const test::Slip& slip) {
  test::check_refused(slip, [&] { return parse_machine(changed(slip.old, slip.replacement), "p.yaml"); });
}

}  // namespace

TEST_CASE("the small profile itself is right") { CHECK_NOTHROW((void)parse_machine(small_profile, "p.yaml")); }

TEST_CASE("a profile's keys: every slip is refused where it stands") {
  const std::vector<test::Slip> all = {
      {"vendor: other", "vendor: other\nvendr: x", "4:1", "unknown key 'vendr'", "did you mean 'vendor'?"},
      {"vendor: other", "vendor: other\nvendor: amd", "4:1", "key 'vendor' stands twice",
       "once (the first is in line 3)"},
      {"vendor: other", "vendor: acme", "3:9: vendor", "unknown 'acme'", "did you mean 'amd'?"},
      {"architecture: test_1", "architecture: \"\"", "4:15: architecture", "is empty", "such as sm_90"},
      {"name: small", "nam: small", "1:1", "unknown key 'nam'", "did you mean 'name'?"},
      {"name: small", "name: Small Machine", "1:7: name", "'Small Machine' is not a profile's name",
       "small letters, digits and -, such as h200-sxm"},
      {"name: small\n", "", "1:1", "key 'name' is missing", "name: ..."},
      {"    latency: {value: 280", "    latencies: {value: 280", "39:5: pipes.l2", "unknown key 'latencies'",
       "did you mean 'latency'?"},
      {"launch_overhead:", "launch_overhed:", "75:3: constants", "unknown key 'launch_overhed'",
       "did you mean 'launch_overhead'?"},
      {"{role: issue,", "{role: isue,", "66:17: units.issue.role", "unknown 'isue'", "did you mean 'issue'?"},
      {"{role: issue,", "{passes: special, role: issue,", "66:19: units.issue.passes",
       "'special' is no port above this unit", "a unit whose rate is in B/clk, listed first"},
      {"  issue:", "  isue:", "66:3: units", "unknown key 'isue'", "did you mean 'issue'?"},
      {"{value: 12, unit: results/clk, source: a datasheet}", "{value: 12, unit: results/clk, sauce: a datasheet}",
       "65:51: units.special.beside_tensor", "unknown key 'sauce'", "did you mean 'source'?"},
  };
  for (const test::Slip& broken : all) check_refused(broken);
}

TEST_CASE("a profile's numbers: every slip is refused where it stands") {
  const std::vector<test::Slip> all = {
      {"{value: 280, unit: clk, source: a datasheet}", "{value: 280, source: a datasheet}", "39:14: pipes.l2.latency",
       "no unit", "unit: clk"},
      {"{value: 280, unit: clk, source: a datasheet}", "{unit: clk, source: a datasheet}", "39:14: pipes.l2.latency",
       "no value", "value: a number"},
      {"{value: 280, unit: clk, source: a datasheet}", "{value: 280, unit: clk}", "39:14: pipes.l2.latency",
       "no source", "source: \"...\" or measured: {tool: ..., date: ..., driver: ...}"},
      {"{value: 280, unit: clk, source: a datasheet}", "{value: 280, unit: clk, source: ''}",
       "39:46: pipes.l2.latency.source", "empty", "where the number comes from"},
      {"{value: 280, unit: clk, source: a datasheet}", "280", "39:14: pipes.l2.latency",
       "not a number with its unit and source", "{value: ..., unit: clk, source: \"...\"}"},
      {"{value: 280, unit: clk, source: a datasheet}", "{value: 280, unit: GHz, source: a datasheet}",
       "39:33: pipes.l2.latency.unit", "unit 'GHz' measures a frequency, not a number of clocks", "clk"},
      {"{value: 280, unit: clk, source: a datasheet}", "{value: 280, unit: clocks, source: a datasheet}",
       "39:33: pipes.l2.latency.unit", "unknown unit 'clocks'", "one of clk"},
      {"value: 280", "value: -280", "39:22: pipes.l2.latency.value", "-280 is not positive", "a number above 0"},
      {"value: 280", "value: 0", "39:22: pipes.l2.latency.value", "0 is not positive", "a number above 0"},
      {"value: 280", "value: .nan", "39:22: pipes.l2.latency.value", "'.nan' is not a number",
       "a finite number such as 3.35 or 1e9"},
      {"value: 280", "value: 1e300", "39:22: pipes.l2.latency.value",
       "1e300 clk is not plausible for a number of clocks", "check value and unit"},
      {"value: 280", "value: many", "39:22: pipes.l2.latency.value", "'many' is not a number",
       "a finite number such as 3.35 or 1e9"},
      {"value: 280", "value: \"280\"", "39:22: pipes.l2.latency.value", "not a number", "a number such as 3.35 or 1e9"},
      {"value: 280", "value: [280]", "39:22: pipes.l2.latency.value", "not a number", "a number such as 3.35 or 1e9"},
      {"value: 280", "value: 1e12", "39:22: pipes.l2.latency.value", "1e12 clk is not plausible for a number of clocks",
       "check value and unit"},
      {"value: 5, unit: nodes", "value: 5.5, unit: nodes", "20:25: levels.shared.per_parent.value", "5.5 is not whole",
       "a whole number"},
      {"value: 4800, unit: GB/s", "value: 4800, unit: GB", "32:38: pipes.device.bandwidth.datasheet.unit",
       "unit 'GB' measures a size, not a bandwidth", "one of GB/s, TB/s, GiB/s"},
      {"value: 32, unit: B/clk", "value: 32, unit: GB/s", "38:43: pipes.l2.bandwidth_per_node.unit",
       "unit 'GB/s' measures a bandwidth, not a bandwidth per clock", "B/clk"},
      {"{value: 16, unit: results/clk, source: a datasheet}", "{value: 16, unit: W, source: a datasheet}",
       "64:29: units.special.rate.unit",
       "unit 'W' measures a power, not results per clock or instructions per clock or operations per clock",
       "one of FLOP/clk, results/clk, instructions/clk"},
  };
  for (const test::Slip& broken : all) check_refused(broken);
}

TEST_CASE("a profile's provenance: every slip is refused where it stands") {
  const std::vector<test::Slip> all = {
      {"{value: 280, unit: clk, source: a datasheet}",
       "{value: 280, unit: clk, source: a, measured: {tool: t, date: 2026, driver: x}}",
       "39:59: pipes.l2.latency.measured", "both a source and a measurement for one value",
       "datasheet: {value, unit, source} and measured: {value, unit, tool, date, driver}"},
      {"{value: 280, unit: clk, source: a datasheet}", "{value: 280, unit: clk, measured: {tool: t, date: 2026}}",
       "39:48: pipes.l2.latency.measured", "no driver", "driver: \"580\", or unknown"},
      {"{value: 280, unit: clk, source: a datasheet}", "{value: 280, unit: clk, measured: {date: 2026, driver: x}}",
       "39:48: pipes.l2.latency.measured", "no tool", "tool: the program that measured it"},
      {"date: 2026-11-20", "date: yesterday", "23:65: levels.shared.capacity.measured.date",
       "'yesterday' is not a date", "2026-11-20, 2026-11, 2026, or unknown"},
      {"date: 2026-11-20", "date: 2026-13-20", "23:65: levels.shared.capacity.measured.date",
       "'2026-13-20' is not a date", "2026-11-20, 2026-11, 2026, or unknown"},
      {"datasheet: {value: 4800, unit: GB/s, source: a datasheet}", "datasheet: {value: 4800, unit: GB/s}",
       "32:18: pipes.device.bandwidth.datasheet", "no source",
       "source: \"...\" or measured: {tool: ..., date: ..., driver: ...}"},
      {"      measured: {value: 4.5, unit: TB/s, tool: a program, date: 2026-11, driver: unknown}\n", "",
       "32:7: pipes.device.bandwidth", "no measured",
       "measured: {value, unit, tool, date, driver}, or {value, unit, source} in place of both"},
      {"tool: a program, date: 2026-11, driver: unknown}", "source: a program}",
       "33:42: pipes.device.bandwidth.measured", "unknown key 'source'",
       "one of value, unit, tool, date, driver, spread, note, gpu, disputed"},
      {"{value: 280, unit: clk, source: a datasheet}",
       "{value: 280, unit: clk, source: a, disputed: {value: 290, unit: clk}}", "39:59: pipes.l2.latency.disputed",
       "no source", "source: \"who states that value\""},
      {"{value: 280, unit: clk, source: a datasheet}",
       "{value: 280, unit: clk, source: a, disputed: {value: 280, unit: clk, source: b}}",
       "39:67: pipes.l2.latency.disputed.value", "the same value again", "the value that the other source states"},
      {"{value: 280, unit: clk, source: a datasheet}",
       "{value: 280, unit: clk, source: a, disputed: {value: 1, unit: W, source: b}}",
       "39:76: pipes.l2.latency.disputed.unit", "unit 'W' measures a power, not a number of clocks", "clk"},
  };
  for (const test::Slip& broken : all) check_refused(broken);
}

TEST_CASE("a profile's levels and pipes: every slip is refused where it stands") {
  const std::vector<test::Slip> all = {
      {"    parent: device\n", "    parent: shared\n", "11:13: levels.l2.parent",
       "the parents run in a circle: l2 -> shared -> l2", "a parent that stands above it"},
      {"    parent: device\n", "    parent: l2\n", "11:13: levels.l2.parent", "the parents run in a circle: l2 -> l2",
       "a parent that stands above it"},
      {"    parent: device\n", "    parent: devise\n", "11:13: levels.l2.parent", "unknown level 'devise'",
       "did you mean 'device'?"},
      {"    parent: device\n", "", "10:5: levels.l2", "no parent",
       "parent: a level that stands above it (only the first has none)"},
      {"    kind: ordinary\n    capacity: {value: 8,",
       "    kind: ordinary\n    parent: shared\n    capacity: {value: 8,", "8:13: levels.device.parent",
       "the parents run in a circle: device -> shared -> l2 -> device", "a first level without a parent"},
      {"kind: cache", "kind: cash", "10:11: levels.l2.kind", "unknown 'cash'", "did you mean 'cache'?"},
      {"    per_parent: {value: 2, unit: nodes, source: a datasheet}\n", "", "10:5: levels.l2", "no per_parent",
       "per_parent: {value, unit: nodes, source}"},
      {"value: 4, unit: nodes", "value: 6, unit: nodes", "16:17: levels.net.per_parent",
       "no level below the same parent has that many nodes to join",
       "at most the per_parent of the level that the network joins"},
      {"    capacity: {value: 8, unit: GB, source: a datasheet}\n", "", "7:5: levels.device", "no capacity",
       "capacity: {value, unit, source} of one node"},
      {"value: 99, unit: KB", "value: 990, unit: KB", "24:16: levels.shared.per_block",
       "one block may use more than a node holds", "at most the capacity"},
      {"compute: shared", "compute: sharde", "26:10: compute", "unknown level 'sharde'", "did you mean 'shared'?"},
      {"compute: shared", "compute: net", "26:10: compute", "'net' is not an ordinary level",
       "the level whose nodes hold the execution units (on a GPU the SM's shared memory)"},
      {"from: net", "from: nit", "41:11: pipes.net.from", "unknown level 'nit'", "did you mean 'net'?"},
      {"from: net", "from: l2", "41:5: pipes.net", "pipe 'l2' joins the same levels",
       "one pipe from a level to another"},
      {"    bandwidth_per_node: {value: 32, unit: B/clk, measured: {tool: a program, date: unknown, driver: "
       "unknown}}\n",
       "", "36:5: pipes.l2", "no bandwidth",
       "bandwidth (of the machine, GB/s), bandwidth_per_node (B/clk) or by_cluster_size"},
      {"{size: 2, bandwidth", "{size: 4, bandwidth", "45:16: pipes.net.by_cluster_size[1].size", "sizes out of order",
       "ascending sizes"},
      {"{size: 2, bandwidth", "{size: 1, bandwidth", "44:16: pipes.net.by_cluster_size[0].size", "'1' is out of range",
       "a whole number from 2 to 4"},
  };
  for (const test::Slip& broken : all) check_refused(broken);
}

TEST_CASE("a profile's execution: every slip is refused where it stands") {
  const std::vector<test::Slip> all = {
      {"types: [bf16, f16]", "types: [bf17]", "48:12: tensor[0].types", "unknown type 'bf17'", "did you mean 'bf16'?"},
      {"types: [bf16, f16]", "types: []", "48:12: tensor[0].types", "no types", "types: [bf16, f16]"},
      {"types: [bf16, f16]", "types: [bf16, bf16]", "48:12: tensor[0].types", "'matrix' of type bf16 stands twice",
       "one entry for an instruction and type"},
      {"m: 64", "m: 0", "50:16: tensor[0].shape.m", "'0' is out of range", "a whole number from 1 to 4096"},
      {"{from: 8, to: 256, step: 8}", "{from: 8, to: 4, step: 8}", "50:37: tensor[0].shape.n.to", "'4' is out of range",
       "a whole number from 8 to 4096"},
      {"- {n: 64, a_shared: 40, a_registers: 32}", "- {n: 8, a_shared: 40, a_registers: 32}",
       "56:15: tensor[0].timing.rows[1].n", "n out of order", "rows by ascending n"},
      {"- {n: 8, a_shared: 20}", "- {n: 8}", "55:11: tensor[0].timing.rows[0]", "no clocks",
       "{n: 64, a_shared: 32, a_registers: 32}"},
      {"- {n: 8, a_shared: 20}", "- {n: 8, a_shared: -20}", "55:28: tensor[0].timing.rows[0].a_shared", "'-20' clocks",
       "a number above 0, at most 1e6"},
      {"      unit: clk\n", "      unit: us\n", "52:13: tensor[0].timing.unit",
       "unit 'us' measures a time, not a number of clocks", "clk"},
      {"{value: 12, unit: results/clk,", "{value: 12, unit: instructions/clk,", "64:5: units.special",
       "numbers in different units", "one unit for all numbers of a unit"},
      {"value: 1500, unit: MHz", "value: 15000, unit: MHz", "70:11: clocks.tensor", "above the maximum clock",
       "at most 2 GHz"},
      {"value: 70, unit: W", "value: 700, unit: W", "73:9: power.idle", "idle power reaches the limit",
       "less than the limit"},
      {"value: 3, unit: us", "value: 3, unit: clk", "75:37: constants.launch_overhead.unit",
       "unit 'clk' measures a number of clocks, not a time", "one of s, ms, us, ns"},
      {"clocks:\n  maximum: {value: 2, unit: GHz, source: a datasheet}\n", "clocks:\n", "69:3: clocks",
       "key 'maximum' is missing", "maximum: ..."},
  };
  for (const test::Slip& broken : all) check_refused(broken);
}

TEST_CASE("more nodes than a machine can have") {
  std::string text = changed("value: 2, unit: nodes", "value: 100000, unit: nodes");
  text.replace(text.find("value: 5, unit: nodes"), 21, "value: 100000, unit: nodes");
  CHECK_THROWS_AS((void)parse_machine(text, "p.yaml"), Error);
}

TEST_CASE("texts that are no profile at all") {
  for (const char* text :
       {"", "[]", "a: b", "levels: {}", "{", "\x01", "name: [x]", "- - -", "name: a\n---\nname: b"}) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)parse_machine(text, "p.yaml"), Error);
  }
  CHECK_THROWS_AS((void)parse_machine(std::string(100000, '['), "p.yaml"), Error);
}

TEST_CASE("every line matters or may be left out, but nothing aborts") {
  const std::string text(small_profile);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    std::string without = text.substr(0, at) + text.substr(end);
    try {
      (void)parse_machine(without, "p.yaml");
    } catch (const Error&) {
      // an Error is as good as an accepted profile here
    }
    at = end;
  }
}

}  // namespace test_load_errors
