// The debug variants on the GPU beside the interpreter: every intermediate of every tile and chunk, on equal inputs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/reference/attention_dump.hpp"
#include "model/fusion/partition.hpp"
#include "model/interpret/dump.hpp"
#include "model/interpret/storage.hpp"
#include "tests/kernel/gpu.hpp"
#include "tests/support/layout.hpp"

namespace test_attention_dump {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 40, 5};

/// An intermediate by file name.
struct Shown {
  std::string name, file_end;  ///< "S" and ".g0_0_0_1.i2.npy"
  Tensor tensor;
};
using Files = std::map<std::string, Shown>;

Observer into(Files& files) {
  return [&files](const Observation& seen) {
    const std::string file = dump_name(seen), name(seen.name);
    files[file] = {name, file.substr(name.size()), seen.tensor};
  };
}

/// The allowed differences of kernel and interpreter: the rounding of P to the type, the exponential's error of 2^-22,
/// and the errors of sums in fp32 over a row. Inputs are in [-1, 1].
class Bounds {
 public:
  Bounds(const LaidOut& laid, const Files& exact, const Files& kernel, bool lags)
      : exact_(exact),
        kernel_(kernel),
        lags_(lags),
        unit_(laid.problem.dtype == DType::bf16 ? 0x1p-8 : 0x1p-11),
        products_(
            static_cast<double>(laid.problem.sizes[static_cast<std::size_t>(laid.streamed.diagram.axis("d"))].get()) *
            0x1p-20) {}

  void hold(const Shown& right, const Shown& found) const {
    REQUIRE(found.tensor.shape == right.tensor.shape);
    const std::size_t rows =
        exact_.contains("mu" + right.file_end) ? exact_.at("mu" + right.file_end).tensor.data.size() : 1;
    const std::size_t columns = right.tensor.data.size() / rows;
    double worst = 0;  // largest difference over the allowed one
    for (std::size_t i = 0; i < right.tensor.data.size(); ++i) {
      const auto [value, allowed] = expected(right, i, i / columns);
      const double k = found.tensor.data[i];
      const double off = k == value ? 0 : std::fabs(k - value) / allowed;
      worst = std::isnan(off) ? HUGE_VAL : std::max(worst, off);
    }
    CHECK(worst <= 1);
  }

 private:
  struct Expected {
    double value, allowed;
  };

  double state(const Files& files, const char* name, const Shown& of, std::size_t row) const {
    return files.at(name + of.file_end).tensor.data[row];
  }

  /// Returns the factor on P, O and z if the kernel subtracts a number of its own, which lags behind the maximum.
  [[nodiscard]] double relative(const Shown& of, std::size_t row) const {
    const double exact = state(exact_, "mu", of, row), own = state(kernel_, "mu", of, row);
    return lags_ && exact != own ? std::exp(exact - own) : 1;
  }

  [[nodiscard]] Expected expected(const Shown& right, std::size_t i, std::size_t row) const {
    const double value = right.tensor.data[i], exponent = 4 * products_;  // of an exponential, relative
    if (right.name == "S" || right.name == "mu") return {value, products_};
    if (right.name == "delta") return {value, exponent};
    if (right.file_end.ends_with(".tail.npy")) return {value, unit_ + exponent};
    const double by = relative(right, row), z = state(exact_, "z", right, row) * by;
    if (right.name == "P") return {value * by, value * by * (unit_ + exponent) + 0x1p-24};
    if (right.name == "z") return {z, z * exponent};
    return {value * by, z * (unit_ + exponent)};  // |O| <= sum P |V| <= z
  }

  const Files &exact_, &kernel_;
  bool lags_;
  double unit_, products_;
};

