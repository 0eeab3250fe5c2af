#include "kernels/reference/attention_trial.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/plans/placement_reader.hpp"
#include "model/base/parallel.hpp"

namespace napkin::internal {
namespace {

/// A row of the output and its reference.
struct KnownRow {
  std::int64_t batch = 0, head = 0, query = 0;
  std::vector<double> o;
  double log_sum_exp = 0;
  double unfused_error = 0;  ///< error of a framework's unfused attention in the same type
};

/// Returns the number of queries of each sequence.
std::vector<std::int64_t> queries_of(const AttentionLayout& layout) {
  if (layout.q_lengths.empty())
    return std::vector<std::int64_t>(static_cast<std::size_t>(layout.sizes.b), layout.sizes.q);
  return {layout.q_lengths.begin(), layout.q_lengths.end()};
}

/// Returns the first row of each sequence, and at the end the number of all rows.
std::vector<std::int64_t> first_rows(const AttentionLayout& layout) {
  std::vector<std::int64_t> out{0};
  for (const std::int64_t queries : queries_of(layout)) out.push_back(out.back() + queries);
  return out;
}

/// Samples rows over sequences, heads and places in a sequence.
std::vector<KnownRow> sampled(const AttentionLayout& layout, const std::vector<std::int64_t>& first_row,
                              std::int64_t most, std::uint64_t seed) {
  std::vector<KnownRow> rows;
  const std::int64_t heads = layout.sizes.h * layout.sizes.g, all = heads * first_row.back();
  const std::int64_t step = std::max<std::int64_t>(1, all / std::max<std::int64_t>(1, most)) | (all > most ? 1 : 0);
  const std::int64_t first = all > most ? static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(step)) : 0;
  std::size_t batch = 0;
  for (std::int64_t i = first; i < all; i += step) {
    while (first_row[batch + 1] * heads <= i) ++batch;
    const std::int64_t within = i - first_row[batch] * heads, queries = first_row[batch + 1] - first_row[batch];
    rows.push_back({static_cast<std::int64_t>(batch), within / queries, within % queries, {}, 0, 0});
  }
  return rows;
}

void solve(const HostAttention& inputs, KnownRow& row) {
  ReferenceRow reference = reference_row(inputs, row.batch, row.head, row.query);
  const ReferenceRow unfused = unfused_row(inputs, row.batch, row.head, row.query);
  for (std::size_t c = 0; c < unfused.o.size(); ++c) {
    row.unfused_error = std::max(row.unfused_error, std::fabs(unfused.o[c] - reference.o[c]));
  }
  row.log_sum_exp = log_sum_exp_to_hold(inputs.type, reference, unfused);
  row.o = std::move(reference.o);
}

void solve(const HostAttention& inputs, std::vector<KnownRow>& rows, int threads) {
  parallel_for(rows.size(), static_cast<std::size_t>(threads), [&](std::size_t i) { solve(inputs, rows[i]); });
}

class AttentionTrial : public KernelTrial {
 public:
  AttentionTrial(Runtime& runtime, const AttentionLayout& layout, const TrialOptions& options, AttentionPlanner planner)
      : device_(runtime.device()),
        layout_(layout),
        planner_(planner),
        data_(runtime, layout),
        first_row_(first_rows(layout)) {
    rows_ = sampled(layout, first_row_, options.rows, options.seed);
    solve(data_.download(), rows_, options.threads);
  }

  [[nodiscard]] LaunchPlan plan(const PlacedDiagram& placed, bool counting) const override {
    AttentionCall call = counting ? data_.counting_call() : data_.call();
    if (const LaunchScratch scratch = attention_scratch(placed);
        scratch.counters > Count(0)) {  // scratch of this plan alone
      const auto counters = static_cast<std::size_t>(scratch.counters.get()) * sizeof(std::int32_t);
      call.arrived = zeroed(counters);
      call.parts = zeroed(static_cast<std::size_t>(scratch.bytes.value.get()));
    }
    return planner_(placed, call, device_.launch_device());
  }
  [[nodiscard]] const DeviceMemory& spans() const override { return data_.spans(); }
  void poison() const override { data_.poison(); }

