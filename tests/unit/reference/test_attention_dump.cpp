// The dumps of the attention kernels' debug variants, without a GPU: simulated warps write the interpreter's values at
// the places that the kernels' own arithmetic gives, and the files read from the dump equal the interpreter's.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kernels/jit/failure.hpp"
#include "kernels/reference/attention_dump.hpp"
#include "model/fusion/partition.hpp"
#include "model/interpret/dump.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/compiling.hpp"
#include "tests/support/kernels_on_host.hpp"
#include "tests/support/layout.hpp"

namespace test_attention_dump {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

constexpr LaunchDevice h200{132, Bytes(62914560)};
const Mask none, causal{Mask::Kind::causal, 0, 0}, window{Mask::Kind::window, 10, 3};
const test::Shape ragged{{"b", 2}, {"h", 2}, {"g", 3}, {"q", 37}, {"x", 45}, {"d", 64}};

struct Shown {
  std::vector<std::int64_t> first;
  Tensor tensor;
  bool operator==(const Shown&) const = default;
};
using Files = std::map<std::string, Shown>;  // values by file name

Observer into(Files& files) {
  return [&files](const Observation& seen) { files[dump_name(seen)] = {seen.first, seen.tensor}; };
}

/// Values of a run by name and chunk (-1: the tail), then by place b, h, g, q, and column.
using Values = std::map<std::pair<std::string, std::int64_t>, std::unordered_map<std::int64_t, float>>;

std::int64_t number_of(const std::vector<std::int64_t>& place) {
  std::int64_t out = 1;  // 1, so that places of different lengths differ: O[0] is not O
  for (const std::int64_t each : place) out = out * 1024 + each;
  return out;
}

Values values_of(const LaidOut& laid, const Partition& partition, Files& files) {
  Values values;
  RunOptions options;
  options.precision.storage = DType::f32;
  options.backward = true;
  const Observer collect = into(files);
  options.observer = [&](const Observation& seen) {
    collect(seen);
    const Tensor& t = seen.tensor;
    auto& of_chunk = values[{std::string(seen.name), seen.phase == Phase::tail ? -1 : seen.iteration}];
    for (std::size_t i = 0; i < t.data.size(); ++i) {
      std::vector<std::int64_t> place = seen.first;
      std::int64_t rest = static_cast<std::int64_t>(i);
      for (std::size_t a = t.shape.size(); a-- > 0; rest /= t.shape[a]) place[a] += rest % t.shape[a];
      of_chunk[number_of(place)] = static_cast<float>(t.data[i]);
    }
  };
  static_cast<void>(run_streamed(laid.streamed, laid.problem, partition,
                                 random_inputs(laid.streamed.diagram, laid.problem.sizes, 5), options));
  return values;
}

/// The warps of a kernel that compute the interpreter's values.
class Warps {
 public:
  Warps(const DumpLayout& layout, const AttentionDump& at, const Values& values, std::size_t tiles)
      : layout_(layout), at_(at), values_(values), numbers(tiles * static_cast<std::size_t>(layout.tile_size())) {
    std::memset(numbers.data(), 0xFF, numbers.size() * sizeof(float));
  }

  void write(const DeviceTile& tile, int number, int heads, std::int64_t chunk, std::int64_t first_key, int keys,
             int columns) {
    const std::int64_t n = chunk < 0 ? layout_.chunks : chunk;
    float* rows = numbers.data() + number * layout_.tile_size() + n * layout_.chunk_size();
    for (int warp = 0; warp < layout_.rows / 16; ++warp) {
      for (int lane = 0; lane < 32; ++lane) {
        const auto put = [&](const char* name, int width, int column, std::int64_t first) {
          for (int i = 0; i < width / 2; ++i) {
            const int row = warp * 16 + fragment_row(lane, i), c = fragment_column(lane, i);
            rows[row * layout_.pitch + column + c] = value(tile, heads, name, chunk, row, first + c);
          }
        };
        put("O", columns, at_.o, 0);
        if (chunk < 0) continue;
        put("S", keys, at_.s, first_key);
        put("P", keys, at_.p, first_key);
        for (const auto& [name, column] : {std::pair{"mu", at_.mu}, {"delta", at_.delta}, {"z", at_.z}}) {
          for (int r = 0; r < 2; ++r) {
            const int row = warp * 16 + lane / 4 + 8 * r;
            rows[row * layout_.pitch + column] = value(tile, heads, name, chunk, row, -1);
          }
        }
      }
    }
  }

