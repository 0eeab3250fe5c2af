#pragma once
// A Fields lists the members of a part of an answer by name, once for all who need them: "transfer" of a LevelAnswer is
// written by --json, read from recorded rows and shown by Python.

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/library/judge/validation.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal::report {

/// Form of a field in JSON.
enum class As {
  always,    ///< null if there is no value
  left_out,  ///< left out if there is no value
  if_true,   ///< a bool that is left out if it is false
  or_null    ///< a text, null if it is empty
};

/// A member, or a function without parameters, by its name.
template <class Member>
struct Field {
  const char* name;
  Member member;
  const char* about = "";  ///< documentation of Python's property
  As as = As::always;
};
template <class Member>
Field(const char*, Member, const char* = "", As = As::always) -> Field<Member>;

/// Specialised below: `about` the part, and `all` its fields in the order of JSON.
template <class Part>
struct Fields;

/// Calls use(field) with each field.
template <class Part, class Use>
void each_field(const Use& use) {
  std::apply([&](const auto&... field) { (use(field), ...); }, Fields<Part>::all);
}

template <>
struct Fields<ViolationAnswer> {
  static constexpr const char* about = "A limit that the tile breaks.";
  static constexpr auto all =
      std::tuple(Field{"constraint", &ViolationAnswer::constraint}, Field{"needed", &ViolationAnswer::needed},
                 Field{"available", &ViolationAnswer::available}, Field{"text", &ViolationAnswer::text, "In words."});
};

template <>
struct Fields<WorkAnswer> {
  static constexpr const char* about = "What is computed.";
  static constexpr auto all =
      std::tuple(Field{"flops", &WorkAnswer::flops, "FLOP of the contractions, two a multiply-add, of unmasked pairs."},
                 Field{"executed_flops", &WorkAnswer::executed_flops, "FLOP with the visited tiles in full."},
                 Field{"exponentials", &WorkAnswer::exponentials});
};

template <>
struct Fields<FormulaAnswer> {
  static constexpr const char* about = "H and M of the lowest staged level in the axes' names.";
  static constexpr auto all =
      std::tuple(Field{"transfer", &FormulaAnswer::transfer}, Field{"memory", &FormulaAnswer::memory});
};

template <>
struct Fields<CombineAnswer> {
  static constexpr const char* about = "What results in parts cost, and how the parts become one.";
  static constexpr auto all =
      std::tuple(Field{"by", &CombineAnswer::by, "launch, adds, turns, barriers or last."},
                 Field{"at", &CombineAnswer::at, "The level in which the parts meet."},
                 Field{"parts", &CombineAnswer::parts}, Field{"steps", &CombineAnswer::steps},
                 Field{"load", &CombineAnswer::load, "Bytes."}, Field{"store", &CombineAnswer::store, "Bytes."},
                 Field{"time", &CombineAnswer::time, "Seconds; None: latencies are unknown."});
};

template <>
struct Fields<OwnPartsAnswer> {
  static constexpr const char* about =
      "The number of parts that a kernel's own rule chooses, beside the fastest number.";
  static constexpr auto all =
      std::tuple(Field{"knob", &OwnPartsAnswer::knob, "The knob whose 0 leaves the number to the kernel."},
                 Field{"parts", &OwnPartsAnswer::parts, "By the kernel's rule."},
                 Field{"best", &OwnPartsAnswer::best, "The fastest number."},
                 Field{"best_time", &OwnPartsAnswer::best_time, "Seconds with that number."},
                 Field{"loss", &OwnPartsAnswer::loss, "Time with the kernel's own number over that, minus 1."});
};

template <>
struct Fields<BestTileAnswer> {
  static constexpr const char* about = "The best tile of the kernel, beside the tile that is given.";
  static constexpr auto all =
      std::tuple(Field{"tile", &BestTileAnswer::tile, "What select picks; the given tile if no other is faster."},
                 Field{"time", &BestTileAnswer::time, "Seconds."},
                 Field{"loss", &BestTileAnswer::loss, "Time of the given tile over that, minus 1."});
};

template <>
struct Fields<LevelAnswer> {
  static constexpr const char* about = "One memory level below device memory: what it moves (H) and holds (M).";
  static constexpr auto all = std::tuple(
      Field{"name", &LevelAnswer::name}, Field{"groups", &LevelAnswer::groups, "Groups that run at this level."},
      Field{"load", &LevelAnswer::load, "Bytes into the level, all groups."},
      Field{"store", &LevelAnswer::store, "Bytes out of the level, all groups."},
      Field{"transfer", &LevelAnswer::transfer, "H: load + store, bytes."},
      Field{"delivered", &LevelAnswer::delivered, "Loads as the receiver's counter sees them, bytes."},
      Field{"transfer_per_group", &LevelAnswer::transfer_per_group, "Bytes."},
      Field{"memory_lower_bound", &LevelAnswer::memory_lower_bound, "M by the paper's rule, bytes."},
      Field{"memory_live", &LevelAnswer::memory_live, "M: the largest set of values still needed, bytes."},
      Field{"memory", &LevelAnswer::memory, "What the kernel allocates, bytes."},
      Field{"memory_limit", &LevelAnswer::memory_limit, "Bytes; None: no limit is known."},
      Field{"bandwidth", &LevelAnswer::bandwidth, "Bytes a second of the whole machine, or None."},
      Field{"time", &LevelAnswer::time, "Seconds: transfer over bandwidth, or None."},
      Field{"hit_rate", &LevelAnswer::hit_rate, "The part that the cache has, with blocks in step, or None.",
            As::left_out},
      Field{"hit_rate_apart", &LevelAnswer::hit_rate_apart, "With blocks that walk out of step, or None.",
            As::left_out});
};

template <>
struct Fields<PredictedAnswer> {
  static constexpr const char* about = "How long it takes and what limits it.";
  static constexpr auto all = std::tuple(
      Field{"cycles", &PredictedAnswer::cycles, "Clocks of the busiest SM."},
      Field{"clock", &PredictedAnswer::clock, "Hertz that the card holds."},
      Field{"power", &PredictedAnswer::power, "Watts, or None."}, Field{"time", &PredictedAnswer::time, "Seconds."},
      Field{"tflops", &PredictedAnswer::tflops, "FLOP of visible pairs over time, in 10^12 a second."},
      Field{"bound", &PredictedAnswer::bound, "What is in the way: a pipe, or a cycle of waits."},
      Field{"pipes", &PredictedAnswer::pipes, "The busy fraction of each pipe."},
      Field{"at_least", &PredictedAnswer::at_least, "A bound, not a prediction.", As::if_true});
};

template <>
struct Fields<Band> {
  static constexpr const char* about = "How far predictions of a class were off.";
  static constexpr auto all = std::tuple(
      Field{"mean", &Band::mean, "The expected time over the predicted one."},
      Field{"bias", &Band::bias, "The mean error with its sign; above 0: predicted too fast."},
      Field{"low", &Band::low, "Eight of ten calls take from `low` to `high` times the predicted time."},
      Field{"high", &Band::high}, Field{"error", &Band::error, "The mean of |found / predicted - 1|."},
      Field{"rows", &Band::rows, "Times or speeds found."}, Field{"sources", &Band::sources, "That those are from."},
      Field{"recorded", &Band::recorded, "Some by this project; else published by others."},
      Field{"of", &Band::of, "The nearest kind that was compared: kernel, product or architecture, regime."},
      Field{"wide", &Band::wide, "Why the band is wide; empty: it is of this very kind.", As::or_null});
};

template <>
struct Fields<LaunchAnswer> {
  static constexpr const char* about = "One of the launches that an algorithm is cut into.";
  static constexpr auto all =
      std::tuple(Field{"inputs", &LaunchAnswer::inputs, "Arrays that it loads."},
                 Field{"outputs", &LaunchAnswer::outputs, "Arrays that it stores."}, Field{"tile", &LaunchAnswer::tile},
                 Field{"levels", &LaunchAnswer::levels}, Field{"predicted", &LaunchAnswer::predicted, "A bound."});
};

template <>
struct Fields<AlternativeAnswer> {
  static constexpr const char* about = "A runner-up.";
  static constexpr auto all =
      std::tuple(Field{"tile", &AlternativeAnswer::tile}, Field{"predicted", &AlternativeAnswer::predicted});
};

template <>
struct Fields<KernelAnswer> {
  static constexpr const char* about = "One kernel with its best tile.";
  static constexpr auto all =
      std::tuple(Field{"kernel", &KernelAnswer::kernel}, Field{"bundled", &KernelAnswer::bundled},
                 Field{"tile", &KernelAnswer::tile}, Field{"predicted", &KernelAnswer::predicted},
                 Field{"because", &KernelAnswer::why, "Why nothing fits.", As::or_null});
};

template <>
struct Fields<OptimumAnswer::Integer> {
  static constexpr const char* about = "The exact optimum of whole sizes.";
  static constexpr auto all =
      std::tuple(Field{"transfer", &OptimumAnswer::Integer::transfer}, Field{"group", &OptimumAnswer::Integer::group});
};

template <>
struct Fields<MeasuredAnswer> {
  static constexpr const char* about = "What a launch took.";
  static constexpr auto all = std::tuple(
      Field{"time", &MeasuredAnswer::time}, Field{"time_spread", &MeasuredAnswer::time_spread},
      Field{"runs", &MeasuredAnswer::runs}, Field{"l2", &MeasuredAnswer::l2}, Field{"cycles", &MeasuredAnswer::cycles},
      Field{"clock", &MeasuredAnswer::clock}, Field{"power", &MeasuredAnswer::power},
      Field{"registers_per_thread", &MeasuredAnswer::registers_per_thread},
      Field{"shared_memory", &MeasuredAnswer::shared_memory}, Field{"l2_to_sm_bytes", &MeasuredAnswer::l2_to_sm_bytes},
      Field{"dram_read_bytes", &MeasuredAnswer::dram_read_bytes},
      Field{"dram_write_bytes", &MeasuredAnswer::dram_write_bytes}, Field{"max_error", &MeasuredAnswer::max_error},
      Field{"reference_error", &MeasuredAnswer::reference_error});
};

}  // namespace napkin::internal::report
