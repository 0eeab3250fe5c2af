// Tables as bytes: a head with the candidates and where each part lies, and the parts behind it, each with its sum of
// checks, so that a question reads the parts that it scans and no more. What is written and read is named once, by
// fields().

#include <algorithm>

#include "model/base/byte_fields.hpp"
#include "model/clock/run/simulation.hpp"
#include "model/diagram/packing.hpp"
#include "solver/select/scan.hpp"

namespace napkin {
namespace {

constexpr std::string_view format = "napkin table 6";

template <class Archive>
void fields(Archive& archive, BlockClocks& clocks) {
  archive.plain(clocks.first);
  archive.plain(clocks.next);
}

/// A run of few iterations speaks of no other: block_clocks() takes each of them from a run of its own (period.cpp).
template <class Archive>
void fields(Archive& archive, BlockRuns::Kept& one) {
  for (int* number : {&one.cut.first, &one.cut.last, &one.run.iterations}) archive.count(*number);
  fields(archive, one.run.clocks);
  if constexpr (Archive::reads) one.run.least = one.run.iterations;
  if (one.run.iterations <= few_iterations + one.cut.all()) return;
  archive.count(one.run.least);
  archive.count(one.run.turn);
  fields(archive, one.run.more);
}

template <class Archive>
void fields(Archive& archive, Period& p, std::vector<BlockRuns::Kept>& runs) {
  for (double* number : {&p.clocks, &p.cycle.clocks, &p.pipe.clocks}) archive.plain(*number);
  archive.count(p.settled);
  archive.each(runs, [&](BlockRuns::Kept& one) { fields(archive, one); });
}

template <class Archive>
void fields(Archive& archive, TileTrait& trait) {
  archive.plain(trait.ends.start);
  archive.plain(trait.ends.handover);
  archive.plain(trait.ends.empty);
  archive.count(trait.ends.persist);
  archive.count(trait.blocks);
  auto order = static_cast<std::uint32_t>(trait.order);
  archive.count(order);
  if (order > static_cast<std::uint32_t>(BlockOrder::even))
    throw Error("table", "has an unknown order of blocks", "a whole file");
  trait.order = static_cast<BlockOrder>(order);
  archive.count(trait.cuts);
}

template <class Archive>
void fields(Archive& archive, BlockEnergy& energy) {
  for (double* number : {&energy.iteration, &energy.once, &energy.cut, &energy.alone}) archive.plain(*number);
}

/// `simulation`: what the runs of periods that are read go on with.
template <class Archive>
void fields(Archive& archive, TablePart& part, const std::shared_ptr<Simulation>& simulation) {
  archive.each(part.periods, [&](TilePeriod& one) {
    std::vector<BlockRuns::Kept> runs;
    if constexpr (!Archive::reads) runs = one.period.run->all();
    fields(archive, one.period, runs);
    if constexpr (Archive::reads) {
      for (BlockRuns::Kept& run : runs) run.run.turn = std::max(run.run.turn, 1);
      one.period.contention =
          std::max(one.period.clocks - std::max(one.period.cycle.clocks, one.period.pipe.clocks), 0.0);
      one.period.run = std::make_shared<BlockRuns>(simulation, std::move(runs));
    }
    archive.plain(one.cycles);
    archive.count(one.binds);
  });
  archive.each(part.traits, [&](TileTrait& trait) { fields(archive, trait); });
  archive.each(part.energies, [&](BlockEnergy& energy) { fields(archive, energy); });
  archive.each(part.rows, [&](TileRow& row) {
    archive.count(row.legal);
    archive.count(row.period);
    archive.count(row.trait);
    archive.count(row.energy);
  });
}

}  // namespace

std::string Table::encode(TablePart& part) const {
  if (!part.bytes.empty()) return std::string(part.bytes);
  FieldWriter out;
  fields(out, part, nullptr);
  return out.take();
}

void Table::decode(TablePart& part) const {
  if (checksum(part.bytes) != part.checksum) throw Error("table", "has a damaged part", "a whole file");
  FieldReader in(part.bytes);
  fields(in, part, simulation_);
  const auto whole = [&](const TileRow& row) {
    return row.legal < candidates_.legal().size() && at(row.period) < part.periods.size() &&
           row.trait < part.traits.size() && row.energy < part.energies.size();
  };
  const auto bound = [&](const TilePeriod& one) { return one.binds < binds_.size(); };
  if (!std::all_of(part.rows.begin(), part.rows.end(), whole) ||
      !std::all_of(part.periods.begin(), part.periods.end(), bound))
    throw Error("table", "points beyond its end", "a whole file");
  part.finish();
}

/// Parts whose tiles are timed one by one are made in no more time than they are read: they are not kept. `body` puts
/// the part's bytes somewhere, or finds them there: their size and their sum of checks.
template <class Archive, class Body>
void Table::fields_of_head(Archive& archive, const Body& body) {
  archive.count(by_graph_);
  sizes_of_.resize(candidates_.legal().size());
  variant_of_.resize(candidates_.legal().size());
  for (std::size_t i = 0; i < sizes_of_.size(); ++i) {
    archive.count(sizes_of_[i]);
    archive.count(variant_of_[i]);
  }
  archive.each(shared_along_, [&](std::vector<AxisId>& axes) { archive.plain(axes); });
  archive.each(binds_, [&](Binds& binds) {
    archive.text(binds.pipe);
    archive.count(binds.beside_tensor);
    archive.each(binds.cycle, [&](std::string& node) { archive.text(node); });
  });
  archive.each(sizes_, [&](TileSizes& sizes) {
    archive.plain(sizes.rank);
    archive.plain(sizes.size);
    archive.plain(sizes.cells);
    archive.each(sizes.extent, [&](Count& extent) { archive.plain(extent); });
    std::list<TablePart> none;
    archive.each(Archive::reads || !one_by_one_ ? sizes.parts : none, [&](TablePart& part) {
      std::uint64_t size = 0;
      if constexpr (!Archive::reads) size = body(part, 0);
      for (double* number : {&part.least, &part.cycle, &part.energy, &part.ends}) archive.plain(*number);
      archive.count(part.settled);
      archive.count(part.facts);
      archive.count(size);
      archive.plain(part.checksum);
      if constexpr (Archive::reads) static_cast<void>(body(part, size));
    });
  });
}

std::string Table::bytes() {
  const std::lock_guard lock(mutex_);
  std::string bodies;
  FieldWriter head;
  candidates_.fields(head);
  fields_of_head(head, [&](TablePart& part, std::uint64_t) {
    const std::string body = encode(part);
    if (part.bytes.empty()) part.checksum = checksum(body);
    bodies += body;
    return body.size();
  });
  const std::string first = head.take();
  ByteWriter out;
  out.put(format);
  out.put(checksum(first));
  out.put(std::string_view(first));
  out.put_bytes(bodies);
  std::string whole = out.take();
  keep(whole.size());
  return whole;
}

/// So many bytes lie on disk.
void Table::keep(std::size_t bytes) {
  constexpr std::size_t bytes_a_run = std::size_t{1} << 16;  // are written while one run is made
  made_before_ += made_;
  most_unkept_ = std::max(made_before_ / 4, bytes / bytes_a_run);
  made_ = 0;
  is_kept_ = true;
}

/// What lies behind the name of the format: the head, checked, and the parts.
struct Table::Head {
  FieldReader in{{}};
  std::string_view parts;

