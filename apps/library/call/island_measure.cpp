#include "apps/library/call/island_measure.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "apps/library/answer/island_ways.hpp"
#include "apps/library/call/island_trial.hpp"
#include "apps/library/question/revision.hpp"
#include "kernels/runtime/driver_version.hpp"

namespace napkin::internal {
namespace {

constexpr std::uint64_t first_seed = 20261128;

IslandTimes predicted_of(const Way& way) {
  IslandTimes out;
  out.time = way.time.seconds;
  out.work = way.time.work;
  for (const Transport& one : way.transports) {
    out.copies += static_cast<double>(one.calls.get()) * one.seconds;
    out.received += one.received.value.get();
  }
  return out;
}

Head head_of(const IslandQuestion& question, const Way& way) {
  Head out;
  out.algorithm = question.ask.algorithm;
  out.gpu = question.island.name;
  out.dtype = std::string(name_of(question.problem.dtype));
  out.mask = question.ask.mask;
  out.conditions = question.ask.conditions;
  out.shape = question.shape;
  out.kernel = way.heaviest().answer->head.kernel;
  out.bundled = way.heaviest().answer->head.bundled;
  out.tile = way.heaviest().answer->head.tile;
  return out;
}

}  // namespace

Gpus& IslandInstrument::gpus_for(int gpus) {
  if (gpus_ == nullptr || gpus_->count() != gpus) {
    gpus_.reset();  // the old ranks end before new ones begin
    gpus_ = std::make_unique<Gpus>(gpus);
  }
  return *gpus_;
}

IslandRow IslandInstrument::measure(const Session& session, const Ask& asked, const IslandPace& pace) {
  Ask ask = asked;
  ask.bundled = true;
  const IslandQuestion question = island_question(session, ask);
  const IslandWays ways = ways_of(session, question);
  if (ways.ways.empty())
    throw Error("--split", ways.refused.empty() ? "no split fits" : ways.refused.front().second, "another split");
  const Way& way = ways.ways.front();
  Gpus& gpus = gpus_for(static_cast<int>(way.division.gpus));
  IslandRow out;
  out.head = head_of(question, way);
  out.split = way.division.split.name;
  out.order = name_of(way.division.order);
  out.gpus = way.division.gpus;
  out.predicted = predicted_of(way);
  const std::unique_ptr<IslandTrial> trial = island_trial(gpus, way.division, first_seed);
  const std::int64_t before = gpus.ranks().received(0);
  trial->run(IslandHalf::both);
  out.measured.received = gpus.ranks().received(0) - before;
  out.result = trial->check(pace.rows);
  out.measured.copies = gpus.seconds([&] { trial->run(IslandHalf::copies); }, pace.warm / 10, pace.time);
  out.measured.work = gpus.seconds([&] { trial->run(IslandHalf::work); }, pace.warm, pace.time);
  out.measured.time = gpus.seconds([&] { trial->run(IslandHalf::both); }, pace.warm, pace.time);
  const auto compiler = Compiler::find(process_environment().compiler);
  out.from = {gpus.at(0).device().properties().name, driver_version(), compiler ? compiler->version() : "", now_utc(),
              std::string(source_revision())};
  out.nccl = gpus.ranks().version();
  return out;
}

namespace {

/// A call of one rank: `n` bf16 elements from address a to address b.
using LinkCall = std::function<void(int rank, std::uint64_t a, std::uint64_t b, std::int64_t n, Stream stream)>;

/// Returns the calls that links() times, by name.
std::vector<std::pair<std::string, LinkCall>> link_calls(const Ranks& ranks, int count) {
  constexpr DType type = DType::bf16;
  return {
      {"ring",
       [&ranks, count](int r, std::uint64_t a, std::uint64_t b, std::int64_t n, Stream s) {
         ranks.send(r, a, n, type, (r + 1) % count, s);
         ranks.receive(r, b, n, type, (r + count - 1) % count, s);
       }},
      {"all_to_all",
       [&ranks, count](int r, std::uint64_t a, std::uint64_t b, std::int64_t n, Stream s) {
         for (int other = 0; other < count; ++other) {
           const auto at = static_cast<std::uint64_t>(2 * (n / count) * other);
           ranks.send(r, a + at, n / count, type, other, s);
           ranks.receive(r, b + at, n / count, type, other, s);
         }
       }},
      {"all_gather", [&ranks, count](int r, std::uint64_t a, std::uint64_t b, std::int64_t n,
                                     Stream s) { ranks.all_gather(r, a, b, n / count, type, s); }},
      {"reduce_scatter", [&ranks, count](int r, std::uint64_t a, std::uint64_t b, std::int64_t n,
                                         Stream s) { ranks.reduce_scatter(r, a, b, n / count, type, s); }},
      {"all_reduce", [&ranks](int r, std::uint64_t, std::uint64_t b, std::int64_t n,
                              Stream s) { ranks.all_reduce(r, b, n, type, s); }},
  };
}

}  // namespace

Readings IslandInstrument::links(int count) {
  Gpus& gpus = gpus_for(count);
  constexpr std::int64_t least = std::int64_t{1} << 10, most = std::int64_t{1} << 28;  // bytes of a GPU's array
  constexpr std::int64_t step = 8;
  constexpr double warm = 0.02, timed = 0.05;
  std::vector<DeviceMemory> from, to;
  for (int rank = 0; rank < count; ++rank) {
    from.push_back(random_array(gpus.at(rank), most / 2, DType::bf16, first_seed));
    to.push_back(poisoned_array(gpus.at(rank), most / 2, 2));
  }
  const Ranks& ranks = gpus.ranks();
  const auto calls = link_calls(ranks, count);
  Readings out;
  for (const auto& [name, call] : calls) {
    for (std::int64_t bytes = least; bytes <= most; bytes *= step) {
      const std::int64_t before = ranks.received(0);
      int runs = 0;
      const double seconds = gpus.seconds(
          [&, &call = call] {
            ++runs;
            ranks.together([&] {
              for (int r = 0; r < count; ++r)
                call(r, from[static_cast<std::size_t>(r)].address(), to[static_cast<std::size_t>(r)].address(),
                     bytes / 2, gpus.at(r).copies.get());
            });
          },
          warm, timed);
      const Conditions with = {{"by", name}, {"gpus", std::to_string(count)}, {"bytes", std::to_string(bytes)}};
      out.push_back({"links", with, "call", "s", {seconds}});
      out.push_back({"links", with, "received", "B", {static_cast<double>(ranks.received(0) - before) / runs}});
    }
  }
  return out;
}

}  // namespace napkin::internal