  [[nodiscard]] Comparison check(Extent extent) const override {
    device_.synchronize();
    Comparison out;
    if (extent == Extent::everything) {  // compares one more row with float64, and looks for elements in all rows that
                                         // no thread has written
      out = compare(data_.download(), 1, 0);
    }
    for (const KnownRow& row : rows_) add(row, out);
    return out;
  }

 private:
  [[nodiscard]] std::uint64_t zeroed(std::size_t bytes) const {
    scratch_.push_back(device_.allocate(bytes));
    device_.set(scratch_.back(), 0);
    return scratch_.back().address();
  }
  void add(const KnownRow& row, Comparison& out) const {
    const AttentionCall call = data_.call();
    std::vector<std::uint16_t> o(row.o.size());
    const bool packed = call.packed();
    const std::int64_t place = (packed ? first_row_[static_cast<std::size_t>(row.batch)] : 0) + row.query,
                       batch = packed ? 0 : row.batch;
    const std::int64_t at = batch * call.o.batch + row.head * call.o.head + place * call.o.row;
    device_.download(o.data(), call.o.address + static_cast<std::uint64_t>(at) * sizeof(std::uint16_t),
                     o.size() * sizeof(std::uint16_t));
    for (std::size_t c = 0; c < o.size(); ++c) {
      const double error = std::fabs(static_cast<double>(decode(o[c], layout_.type)) - row.o[c]);
      out.max_error = larger_error(out.max_error, error);
    }
    out.reference_error = std::max(out.reference_error, row.unfused_error);
    const AttentionSizes& s = layout_.sizes;
    const std::int64_t lse_at = (batch * s.h * s.g + row.head) * (packed ? first_row_.back() : s.q) + place;
    float lse = 0;
    device_.download(&lse, call.log_sum_exp + static_cast<std::uint64_t>(lse_at) * sizeof lse, sizeof lse);
    out.lse_error = std::max(out.lse_error, lse_difference(static_cast<double>(lse), row.log_sum_exp));
    ++out.rows;
  }

  Device device_;
  AttentionLayout layout_;
  AttentionPlanner planner_;
  AttentionData data_;
  mutable std::vector<DeviceMemory> scratch_;  // memory of the plans made
  std::vector<std::int64_t> first_row_;        // first row of each sequence
  std::vector<KnownRow> rows_;
};

}  // namespace

AttentionCall call_without_arrays(const PlacedDiagram& placed, bool counting) {
  constexpr std::uint64_t somewhere = 4096;  // any aligned address: nothing is launched with it
  AttentionCall call;
  call.q.address = call.k.address = call.v.address = call.o.address = somewhere;
  call.ticket = call.arrived = call.parts = somewhere;
  if (counting) call.cycles = somewhere;
  const AttentionLayout layout = attention_layout(placed, 1);
  if (layout.q_lengths.empty()) return call;
  call.q_starts = call.x_starts = somewhere;
  call.q_rows = std::accumulate(layout.q_lengths.begin(), layout.q_lengths.end(), std::int64_t{0});
  call.x_rows = std::accumulate(layout.x_lengths.begin(), layout.x_lengths.end(), std::int64_t{0});
  return call;
}

AttentionLayout attention_layout(const PlacedDiagram& placed, std::uint64_t seed) {
  const auto size = [&](std::string_view axis) {
    return placed.problem->sizes[static_cast<std::size_t>(placed.streamed->diagram.axis(axis))].get();
  };
  AttentionLayout out;
  out.sizes = {size("b"), size("h"), size("g"), size("q"), size("x"), size("d"), size("dv")};
  out.type = placed.problem->dtype;
  out.mask = placed.problem->mask;
  out.seed = seed;
  Count queries, keys;
  for (const SequenceLengths& one : placed.problem->packing.sequences) {
    out.q_lengths.push_back(to_int(one.q, "queries of a sequence"));
    out.x_lengths.push_back(to_int(one.x, "keys of a sequence"));
    queries += one.q;
    keys += one.x;
  }
  static_cast<void>(to_int(queries, "queries of all sequences"));
  static_cast<void>(to_int(keys, "keys of all sequences"));
  return out;
}

std::unique_ptr<KernelTrial> attention_trial(Runtime& runtime, const PlacedDiagram& placed, const TrialOptions& options,
                                             AttentionPlanner planner) {
  return std::make_unique<AttentionTrial>(runtime, attention_layout(placed, options.seed), options, planner);
}

}  // namespace napkin::internal
