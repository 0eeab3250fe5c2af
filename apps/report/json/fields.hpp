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
                 Field{"available", &ViolationAnswer::available},
                 Field{"text", &ViolationAnswer::text, "The violation in words."});
};

template <>
struct Fields<WorkAnswer> {
  static constexpr const char* about = "The work of a call.";
  static constexpr auto all =
      std::tuple(Field{"flops", &WorkAnswer::flops, "FLOP of the contractions, two a multiply-add, of unmasked pairs."},
                 Field{"executed_flops", &WorkAnswer::executed_flops,
                       "FLOP that the kernel executes: every visited tile in full."},
                 Field{"exponentials", &WorkAnswer::exponentials});
};

template <>
struct Fields<FormulaAnswer> {
  static constexpr const char* about = "H and M of the level that the tile sizes, as formulas in the axes' names.";
  static constexpr auto all =
      std::tuple(Field{"transfer", &FormulaAnswer::transfer}, Field{"memory", &FormulaAnswer::memory});
};

template <>
struct Fields<CombineAnswer> {
  static constexpr const char* about = "The cost of adding up results that are computed in parts.";
  static constexpr auto all =
      std::tuple(Field{"by", &CombineAnswer::by, "The method: launch, adds, turns, barriers or last."},
                 Field{"at", &CombineAnswer::at, "The memory level in which the parts are stored."},
                 Field{"parts", &CombineAnswer::parts}, Field{"steps", &CombineAnswer::steps},
                 Field{"load", &CombineAnswer::load, "Bytes of parts that are read back."},
                 Field{"store", &CombineAnswer::store, "Bytes of parts and final results that are written."},
                 Field{"time", &CombineAnswer::time, "Seconds that the waiting adds; None: a latency is not known."});
};

template <>
struct Fields<OwnPartsAnswer> {
  static constexpr const char* about =
      "The number of parts that a kernel's own rule chooses, beside the fastest number.";
  static constexpr auto all =
      std::tuple(Field{"knob", &OwnPartsAnswer::knob, "The knob whose 0 leaves the number to the kernel."},
                 Field{"parts", &OwnPartsAnswer::parts, "The number that the kernel's own rule chooses."},
                 Field{"best", &OwnPartsAnswer::best, "The fastest number."},
                 Field{"best_time", &OwnPartsAnswer::best_time, "Seconds with that number."},
                 Field{"loss", &OwnPartsAnswer::loss, "Time with the kernel's own number over best_time, minus 1."});
};

template <>
struct Fields<BestTileAnswer> {
  static constexpr const char* about = "The best tile of the kernel, beside the tile that is given.";
  static constexpr auto all = std::tuple(
      Field{"tile", &BestTileAnswer::tile, "The tile that select picks; the given tile if no other is faster."},
      Field{"time", &BestTileAnswer::time, "Seconds of a call with that tile."},
      Field{"loss", &BestTileAnswer::loss, "Time of the given tile over that of the best one, minus 1."});
};

template <>
struct Fields<LevelAnswer> {
  static constexpr const char* about = "One memory level below device memory: what it moves (H) and holds (M).";
  static constexpr auto all = std::tuple(
      Field{"name", &LevelAnswer::name},
      Field{"groups", &LevelAnswer::groups, "The number of groups into which the call is divided at this level."},
      Field{"load", &LevelAnswer::load, "Bytes into the level, all groups."},
      Field{"store", &LevelAnswer::store, "Bytes out of the level, all groups."},
      Field{"transfer", &LevelAnswer::transfer, "H: load + store, bytes."},
      Field{"delivered", &LevelAnswer::delivered,
            "Bytes into the level, with those that a cache evicted and loads again."},
      Field{"transfer_per_group", &LevelAnswer::transfer_per_group,
            "Load + store of a whole group that sees all of its part, bytes: no mask."},
      Field{"memory_lower_bound", &LevelAnswer::memory_lower_bound, "M by the paper's rule, bytes."},
      Field{"memory_live", &LevelAnswer::memory_live, "M: the largest set of values still needed, bytes."},
      Field{"memory", &LevelAnswer::memory, "Bytes that the kernel allocates at this level."},
      Field{"memory_limit", &LevelAnswer::memory_limit,
            "Bytes that are available at this level; None: no limit is known."},
      Field{"bandwidth", &LevelAnswer::bandwidth, "Bytes a second of the whole machine, or None."},
      Field{"time", &LevelAnswer::time, "Seconds: transfer over bandwidth, or None."},
      Field{"hit_rate", &LevelAnswer::hit_rate,
            "The fraction of bytes that the cache serves itself if all blocks advance in step, or None.", As::left_out},
      Field{"hit_rate_apart", &LevelAnswer::hit_rate_apart,
            "The fraction of bytes that the cache serves itself if blocks drift apart, or None.", As::left_out});
};

