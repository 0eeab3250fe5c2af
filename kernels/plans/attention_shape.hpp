#pragma once
// The plans of all attention kernels share these functions: attention_shape passes a question's sizes to the device,
// mask_kind_of its mask.

#include <numbers>
#include <optional>

#include "kernels/attention/common/arguments.cuh"
#include "kernels/jit/source.hpp"
#include "kernels/plans/attention.hpp"
#include "kernels/plans/placement_reader.hpp"

namespace napkin::internal {

[[nodiscard]] Initialiser::Enumerator enumerator(TileOrder order);
[[nodiscard]] Initialiser::Enumerator enumerator(MaskKind mask);
[[nodiscard]] TileOrder tile_order_of(std::string_view word);
[[nodiscard]] MaskKind mask_kind_of(const Mask& mask);

/// Writes a configuration of attention_sm90's templates by field name, as the compiler reads it.
[[nodiscard]] Initialiser written_forward(const AttentionConfig& config);

/// The sizes of a question of attention, as the kernels take them.
struct AttentionLengths {
  int b = 0, h = 0, g = 0, q = 0, x = 0, d = 0, dv = 0;
  DType dtype = DType::bf16;
  Mask mask;
};
/// Reads the sizes. Throws Overflow for a size that does not fit an int.
[[nodiscard]] AttentionLengths lengths_of(const PlacedDiagram& placed);

/// Makes the shape for tiles of `tile_q` queries of `tile_g` query heads. Throws Overflow for more tiles than an int
/// counts.
[[nodiscard]] AttentionShape attention_shape(const AttentionLengths& lengths, int tile_q, int tile_g,
                                             const LaunchDevice& device);

/// Writes the fields of every kernel's configuration that follow from a question: type, mask, widths, and the call's
/// options.
template <class Config, class Call>
void set_question(Config& c, const PlacedDiagram& placed, const Call& call, const PlacementReader& read) {
  c.d = read.held("d");
  c.dv = read.held("dv");
  c.padded = c.d != read.size("d") || c.dv != read.size("dv");
  c.bf16 = placed.problem->dtype == DType::bf16;
  c.mask = mask_kind_of(placed.problem->mask);
  c.packed = call.packed();
  c.cycles = call.cycles != 0;
}

/// Writes the places in shared memory of Q, K, V and the barriers after them, and the registers of a thread.
template <class Config>
void set_copies(Config& c, const PlacementReader& read, std::string_view consumer = "consumer") {
  c.q_offset = read.offset("Q");
  c.k_offset = read.offset("K");
  c.v_offset = read.offset("V");
  c.barriers_offset = read.end();
  c.producer_registers = read.registers("producer");
  c.consumer_registers = read.registers(consumer);
}

/// Returns the softmax scale: the call's, else d^-1/2. Throws Error if it is not positive.
[[nodiscard]] double softmax_scale(const std::optional<double>& scale, int d);

/// Writes the softmax scale, and the scale times log2 e.
template <class Arguments>
void set_scale(Arguments& a, const std::optional<double>& wanted, int d) {
  const double scale = softmax_scale(wanted, d);
  a.scale = static_cast<float>(scale);
  a.scale_log2 = static_cast<float>(scale * std::numbers::log2e);
}

/// Makes attention_sm90's parameter, without maps and memory. The parameters of the decode and FP8 kernels begin with
/// it.
[[nodiscard]] AttentionArguments attention_arguments(const AttentionCall& call, const AttentionShape& shape);

/// Writes the memory of a call into the forward kernels' parameters.
template <class Arguments>
void bind_common(Arguments& a, const AttentionCall& call) {
  a.shape.q_starts = reinterpret_cast<const int*>(call.q_starts);
  a.shape.x_starts = reinterpret_cast<const int*>(call.x_starts);
  a.o = reinterpret_cast<void*>(aligned("O", call.o.address));
  a.lse = reinterpret_cast<float*>(call.log_sum_exp);
  if (call.dump != 0) {
    a.dump = reinterpret_cast<float*>(call.dump);
  } else {
    a.cycles = reinterpret_cast<unsigned long long*>(call.cycles);
  }
}

constexpr std::string_view attention_sm90_source = "kernels/attention/sm90/attention_sm90.cuh";
constexpr std::string_view attention_decode_sm90_source = "kernels/attention/decode/attention_decode_sm90.cuh";
constexpr std::string_view attention_fp8_sm90_source = "kernels/attention/fp8/attention_fp8_sm90.cuh";
constexpr std::string_view napkin_fp8_sm90_source = "kernels/attention/napkin/napkin_fp8_sm90.cuh";
constexpr std::string_view attention_sm80_source = "kernels/attention/sm80/attention_sm80.cuh";
void bind_sm90(LaunchPlan& plan, const AttentionCall& call);
void bind_decode_sm90(LaunchPlan& plan, const AttentionCall& call);
void bind_fp8_sm90(LaunchPlan& plan, const AttentionCall& call);
void bind_napkin_fp8_sm90(LaunchPlan& plan, const AttentionCall& call);
void bind_sm80(LaunchPlan& plan, const AttentionCall& call);

/// Checks a call. Throws Error if packed sequences lack their starts or rows, if a dump excludes other options, or for
/// pages.
void check_call(const AttentionCall& call, std::string_view kernel);

}  // namespace napkin::internal
