// Tables by kind of question, in memory and in a store; and their bytes.

#include <algorithm>
#include <list>
#include <mutex>

#include "model/clock/run/simulation.hpp"
#include "model/diagram/packing.hpp"
#include "solver/select/scan.hpp"

namespace napkin {
namespace {

constexpr std::string_view format = "napkin table 2";

void write(ByteWriter& bytes, const Period& period) {
  for (const double number :
       {period.clocks, period.first, period.next, period.cycle.clocks, period.pipe.clocks, period.contention})
    bytes.put(number);
  bytes.put(static_cast<std::int32_t>(period.settled));
  bytes.put(period.pipe.beside_tensor);
  bytes.put(std::string_view(period.pipe.name));
  bytes.put(static_cast<std::int32_t>(period.cycle.nodes.size()));
  for (const std::string& node : period.cycle.nodes) bytes.put(std::string_view(node));
  std::vector<BlockRuns::Kept> runs;
  period.run->each([&](const BlockRuns::Kept& one) { runs.push_back(one); });
  bytes.put(runs);
}

Period read_period(ByteReader& bytes, const std::shared_ptr<Simulation>& simulation) {
  Period out;
  for (double* number : {&out.clocks, &out.first, &out.next, &out.cycle.clocks, &out.pipe.clocks, &out.contention})
    *number = bytes.get<double>();
  out.settled = bytes.get<std::int32_t>();
  out.pipe.beside_tensor = bytes.get<bool>();
  out.pipe.name = bytes.get_text();
  for (auto left = bytes.get<std::int32_t>(); left > 0; --left) out.cycle.nodes.push_back(bytes.get_text());
  out.run = std::make_shared<BlockRuns>(simulation);
  for (const BlockRuns::Kept& one : bytes.get_all<BlockRuns::Kept>()) out.run->add(one.run, one.cut);
  return out;
}

}  // namespace

/// Rows by the roofline are made in no more time than they are read.
std::string Table::bytes() {
  const std::lock_guard lock(mutex_);
  ByteWriter out;
  out.put(format);
  candidates_.write(out);
  std::int32_t kept = 0;
  for (const TableRows& rows : made_) kept += rows.loads.empty() ? 1 : 0;
  out.put(kept);
  for (const TableRows& rows : made_) {
    if (!rows.loads.empty()) continue;
    out.put(std::string_view(rows.facts));
    out.put(rows.rows);
    out.put(rows.members);
    out.put(rows.parts);
    out.put(rows.least);
    out.put(static_cast<std::uint64_t>(rows.periods.size()));
    for (const Period& period : rows.periods) write(out, period);
  }
  grown_ = false;
  return out.take();
}

namespace {

/// The bytes behind the name of the format.
ByteReader checked(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.get_text() != format) throw Error("table", "of another version", std::string(format));
  return reader;
}

}  // namespace

Table::Table(const Question& like, std::string_view bytes) : Table(like, checked(bytes)) {}

Table::Table(const Question& like, ByteReader reader)
    : judged_(launch_problem(like.problem)), candidates_(like, reader) {
  find_sizes(like);
  const auto simulation = std::make_shared<Simulation>();
  for (auto left = reader.get<std::int32_t>(); left > 0; --left) {
    TableRows& rows = made_.emplace_back();
    rows.facts = reader.get_text();
    rows.rows = reader.get_all<TableRow>();
    rows.members = reader.get_all<std::int64_t>();
    rows.parts = reader.get_all<TableRows::Part>();
    rows.least = reader.get_all<double>();
    for (auto more = reader.get<std::uint64_t>(); more > 0; --more)
      rows.periods.push_back(read_period(reader, simulation));
  }
  grown_ = false;
}

struct Tables::Kept {
  struct One {
    const void *streamed, *mapping, *machine;
    std::string kind, content;
    std::shared_ptr<Table> table;
  };
  Store store;
  std::mutex mutex;
  std::list<One> tables;  // latest first
};

Tables::Tables() : Tables(Store{}) {}
Tables::Tables(Store store) : kept_(std::make_unique<Kept>()) { kept_->store = std::move(store); }
Tables::~Tables() = default;

namespace {

std::shared_ptr<Table> loaded(const Question& question, const Tables::Store& store, const std::string& key) {
  if (question.content.empty() || !store.load) return nullptr;
  const auto bytes = store.load(key);
  if (!bytes) return nullptr;
  try {
    return std::make_shared<Table>(question, *bytes);
  } catch (const Error&) {
    return nullptr;  // of another version, or damaged: made anew
  }
}

}  // namespace

std::shared_ptr<Table> Tables::of(const Question& question) {
  std::string kind = kind_of(question);
  const std::lock_guard lock(kept_->mutex);
  const auto known = std::find_if(kept_->tables.begin(), kept_->tables.end(), [&](const Kept::One& one) {
    return one.streamed == question.streamed && one.mapping == question.mapping && one.machine == question.machine &&
           one.kind == kind;
  });
  if (known != kept_->tables.end()) {
    kept_->tables.splice(kept_->tables.begin(), kept_->tables, known);
    return known->table;
  }
  std::shared_ptr<Table> table = loaded(question, kept_->store, question.content + kind);
  if (table == nullptr) table = std::make_shared<Table>(question);
  kept_->tables.push_front(
      {question.streamed, question.mapping, question.machine, std::move(kind), question.content, table});
  return table;
}

void Tables::save(bool all) {
  if (!kept_->store.save) return;
  const std::lock_guard lock(kept_->mutex);
  for (const Kept::One& one : kept_->tables) {
    if (!one.content.empty() && (all || one.table->has_grown()))
      kept_->store.save(one.content + one.kind, one.table->bytes());
  }
}

bool any_legal(const Question& question, Tables& tables) {
  const std::shared_ptr<Table> table = tables.of(question);
  const Allowed allowed(question, table->candidates());
  const std::vector<std::int64_t>& legal = table->candidates().legal();
  return std::any_of(legal.begin(), legal.end(), [&](std::int64_t rank) { return allowed(rank); });
}

Selector::Selector(const Question& question, Tables& tables)
    : scan_(std::make_unique<Scan>(tables.of(question), question)) {}
Selector::~Selector() = default;
Selection Selector::rank(int top) const { return scan_->rank(top); }
Rejections Selector::count_rejections() const { return scan_->count(); }

std::string nearest_constraint(const Rejections& rejections) {
  const auto most = std::max_element(rejections.rejected.begin(), rejections.rejected.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == rejections.rejected.end() ? std::string() : most->first;
}

}  // namespace napkin