 private:
  /// Returns a value of the interpreter, or, outside the arrays, a number that must not reach the output.
  [[nodiscard]] float value(const DeviceTile& tile, int heads, const char* name, std::int64_t chunk, int row,
                            std::int64_t column) const {
    std::vector<std::int64_t> place{tile.batch, tile.head, tile.packed_head + row % heads, tile.q_first + row / heads};
    if (column >= 0) place.push_back(column);
    const auto of_chunk = values_.find({name, chunk});
    if (of_chunk == values_.end()) return 1e30F;
    const auto found = of_chunk->second.find(number_of(place));
    return found == of_chunk->second.end() ? 1e30F : found->second;
  }

  DumpLayout layout_;
  AttentionDump at_;
  const Values& values_;

 public:
  std::vector<float> numbers;
};

template <class Arguments>
AttentionShape shape_in(const LaunchPlan& plan) {
  Arguments out;
  REQUIRE(plan.arguments.size() == sizeof out);
  std::memcpy(static_cast<void*>(&out), plan.arguments.data(), sizeof out);
  return out.shape;
}

template <int Q, int X, int G, MaskKind Kind>
void hold(const LaidOut& laid, const test::Knobs& knobs, const AttentionShape& shape) {
  const PlacedDiagram placed = laid.place(knobs);
  Files expected, shown;
  const Partition partition = make_partition(laid.streamed, laid.problem.sizes, {{"q", Q}, {"g", G}, {"x", X}}, "tile");
  const Values values = values_of(laid, partition, expected);
  const DumpLayout layout = attention_dump_layout(placed);
  CHECK(layout.rows == Q * G);
  CHECK(layout.chunks == (shape.x + X - 1) / X);
  CHECK(attention_dump_bytes(placed) == Bytes(4 * shape.tiles * layout.tile_size()));
  Warps warps(layout, attention_dump(X, 64), values, static_cast<std::size_t>(shape.tiles));
  std::set<int> numbers;
  for (int i = 0; i < shape.tiles; ++i) {
    const DeviceTile tile = find_tile<Q, X, G, TileOrder::longest_first, Kind, false>(shape, i);
    const int number = tile_number<Q, G>(shape, tile);
    numbers.insert(number);
    for (int n = tile.first; n < tile.last; ++n) warps.write(tile, number, G, n, n * X, X, 64);
    warps.write(tile, number, G, -1, 0, X, 64);
  }
  CHECK(static_cast<int>(numbers.size()) == shape.tiles);
  CHECK((*numbers.begin() == 0 && *numbers.rbegin() == shape.tiles - 1));
  const auto size = static_cast<std::size_t>(layout.tile_size());
  for (int i = 0; i < shape.tiles; ++i) {
    show_attention_tile(placed, i,
                        std::span<const float>(warps.numbers).subspan(static_cast<std::size_t>(i) * size, size),
                        {{}, into(shown)});
  }
  CHECK(shown.size() == expected.size());
  for (const auto& one : expected) {
    const std::string& name = one.first;
    CAPTURE(name);
    REQUIRE(shown.contains(name));
    CHECK(shown[name].first == one.second.first);
    CHECK(shown[name].tensor.shape == one.second.tensor.shape);
    CHECK(shown[name].tensor.data == one.second.tensor.data);
  }
}

template <int Q, int X, int G>
void hold(const std::string& kernel, const test::Knobs& knobs, const Mask& mask) {
  CAPTURE(text_of(mask));
  const LaidOut laid(kernel, "h200-sxm", ragged, DType::bf16, mask);
  AttentionCall call = call_without_arrays(laid.place(knobs), false);
  call.dump = 4096;
  const LaunchPlan launch = attention_plan(laid.place(knobs), call, h200);
  CHECK(launch.expression.find(".cycles = false, .dump = true") != std::string::npos);
  const AttentionShape shape =
      kernel == "attention_sm90" ? shape_in<AttentionArguments>(launch) : shape_in<AttentionSm80Arguments>(launch);
  if (mask.kind == Mask::Kind::none) return hold<Q, X, G, MaskKind::none>(laid, knobs, shape);
  if (mask.kind == Mask::Kind::causal) return hold<Q, X, G, MaskKind::causal>(laid, knobs, shape);
  hold<Q, X, G, MaskKind::window>(laid, knobs, shape);
}

const test::Knobs sm90{{"warpgroups", "1"}, {"g", "2"},          {"q", "32"},
                       {"x", "16"},         {"pingpong", "off"}, {"order", "longest_first"}};
const test::Knobs sm80{{"q", "32"}, {"x", "16"}, {"warps", "2"}, {"order", "longest_first"}};

}  // namespace

