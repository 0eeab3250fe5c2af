// Diagrams of published architectures, each a single YAML file: each derives, and the interpreter's counts and values
// (`query --check`) are the predicted ones, on the abstract machine and on a GPU.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/rewrite.hpp"
#include "napkin/napkin.hpp"

namespace test_architectures {

namespace {

using namespace napkin;
using namespace napkin::internal;

// Returns the size of an axis whose size depends on others: few pages and experts, narrow windows.
std::int64_t size_of(const std::string& axis) {
  if (axis == "w") return 12;
  if (axis == "d" || axis == "k" || axis == "c" || axis == "z") return 24;
  return axis == "n" || axis == "u" || axis == "r" ? 10 : 40;
}

NamedSizes shape_of(const Diagram& diagram) {
  NamedSizes shape;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) {
    const Axis& axis = diagram.axes[i];
    const bool carried = std::any_of(diagram.arrays.begin(), diagram.arrays.end(),
                                     [&](const Array& array) { return array.has(static_cast<AxisId>(i)); });
    if (carried && std::holds_alternative<std::monostate>(axis.fallback))
      shape.emplace_back(axis.name, size_of(axis.name));
  }
  return shape;
}

const std::vector<std::string>& architectures() {
  static const std::vector<std::string> names = {"attention",
                                                 "multi_query_attention",
                                                 "latent_attention",
                                                 "paged_attention",
                                                 "latent_attention_absorbed",
                                                 "sparse_latent_attention",
                                                 "sink_attention",
                                                 "int4_cache_attention",
                                                 "fp8_cache_attention",
                                                 "int8_cache_attention",
                                                 "sliding_window",
                                                 "linear_attention",
                                                 "linear_attention_causal",
                                                 "gated_linear_attention",
                                                 "retention",
                                                 "differential_attention",
                                                 "sigmoid_attention",
                                                 "alibi_attention",
                                                 "soft_capped_attention",
                                                 "cosine_attention",
                                                 "swiglu",
                                                 "mlp",
                                                 "low_rank_adapter",
                                                 "int4_matmul",
                                                 "mixture_of_experts",
                                                 "mixture_of_experts_combine",
                                                 "mixture_of_experts_dense",
                                                 "convolution_1d",
                                                 "convolution_2d",
                                                 "patch_embedding",
                                                 "max_pooling",
                                                 "layer_norm",
                                                 "group_norm",
                                                 "rms_norm_matmul",
                                                 "cross_entropy"};
  return names;
}

}  // namespace

TEST_CASE("architectures: each derives, and query --check finds what it predicts") {
  const Session session;
  for (const std::string& name : architectures()) {
    CAPTURE(name);
    const Diagram diagram = load_diagram(name);
    CHECK(diagram.about.size() > 15);
    CHECK_FALSE(derive(linearised(diagram)).steps.empty());
    Ask ask;
    ask.algorithm = name;
    ask.shape = shape_of(diagram);
    ask.memory = 30000;
    ask.check = true;
    const auto abstract = session.query(ask);
    REQUIRE(abstract->check);
    CHECK(abstract->check->equal);
    CHECK(abstract->check->output_error < 1e-12);
    ask.memory.reset();
    ask.gpu = "h200-sxm";
    ask.kernel = "ideal";
    const auto placed = session.query(ask);
    REQUIRE(placed->predicted);
    CHECK(placed->predicted->time > 0);
    if (placed->check) CHECK(placed->check->equal);
    CHECK((placed->check || placed->launches.size() > 1));
  }
}

