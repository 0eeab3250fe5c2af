// Tables as bytes: a head with the candidates and where each part lies, and the parts behind it, each with its sum of
// checks, so that a question reads the parts that it scans and no more. What is written and read is named once, by
// fields().

#include <algorithm>
#include <array>
#include <functional>

#include "model/base/byte_fields.hpp"
#include "model/clock/run/simulation.hpp"
#include "model/diagram/packing.hpp"
#include "solver/select/scan.hpp"

namespace napkin {
namespace {

constexpr std::string_view format = "napkin table 3";

/// All but `even`: its tiles are timed one by one (is_scannable).
constexpr std::array orders = {BlockOrder::grid, BlockOrder::persistent, BlockOrder::longest_first, BlockOrder::grouped,
                               BlockOrder::hilbert};

/// What the rows of a part have in a few combinations.
struct Trait {
  BlockEnds ends;
  std::int32_t blocks = 1;
  std::size_t order = 0;  ///< into orders
  bool cuts = false;
  bool operator==(const Trait&) const = default;
};

struct KeptPeriod {
  Period period;
  double cycles = 0;
  std::uint32_t binds = 0;
};

/// A row by its tile's place among the legal ones, and by places in the lists of its part.
struct KeptRow {
  std::size_t legal = 0, period = 0, trait = 0, energy = 0;
};

struct KeptPart {
  std::vector<KeptPeriod> periods;
  std::vector<Trait> traits;
  std::vector<BlockEnergy> energies;
  std::vector<KeptRow> rows;
};

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
  for (double* number : {&p.clocks, &p.first, &p.next, &p.cycle.clocks, &p.pipe.clocks}) archive.plain(*number);
  archive.count(p.settled);
  archive.each(runs, [&](BlockRuns::Kept& one) { fields(archive, one); });
}

template <class Archive>
void fields(Archive& archive, Trait& trait) {
  archive.plain(trait.ends.start);
  archive.plain(trait.ends.handover);
  archive.count(trait.ends.persist);
  archive.count(trait.blocks);
  archive.count(trait.order);
  archive.count(trait.cuts);
}

template <class Archive>
void fields(Archive& archive, BlockEnergy& energy) {
  for (double* number : {&energy.iteration, &energy.once, &energy.cut, &energy.alone}) archive.plain(*number);
}

/// `simulation`: what the runs of periods that are read go on with.
template <class Archive>
void fields(Archive& archive, KeptPart& part, const std::shared_ptr<Simulation>& simulation) {
  archive.each(part.periods, [&](KeptPeriod& one) {
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
  archive.each(part.traits, [&](Trait& trait) { fields(archive, trait); });
  archive.each(part.energies, [&](BlockEnergy& energy) { fields(archive, energy); });
  archive.each(part.rows, [&](KeptRow& row) {
    for (std::size_t* place : {&row.legal, &row.period, &row.trait, &row.energy}) archive.count(*place);
  });
}

bool equal(const BlockEnergy& a, const BlockEnergy& b) {
  return a.iteration == b.iteration && a.once == b.once && a.cut == b.cut && a.alone == b.alone;
}

/// The value's place among those met, where it is put behind them if it is new.
template <class T, class Equal>
std::size_t place_in(std::vector<T>& known, const T& value, const Equal& equal) {
  std::size_t i = 0;
  while (i < known.size() && !equal(known[i], value)) ++i;
  if (i == known.size()) known.push_back(value);
  return i;
}

/// The one at that place of a file.
template <class Values>
const auto& one_at(const Values& values, std::size_t place) {
  if (place >= values.size()) throw Error("table", "points beyond its end", "a whole file");
  return values[place];
}

}  // namespace

std::string Table::encode(const TablePart& part) const {
  if (!part.bytes.empty()) return std::string(part.bytes);
  KeptPart kept;
  for (std::size_t p = 0; p < part.periods.size(); ++p)
    kept.periods.push_back({part.periods[p], part.cycles[p], part.binds[p]});
  const std::vector<std::uint32_t>& legal = candidates_.legal();
  for (const TableRow& row : part.rows) {
    const auto place = std::lower_bound(legal.begin(), legal.end(), row.rank) - legal.begin();
    const Trait trait{row.ends, row.blocks, static_cast<std::size_t>(row.order), row.cuts};
    kept.rows.push_back({static_cast<std::size_t>(place), at(row.period),
                         place_in(kept.traits, trait, std::equal_to<>()), place_in(kept.energies, row.energy, equal)});
  }
  FieldWriter out;
  fields(out, kept, nullptr);
  return out.take();
}

void Table::decode(TablePart& part) const {
  if (checksum(part.bytes) != part.checksum) throw Error("table", "has a damaged part", "a whole file");
  FieldReader in(part.bytes);
  KeptPart kept;
  fields(in, kept, simulation_);
  for (KeptPeriod& one : kept.periods) {
    (void)one_at(binds_, one.binds);
    part.periods.push_back(std::move(one.period));
    part.cycles.push_back(one.cycles);
    part.binds.push_back(one.binds);
  }
  part.rows.reserve(kept.rows.size());
  for (const KeptRow& from : kept.rows) {
    TableRow& row = part.rows.emplace_back();
    row.rank = one_at(candidates_.legal(), from.legal);
    row.variant = static_cast<std::int32_t>(variant_of_[from.legal]);
    (void)one_at(part.periods, from.period);
    row.period = static_cast<std::int32_t>(from.period);
    const Trait& trait = one_at(kept.traits, from.trait);
    row.ends = trait.ends;
    row.blocks = trait.blocks;
    row.order = one_at(orders, trait.order);
    row.cuts = trait.cuts;
    row.energy = one_at(kept.energies, from.energy);
  }
  part.finish();
}

/// Parts by the roofline are made in no more time than they are read: they are not kept. `body` puts the part's bytes
/// somewhere, or finds them there: their size and their sum of checks.
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
  archive.each(sizes_, [&](Sizes& sizes) {
    archive.plain(sizes.rank);
    archive.plain(sizes.size);
    archive.plain(sizes.cells);
    archive.each(sizes.extent, [&](Count& extent) { archive.plain(extent); });
    std::list<TablePart> none;
    archive.each(Archive::reads || by_graph_ ? sizes.parts : none, [&](TablePart& part) {
      std::uint64_t size = 0;
      if constexpr (!Archive::reads) size = body(part, 0);
      for (double* number : {&part.least, &part.cycle, &part.energy}) archive.plain(*number);
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
  made_ = 0;
  is_kept_ = true;
  return out.take();
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
  for (std::uint32_t s = 0; s < sizes_.size(); ++s) {
    for (TablePart& part : sizes_[s].parts) part.sizes = s;
  }
  if (!parts.at_end()) throw Error("table", "goes on behind its end", "a whole file");
  is_kept_ = true;
}

}  // namespace napkin
