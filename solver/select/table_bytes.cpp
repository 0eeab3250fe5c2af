// Tables as bytes: a head with the candidates and where each part lies, and the parts behind it, each with its sum of
// checks, so that a question reads the parts that it scans and no more.

#include <algorithm>
#include <limits>

#include "model/clock/run/simulation.hpp"
#include "model/diagram/packing.hpp"
#include "solver/select/scan.hpp"

namespace napkin {
namespace {

constexpr std::string_view format = "napkin table 3";

/// Rows of one part agree in much: what one of few combinations is.
struct Trait {
  BlockEnds ends;
  std::int32_t blocks = 1;
  BlockOrder order = BlockOrder::grid;
  bool cuts = false;
  bool operator==(const Trait&) const = default;
};

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

void put(ByteWriter& bytes, const BlockClocks& clocks) {
  bytes.put(clocks.first);
  bytes.put(clocks.next);
}
BlockClocks get_clocks(ByteReader& bytes) {
  const auto first = bytes.get<double>();
  return {first, bytes.get<double>()};
}

/// Whether a run speaks of no other: block_clocks() takes few iterations from a run of their own (period.cpp).
bool is_short(const BlockRuns::Kept& one) { return one.run.iterations <= few_iterations + one.cut.all(); }

void put(ByteWriter& bytes, const Period& period) {
  for (const double number : {period.clocks, period.first, period.next, period.cycle.clocks, period.pipe.clocks})
    bytes.put(number);
  bytes.put_count(static_cast<std::uint64_t>(period.settled));
  bytes.put_count(period.run->size());
  for (const BlockRuns::Kept& one : period.run->all()) {
    for (const int number : {one.cut.first, one.cut.last, one.run.iterations})
      bytes.put_count(static_cast<std::uint64_t>(number));
    put(bytes, one.run.clocks);
    if (is_short(one)) continue;
    bytes.put_count(static_cast<std::uint64_t>(one.run.least));
    bytes.put_count(static_cast<std::uint64_t>(one.run.turn));
    put(bytes, one.run.more);
  }
}

int get_int(ByteReader& bytes) {
  const std::uint64_t count = bytes.get_count();
  if (count > std::numeric_limits<int>::max()) throw Error("table", "has too large a number", "a whole file");
  return static_cast<int>(count);
}

Period get_period(ByteReader& bytes, const std::shared_ptr<Simulation>& simulation) {
  Period out;
  for (double* number : {&out.clocks, &out.first, &out.next, &out.cycle.clocks, &out.pipe.clocks})
    *number = bytes.get<double>();
  out.contention = std::max(out.clocks - std::max(out.cycle.clocks, out.pipe.clocks), 0.0);
  out.settled = get_int(bytes);
  std::vector<BlockRuns::Kept> runs(bytes.get_size());
  for (BlockRuns::Kept& one : runs) {
    for (int* number : {&one.cut.first, &one.cut.last, &one.run.iterations}) *number = get_int(bytes);
    one.run.clocks = get_clocks(bytes);
    one.run.least = one.run.iterations;
    if (is_short(one)) continue;
    one.run.least = get_int(bytes);
    one.run.turn = std::max(get_int(bytes), 1);
    one.run.more = get_clocks(bytes);
  }
  out.run = std::make_shared<BlockRuns>(simulation, std::move(runs));
  return out;
}

/// Within so many.
std::size_t get_index(ByteReader& bytes, std::size_t count) {
  const std::uint64_t index = bytes.get_count();
  if (index >= count) throw Error("table", "points beyond its end", "a whole file");
  return static_cast<std::size_t>(index);
}

}  // namespace

std::string Table::encode(const TablePart& part) const {
  if (!part.bytes.empty()) return std::string(part.bytes);
  ByteWriter out;
  out.put_count(part.periods.size());
  for (std::size_t p = 0; p < part.periods.size(); ++p) {
    put(out, part.periods[p]);
    out.put(part.cycles[p]);
    out.put_count(part.binds[p]);
  }
  std::vector<Trait> traits;
  std::vector<BlockEnergy> energies;
  ByteWriter rows;
  for (const TableRow& row : part.rows) {
    const auto legal = std::lower_bound(candidates_.legal().begin(), candidates_.legal().end(), row.rank);
    rows.put_count(static_cast<std::uint64_t>(legal - candidates_.legal().begin()));
    rows.put_count(static_cast<std::uint64_t>(row.period));
    rows.put_count(place_in(traits, {row.ends, row.blocks, row.order, row.cuts}, std::equal_to<>()));
    rows.put_count(place_in(energies, row.energy, equal));
  }
  out.put_count(traits.size());
  for (const Trait& trait : traits) {
    out.put(trait.ends.start);
    out.put(trait.ends.handover);
    for (const int number :
         {trait.ends.persist ? 1 : 0, trait.blocks, static_cast<int>(trait.order), trait.cuts ? 1 : 0})
      out.put_count(static_cast<std::uint64_t>(number));
  }
  out.put_count(energies.size());
  for (const BlockEnergy& energy : energies) {
    for (const double number : {energy.iteration, energy.once, energy.cut, energy.alone}) out.put(number);
  }
  out.put_count(part.rows.size());
  out.put_bytes(rows.take());
  return out.take();
}

void Table::decode(TablePart& part) const {
  if (checksum(part.bytes) != part.checksum) throw Error("table", "has a damaged part", "a whole file");
  ByteReader in(part.bytes);
  for (std::size_t left = in.get_size(); left > 0; --left) {
    part.periods.push_back(get_period(in, simulation_));
    part.cycles.push_back(in.get<double>());
    part.binds.push_back(static_cast<std::uint32_t>(get_index(in, binds_.size())));
  }
  std::vector<Trait> traits(in.get_size());
  for (Trait& trait : traits) {
    trait.ends.start = in.get<double>();
    trait.ends.handover = in.get<double>();
    trait.ends.persist = in.get_count() != 0;
    trait.blocks = get_int(in);
    trait.order = static_cast<BlockOrder>(get_index(in, 5));
    trait.cuts = in.get_count() != 0;
  }
  std::vector<BlockEnergy> energies(in.get_size());
  for (BlockEnergy& energy : energies) {
    for (double* number : {&energy.iteration, &energy.once, &energy.cut, &energy.alone}) *number = in.get<double>();
  }
  part.rows.resize(in.get_size());
  for (TableRow& row : part.rows) {
    const std::size_t legal = get_index(in, candidates_.legal().size());
    row.rank = candidates_.legal()[legal];
    row.variant = static_cast<std::int32_t>(variant_of_[legal]);
    row.period = static_cast<std::int32_t>(get_index(in, part.periods.size()));
    const Trait& trait = traits[get_index(in, traits.size())];
    row.ends = trait.ends;
    row.blocks = trait.blocks;
    row.order = trait.order;
    row.cuts = trait.cuts;
    row.energy = energies[get_index(in, energies.size())];
  }
  part.finish();
}

/// Parts by the roofline are made in no more time than they are read.
std::string Table::head(std::vector<std::string>& bodies) {
  ByteWriter out;
  candidates_.write(out);
  out.put_count(by_graph_ ? 1 : 0);
  for (std::size_t i = 0; i < sizes_of_.size(); ++i) {
    out.put_count(sizes_of_[i]);
    out.put_count(variant_of_[i]);
  }
  out.put_count(shared_along_.size());
  for (const std::vector<AxisId>& axes : shared_along_) out.put(axes);
  out.put_count(binds_.size());
  for (const Binds& binds : binds_) {
    out.put(std::string_view(binds.pipe));
    out.put_count(binds.beside_tensor ? 1 : 0);
    out.put_count(binds.cycle.size());
    for (const std::string& node : binds.cycle) out.put(std::string_view(node));
  }
  out.put_count(sizes_.size());
  for (const Sizes& sizes : sizes_) {
    out.put(sizes.rank);
    out.put(sizes.size);
    out.put(sizes.cells);
    out.put_count(sizes.extent.size());
    for (const Count extent : sizes.extent) out.put(extent.get());
    out.put_count(by_graph_ ? sizes.parts.size() : 0);
    for (const TablePart& part : sizes.parts) {
      if (!by_graph_) break;
      bodies.push_back(encode(part));
      for (const double number : {part.least, part.cycle, part.energy}) out.put(number);
      out.put_count(part.facts);
      out.put_count(bodies.back().size());
      out.put(part.bytes.empty() ? checksum(bodies.back()) : part.checksum);
    }
  }
  return out.take();
}

std::string Table::bytes() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> bodies;
  const std::string first = head(bodies);
  ByteWriter out;
  out.put(format);
  out.put(checksum(first));
  out.put(std::string_view(first));
  for (const std::string& body : bodies) out.put_bytes(body);
  made_ = 0;
  is_kept_ = true;
  return out.take();
}

