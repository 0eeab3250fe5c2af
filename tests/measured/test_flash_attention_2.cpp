// FlashAttention-2 as PyTorch runs it on an H200 (flash_attention_2/*.jsonl), predicted: nothing is fitted to it. Its
// mapping's counts of instructions beside those that a profiler counted.

#include <algorithm>
#include <cmath>

#include "model/clock/graph/event_graph.hpp"
#include "tests/measured/row.hpp"
#include "tests/support/layout.hpp"

namespace test_flash_attention_2 {

namespace {

using cli::Json;
using measured::Errors;
using measured::number;

Json predicted(const Json& row) {
  std::vector<std::string> ask =
      cli::words_of(std::string("query attention") + (row["peer"] == "flash_attention_2_backward" ? "_backward" : "") +
                    " --gpu h200-sxm --json --kernel " + row["peer"].get<std::string>() + " --shape " +
                    cli::pairs(row["shape"]) + " --tile " + cli::pairs(row["tile"]));
  if (row["mask"] == "causal") ask.emplace_back("--causal");
  return cli::asked(ask)["predicted"];
}

TEST_CASE("FlashAttention-2's times within 3.5 % in the mean, none fitted; its power where it is at the limit") {
  Errors time, power;
  for (const Json& row : measured::rows_of("flash_attention_2/forward.jsonl")) {
    const Json p = predicted(row);
    const bool loop = row.contains("loop");
    const double error = number(p, "time") / (loop ? number(row["loop"], "time") : number(row, "time")) - 1;
    MESSAGE(cli::pairs(row["shape"]) << " " << row["mask"].get<std::string>() << ": " << 100 * error << " %");
    time.add(error);
    if (loop && number(row["loop"], "power") > 680) power.add(number(p, "power") / number(row["loop"], "power") - 1);
  }
  CHECK(time.rows == 44);
  CHECK(time.mean < 0.035);
  CHECK(time.worst < 0.16);  // the worst row has 512 queries under a mask
  CHECK(std::abs(time.bias) < 0.015);
  CHECK(power.mean < 0.02);
}

TEST_CASE("few queries, whose keys it deals out to blocks") {
  Errors of;
  for (const Json& row : measured::rows_of("flash_attention_2/few_queries.jsonl")) {
    const double error = number(predicted(row), "time") / number(row, "time") - 1;
    MESSAGE(cli::pairs(row["shape"]) << ", splits " << row["splits"].dump() << ": " << 100 * error << " %");
    of.add(error);
  }
  CHECK(of.rows == 16);
  CHECK(of.mean < 0.07);
  CHECK(of.worst < 0.21);  // 30 us
}

TEST_CASE("cycles of the gradients' main kernel within 4 % in the mean, none fitted") {
  Errors of;
  for (const Json& row : measured::rows_of("flash_attention_2/counters_backward.jsonl")) {
    const double error = number(predicted(row), "cycles") / number(row, "cycles") - 1;
    MESSAGE(cli::pairs(row["shape"]) << " " << row["mask"].get<std::string>() << ": " << 100 * error << " %");
    of.add(error);
  }
  CHECK(of.rows == 9);
  CHECK(of.mean < 0.04);
  CHECK(of.worst < 0.12);  // heads of 256
}

TEST_CASE("counted instructions are those of the mapping within 7 %, bytes of the port within 6 %") {
  for (const Json& row : measured::rows_of("flash_attention_2/counters.jsonl")) {
    CAPTURE(cli::pairs(row["shape"]));
    CAPTURE(row["mask"].get<std::string>());
    // the profiler's counts do not separate whole chunks from those that the mask cuts
    if (row["mask"] != "none") continue;
    const napkin::internal::test::LaidOut laid("flash_attention_2", "h200-sxm", measured::sizes_of(row["shape"]),
                                               napkin::DType::bf16);
    const napkin::internal::EventGraph graph =
        napkin::internal::event_graph(laid.place(measured::texts_of(row["tile"])));
    double slots = 0, port = 0;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].phase != napkin::internal::Phase::loop) continue;
      slots += graph.nodes[n].demand[napkin::internal::issue_pipe] * graph.instances[n];
      for (std::size_t p = 0; p < graph.pipes.size(); ++p) {
        if (graph.pipes[p].name == "shared_port") port += graph.nodes[n].demand[p] * graph.instances[n];
      }
    }
    const double iterations = number(row, "iterations");
    CHECK(slots * 4 * iterations == doctest::Approx(number(row, "instructions")).epsilon(0.07));
    CHECK(port * iterations == doctest::Approx(number(row, "port_wavefronts")).epsilon(0.06));
  }
}

}  // namespace

}  // namespace test_flash_attention_2