template <>
struct Fields<PredictedAnswer> {
  static constexpr const char* about = "The time of a call, and what limits it.";
  static constexpr auto all = std::tuple(
      Field{"cycles", &PredictedAnswer::cycles,
            "Clocks of an SM from the first block's start to the last block's end."},
      Field{"clock", &PredictedAnswer::clock, "The clock that the card holds under this load, hertz."},
      Field{"power", &PredictedAnswer::power, "Watts, or None."}, Field{"time", &PredictedAnswer::time, "Seconds."},
      Field{"tflops", &PredictedAnswer::tflops, "FLOP of visible pairs over time, in 10^12 a second."},
      Field{"bound", &PredictedAnswer::bound,
            "The pipe that limits the time, or 'critical cycle': the longest chain of waits."},
      Field{"pipes", &PredictedAnswer::pipes, "The busy fraction of each pipe."},
      Field{"at_least", &PredictedAnswer::at_least, "True if the time is a lower bound, not a prediction.",
            As::if_true});
};

template <>
struct Fields<Band> {
  static constexpr const char* about = "The errors of predictions of this kind against measured times.";
  static constexpr auto all =
      std::tuple(Field{"mean", &Band::mean, "The expected time over the predicted one."},
                 Field{"bias", &Band::bias, "The mean error with its sign; above 0: calls take longer than predicted."},
                 Field{"low", &Band::low, "Eight of ten calls take from `low` to `high` times the predicted time."},
                 Field{"high", &Band::high, "See low."},
                 Field{"error", &Band::error, "The mean of |measured / predicted - 1| over the rows of the kind `of`."},
                 Field{"rows", &Band::rows, "Measured rows (times or speeds) of the kind `of`."},
                 Field{"sources", &Band::sources, "The publications and recordings that these rows are from."},
                 Field{"recorded", &Band::recorded,
                       "True if this project measured some of these rows; False if all were published by others."},
                 Field{"of", &Band::of,
                       "The nearest kind of call with measured rows: kernel, product or architecture, and regime."},
                 Field{"wide", &Band::wide, "The reason why the band is wide; empty: the rows are of this very kind.",
                       As::or_null});
};

template <>
struct Fields<LaunchAnswer> {
  static constexpr const char* about = "A launch of an algorithm that does not fit a single one.";
  static constexpr auto all = std::tuple(Field{"inputs", &LaunchAnswer::inputs, "Arrays that it loads."},
                                         Field{"outputs", &LaunchAnswer::outputs, "Arrays that it stores."},
                                         Field{"tile", &LaunchAnswer::tile}, Field{"levels", &LaunchAnswer::levels},
                                         Field{"predicted", &LaunchAnswer::predicted, "A lower bound of its time."});
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
                 Field{"because", &KernelAnswer::why, "The reason why no tile fits; empty: one fits.", As::or_null});
};

template <>
struct Fields<OptimumAnswer::Integer> {
  static constexpr const char* about = "The least transfer with whole group sizes.";
  static constexpr auto all =
      std::tuple(Field{"transfer", &OptimumAnswer::Integer::transfer}, Field{"group", &OptimumAnswer::Integer::group});
};

template <>
struct Fields<MeasuredAnswer> {
  static constexpr const char* about = "The measurement of a launch.";
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