TEST_CASE("architectures: what the new ones tell") {
  const Session session;
  const auto ask = [&](const std::string& name, NamedSizes shape) {
    Ask of;
    of.algorithm = name, of.gpu = "h200-sxm", of.kernel = "ideal", of.shape = std::move(shape);
    return session.query(of);
  };
  const auto bytes = [](const QueryAnswer& answer) { return answer.levels.front().transfer; };
  // 3 x 3 windows over an image read it once, not nine times: b y x c + 9 c o + b i j o values of 2 bytes.
  CHECK(bytes(*ask("convolution_2d", {{"i", 32}, {"c", 64}})) == 2 * (32 * 32 * 64 + 9 * 64 * 64 + 32 * 32 * 64));
  // Weights of 4 bits and scales of 16: u r n / 2 + 2 u n beside 2 (m u r + m n).
  CHECK(bytes(*ask("int4_matmul", {{"m", 16}, {"u", 8}, {"n", 512}})) ==
        8 * 128 * 512 / 2 + 2 * 8 * 512 + 2 * (16 * 8 * 128 + 16 * 512));
  // A table costs 4 bytes a page: keys and values of 12 pages of 16 rows, queries and outputs of one row.
  CHECK(bytes(*ask("paged_attention", {{"q", 1}, {"n", 12}, {"d", 64}})) == 2 * (2 * 12 * 16 * 64 + 2 * 64) + 4 * 12);
  // A token that two experts want is read twice: e r of them, whatever t is.
  const auto experts = ask("mixture_of_experts", {{"t", 64}, {"r", 16}, {"k", 64}, {"h", 128}});
  CHECK(bytes(*experts) == 8 * (4 * 16 + 2 * (16 * 64 + 2 * 64 * 128 + 16 * 64)));
  // The work of a sliding window is w keys for each query.
  CHECK(ask("sliding_window", {{"q", 256}, {"w", 32}, {"d", 64}})->work.flops == 2 * 2 * 256 * 32 * 64);
}

TEST_CASE("diagrams of today: what passes over a level, by hand") {
  const Session session;
  const auto bytes = [&](const std::string& name, NamedSizes shape, const char* level, TileText tile) {
    Ask of;
    of.algorithm = name, of.gpu = "h200-sxm", of.kernel = "ideal", of.shape = std::move(shape);
    of.tile = std::move(tile);
    const auto answer = session.query(of);
    for (const LevelAnswer& one : answer->levels) {
      if (one.name == level) return one.transfer;
    }
    return std::int64_t{-1};
  };
  const auto device = [&](const std::string& name, NamedSizes shape) {
    return bytes(name, std::move(shape), "l2", {});
  };
  // Two key heads of four queries each: Q, O and the sinks once, K and V once a head.
  CHECK(device("sink_attention", {{"h", 2}, {"g", 4}, {"q", 8}, {"x", 512}, {"d", 64}}) ==
        2 * 2 * (2 * 4 * 8 * 64) + 4 * 2 * 4 + 2 * 2 * (2 * 512 * 64));
  CHECK(device("soft_capped_attention", {{"h", 2}, {"g", 4}, {"q", 8}, {"x", 512}, {"d", 64}}) ==
        2 * 2 * (2 * 4 * 8 * 64) + 2 * 2 * (2 * 512 * 64));
  // Half a byte a value, and two scales of two bytes for each key of a head.
  CHECK(device("int4_cache_attention", {{"h", 2}, {"q", 1}, {"x", 512}, {"d", 64}}) ==
        2 * 2 * (2 * 64) + 2 * (2 * 512 * 64) / 2 + 2 * 2 * (2 * 512));
  // A byte a value, and two scales of four bytes a head.
  for (const char* name : {"fp8_cache_attention", "int8_cache_attention"}) {
    CHECK(device(name, {{"h", 2}, {"q", 1}, {"x", 512}, {"d", 64}}) ==
          2 * 2 * (2 * 64) + 2 * (2 * 512 * 64) + 2 * 4 * 2);
  }
  // A query reads its 32 rows of 80 values and their numbers once for all 16 heads.
  CHECK(device("sparse_latent_attention", {{"h", 16}, {"q", 4}, {"n", 32}, {"t", 4096}, {"c", 64}, {"r", 16}}) ==
        2 * 16 * 4 * (2 * 64 + 16) + 4 * 32 * (2 * 80 + 4));
  // Weights of each head once, the latent once.
  CHECK(device("latent_attention_absorbed",
               {{"b", 3}, {"h", 16}, {"q", 1}, {"x", 512}, {"c", 64}, {"r", 16}, {"d", 32}}) ==
        2 * 3 * 16 * (32 + 16 + 32) + 2 * 2 * 16 * 32 * 64 + 2 * 3 * 512 * 80);
  // A group of 16 queries and a chunk of 32 of 64 keys: 47 rows of K and V, twice.
  CHECK(bytes("sliding_window", {{"q", 128}, {"x", 192}, {"w", 64}, {"d", 64}}, "shared", {{"q", "16"}, {"w", "32"}}) ==
        2 * 2 * 128 * 64 + (128 / 16) * 2 * 2 * (2 * (16 + 32 - 1)) * 64);
}

}  // namespace test_architectures