  explicit Head(std::string_view whole) {
    ByteReader bytes(whole);
    if (bytes.get_text() != format) throw Error("table", "of another version", std::string(format));
    const auto sum = bytes.get<std::uint64_t>();
    const std::string_view head = bytes.next(static_cast<std::size_t>(bytes.get<std::uint64_t>()));
    if (checksum(head) != sum) throw Error("table", "has a damaged head", "a whole file");
    in = FieldReader(head);
    parts = bytes.rest();
  }
};

Table::Table(const Question& like, SharedBytes bytes) : Table(like, bytes, Head(bytes.bytes)) {}

Table::Table(const Question& like, SharedBytes bytes, Head head)
    : kept_(std::move(bytes)),
      judged_(launch_problem(like.problem)),
      candidates_(like, head.in),
      simulation_(std::make_shared<Simulation>()) {
  ByteReader parts(head.parts);
  fields_of_head(head.in, [&](TablePart& part, std::uint64_t size) {
    part.bytes = parts.next(static_cast<std::size_t>(size));
    return size;
  });
  one_by_one_ = is_timed_one_by_one(like);
  for (std::uint32_t s = 0; s < sizes_.size(); ++s) {
    for (TablePart& part : sizes_[s].parts) part.sizes = s;
  }
  if (!parts.at_end()) throw Error("table", "goes on behind its end", "a whole file");
  keep(kept_.bytes.size());
}

}  // namespace napkin