void hold(const std::string& kernel, const test::Shape& shape, const Mask& mask, const test::Knobs& tile,
          DType type = DType::bf16) {
  Runtime* runtime = test::gpu("sm_90");
  if (runtime == nullptr) return;
  CAPTURE(kernel);
  CAPTURE(text_of(mask));
  const LaidOut laid(kernel, "h200-sxm", shape, type, mask);
  const PlacedDiagram placed = laid.place(tile);
  Tensors inputs = random_inputs(laid.streamed.diagram, laid.problem.sizes, 3);
  for (auto& [name, tensor] : inputs) {
    for (double& value : tensor.data) value = round_to(type, value);
  }
  Files exact, found;
  RunOptions options;
  options.backward = true;
  options.observer = into(exact);
  Partition partition{placed.block().extent, placed.block().chunk};
  for (std::size_t a = 0; a < partition.group.size(); ++a)
    partition.group[a] = std::min(partition.group[a], laid.problem.sizes[a]);
  partition.chunk =
      std::min(partition.chunk, laid.problem.sizes[static_cast<std::size_t>(laid.streamed.diagram.axis("x"))]);
  static_cast<void>(run_streamed(laid.streamed, laid.problem, partition, inputs, options));
  dump_attention(*runtime, placed, inputs, {{}, into(found)});

  CHECK(found.size() == exact.size());
  const bool lags =
      kernel == "attention_sm80" &&
      std::find(tile.begin(), tile.end(), std::pair<std::string, std::string>{"rescale", "always"}) == tile.end();
  const Bounds bounds(laid, exact, found, lags);
  for (const auto& one : exact) {
    const std::string& file = one.first;
    const Shown& right = one.second;
    CAPTURE(file);
    REQUIRE(found.contains(file));
    if (lags && (right.name == "mu" || right.name == "delta"))
      continue;  // its own; what they make of P, O and z is held
    bounds.hold(right, found.at(file));
  }
}

const test::Shape ragged{{"b", 2}, {"h", 2}, {"q", 200}, {"x", 300}, {"d", 64}};

}  // namespace

TEST_CASE("attention_sm90: masks, overlap, order, P in registers and in shared memory") {
  for (const Mask& mask : {none, causal, window}) {
    for (const char* overlap : {"on", "off"}) {
      for (const char* order : {"persistent", "longest_first"}) {
        hold("attention_sm90", ragged, mask,
             {{"warpgroups", "2"}, {"q", "128"}, {"x", "64"}, {"overlap", overlap}, {"order", order}});
      }
    }
    hold("attention_sm90", ragged, mask, {{"warpgroups", "3"}, {"q", "192"}, {"x", "128"}, {"p_in", "shared"}},
         DType::f16);
  }
  hold("attention_sm90", {{"h", 2}, {"q", 256}, {"x", 300}, {"d", 128}}, none,
       {{"warpgroups", "2"}, {"q", "128"}, {"x", "64"}, {"cluster", "2"}});
}

TEST_CASE("attention_sm90: query heads packed into a tile; rows that see nothing") {
  const test::Shape grouped{{"h", 2}, {"g", 6}, {"q", 50}, {"x", 90}, {"d", 64}};
  hold("attention_sm90", grouped, causal, {{"warpgroups", "2"}, {"g", "4"}, {"q", "32"}, {"x", "32"}});
  hold("attention_sm90", {{"h", 2}, {"q", 300}, {"x", 100}, {"d", 64}}, causal,
       {{"warpgroups", "1"}, {"q", "64"}, {"x", "32"}, {"pingpong", "off"}});
}

TEST_CASE("attention_sm80: masks, stages, Q in registers, rescaling with every chunk and rarely") {
  for (const Mask& mask : {none, causal, window}) {
    for (const char* rescale : {"always", "rarely"}) {
      hold("attention_sm80", ragged, mask, {{"q", "64"}, {"x", "64"}, {"warps", "4"}, {"rescale", rescale}});
      hold("attention_sm80", ragged, mask,
           {{"q", "128"}, {"x", "32"}, {"warps", "4"}, {"stages", "2"}, {"rescale", rescale}}, DType::f16);
    }
    hold("attention_sm80", ragged, mask,
         {{"q", "64"}, {"x", "48"}, {"warps", "4"}, {"q_in", "registers"}, {"rescale", "always"}});
  }
  hold("attention_sm80", {{"h", 2}, {"g", 3}, {"q", 300}, {"x", 100}, {"d", 64}}, causal,
       {{"q", "64"}, {"x", "32"}, {"warps", "4"}, {"rescale", "always"}});
}

}  // namespace test_attention_dump