TEST_CASE("accumulators of a warp fill its 16 rows, each place once") {
  for (const int columns : {16, 64, 176, 256}) {
    std::set<std::pair<int, int>> places;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < columns / 2; ++i) places.emplace(fragment_row(lane, i), fragment_column(lane, i));
    }
    CHECK(static_cast<int>(places.size()) == 16 * columns);
    CHECK(places.begin()->first == 0);
    CHECK(*places.rbegin() == std::pair(15, columns - 1));
  }
  // PTX ISA, m64nNk16, D: lane 5 holds row 1 from column 2, then row 9.
  CHECK(std::pair(fragment_row(5, 1), fragment_column(5, 1)) == std::pair(1, 3));
  CHECK(std::pair(fragment_row(5, 2), fragment_column(5, 2)) == std::pair(9, 2));
  CHECK(std::pair(fragment_row(5, 4), fragment_column(5, 4)) == std::pair(1, 10));
}

TEST_CASE("the columns of a row lie side by side") {
  const AttentionDump at = attention_dump(48, 64);
  CHECK(at.s == 0);
  CHECK(at.p == 48);
  CHECK(at.o == 96);
  CHECK(at.mu == 160);
  CHECK(at.delta == 161);
  CHECK(at.z == 162);
  CHECK(at.pitch == 163);
}

TEST_CASE("what the warps write is shown as the interpreter shows it: groups, ragged ends, masks") {
  for (const Mask& mask : {none, causal, window}) {
    hold<32, 16, 2>("attention_sm90", sm90, mask);
    hold<32, 16, 1>("attention_sm80", sm80, mask);
  }
}

TEST_CASE("only what is asked for is shown; a tile that was never written is an error") {
  const LaidOut laid("attention_sm80", "h200-sxm", {{"q", 20}, {"x", 40}, {"d", 64}}, DType::bf16);
  const PlacedDiagram placed = laid.place(sm80);
  const DumpLayout layout = attention_dump_layout(placed);
  std::vector<float> numbers(static_cast<std::size_t>(layout.tile_size()), 1);
  Files shown;
  show_attention_tile(placed, 0, numbers, {{"mu"}, into(shown)});
  CHECK(shown.size() == 3);
  CHECK(shown.at("mu.g0_0_0_0.i2.npy").tensor == filled({1, 1, 1, 20}, 1));
  std::memset(numbers.data(), 0xFF, numbers.size() * sizeof(float));
  CHECK_THROWS_AS(show_attention_tile(placed, 0, numbers, {{}, into(shown)}), CudaFailure);
}

TEST_CASE("a dump stands alone") {
  for (const std::string kernel : {"attention_sm90", "attention_sm80"}) {
    const LaidOut laid(kernel, "h200-sxm", ragged, DType::bf16);
    AttentionCall call = call_without_arrays(laid.place(kernel == "attention_sm90" ? sm90 : sm80), true);
    call.dump = 4096;
    CHECK_THROWS_AS((void)attention_plan(laid.place(kernel == "attention_sm90" ? sm90 : sm80), call, h200), Error);
    call.cycles = 0;
    CHECK_NOTHROW((void)attention_plan(laid.place(kernel == "attention_sm90" ? sm90 : sm80), call, h200));
    call.q_starts = call.x_starts = 4096;
    call.q_rows = call.x_rows = 100;
    CHECK_THROWS_AS((void)attention_plan(laid.place(kernel == "attention_sm90" ? sm90 : sm80), call, h200), Error);
  }
}

// Slow without a cache of compiled kernels: some seconds a variant.
TEST_CASE("debug variants compile" * doctest::test_suite("compiling")) {
  const auto environment = test::compiling_environment();
  if (!environment) return;
  struct Variant {
    std::string kernel;
    DType type;
    test::Knobs tile;
    Mask mask;
  };
  const std::vector<Variant> variants{
      {"attention_sm90", DType::bf16, {{"q", "128"}, {"x", "64"}, {"warpgroups", "2"}}, causal},
      {"attention_sm90",
       DType::f16,
       {{"q", "192"}, {"x", "64"}, {"warpgroups", "3"}, {"p_in", "shared"}, {"overlap", "off"}},
       none},
      {"attention_sm80", DType::bf16, {{"q", "64"}, {"x", "64"}, {"warps", "4"}}, causal},
      {"attention_sm80",
       DType::f16,
       {{"q", "64"}, {"x", "32"}, {"warps", "2"}, {"rescale", "always"}, {"q_in", "registers"}},
       window},
  };
  for (int i = 0; i < test::rounds(static_cast<int>(variants.size())); ++i) {
    const Variant& variant = variants[static_cast<std::size_t>(i)];
    const LaidOut laid(variant.kernel, "h200-sxm", {{"h", 2}, {"q", 500}, {"x", 300}, {"d", 64}}, variant.type,
                       variant.mask);
    AttentionCall call = call_without_arrays(laid.place(variant.tile), false);
    call.dump = 4096;
    const Compilation out =
        compile(attention_plan(laid.place(variant.tile), call, h200), *environment, Objections::report);
    CHECK(!out.kernel.cubin.empty());
  }
}

}  // namespace test_attention_dump