/// What lies behind the name of the format: the head, checked, and the parts.
struct Table::Head {
  ByteReader in{{}};
  std::string_view parts;

  explicit Head(std::string_view whole) {
    ByteReader bytes(whole);
    if (bytes.get_text() != format) throw Error("table", "of another version", std::string(format));
    const auto sum = bytes.get<std::uint64_t>();
    const std::string_view head = bytes.next(static_cast<std::size_t>(bytes.get<std::uint64_t>()));
    if (checksum(head) != sum) throw Error("table", "has a damaged head", "a whole file");
    in = ByteReader(head);
    parts = bytes.rest();
  }
};

Table::Table(const Question& like, SharedBytes bytes) : Table(like, bytes, Head(bytes.bytes)) {}

Table::Table(const Question& like, SharedBytes bytes, Head head)
    : kept_(std::move(bytes)),
      judged_(launch_problem(like.problem)),
      candidates_(like, head.in),
      simulation_(std::make_shared<Simulation>()) {
  read_head(head);
  is_kept_ = true;
}

void Table::read_head(Head& head) {
  ByteReader& in = head.in;
  by_graph_ = in.get_count() != 0;
  for (std::size_t left = candidates_.legal().size(); left > 0; --left) {
    sizes_of_.push_back(static_cast<std::uint32_t>(in.get_count()));
    variant_of_.push_back(static_cast<std::uint32_t>(in.get_count()));
  }
  shared_along_.resize(in.get_size());
  for (std::vector<AxisId>& axes : shared_along_) axes = in.get_all<AxisId>();
  for (std::size_t left = in.get_size(); left > 0; --left) {
    Binds binds;
    binds.pipe = in.get_text();
    binds.beside_tensor = in.get_count() != 0;
    binds.cycle.resize(in.get_size());
    for (std::string& node : binds.cycle) node = in.get_text();
    binds_.push_back(std::move(binds));
  }
  sizes_.resize(in.get_size());
  ByteReader parts(head.parts);
  std::uint32_t number = 0;
  for (Sizes& sizes : sizes_) {
    sizes.rank = in.get<std::int64_t>();
    sizes.size = in.get<std::int64_t>();
    sizes.cells = in.get<double>();
    for (std::size_t left = in.get_size(); left > 0; --left) sizes.extent.emplace_back(in.get<std::int64_t>());
    for (std::size_t left = in.get_size(); left > 0; --left) {
      TablePart& part = sizes.parts.emplace_back();
      part.sizes = number;
      for (double* value : {&part.least, &part.cycle, &part.energy}) *value = in.get<double>();
      part.facts = in.get_count();
      part.bytes = parts.next(static_cast<std::size_t>(in.get_count()));
      part.checksum = in.get<std::uint64_t>();
    }
    ++number;
  }
  if (!parts.at_end()) throw Error("table", "goes on behind its end", "a whole file");
}

}  // namespace napkin
