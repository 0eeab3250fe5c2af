// Tables by kind of question, in memory and in a store.

#include <algorithm>
#include <list>
#include <mutex>

#include "solver/select/scan.hpp"

namespace napkin {

struct Tables::Kept {
  struct One {
    const void *streamed, *mapping, *machine;
    std::string kind, content;
    std::shared_ptr<Table> table;
    bool of_one_shape;
  };
  static constexpr std::size_t most = 96, most_of_one_shape = 8;

  /// Forgets what was asked longest ago: a process that asks about many shapes holds no more tables than one that asks
  /// about few.
  void drop() {
    std::size_t all = 0, of_one_shape = 0;
    tables.remove_if(
        [&](const One& one) { return ++all > most || (one.of_one_shape && ++of_one_shape > most_of_one_shape); });
  }

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
  auto bytes = store.load(key);
  if (!bytes) return nullptr;
  try {
    return std::make_shared<Table>(question, std::move(*bytes));
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
  kept_->tables.push_front({question.streamed, question.mapping, question.machine, std::move(kind), question.content,
                            table, serves_one_shape(*question.mapping)});
  kept_->drop();
  return table;
}

void Tables::forget(const Table& table) {
  const std::lock_guard lock(kept_->mutex);
  kept_->tables.remove_if([&](const Kept::One& one) { return one.table.get() == &table; });
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
  const std::vector<std::uint32_t>& legal = table->candidates().legal();
  return std::any_of(legal.begin(), legal.end(), [&](std::int64_t rank) { return allowed(rank); });
}

Selector::Selector(const Question& question, Tables& tables, const MakingTable& making) {
  const std::shared_ptr<Table> table = tables.of(question);
  try {
    scan_ = std::make_unique<Scan>(table, question, making);
  } catch (...) {
    tables.forget(*table);
    throw;
  }
}
Selector::~Selector() = default;
Selection Selector::rank(int top) const {
  const Question& question = scan_->question();
  if (!is_scannable(*question.mapping)) return selection_of(question, select_exhaustively(question), top);
  return scan_->rank(top);
}
Rejections Selector::count_rejections() const { return scan_->count(); }
std::optional<Prediction> Selector::noticed(const Tile& tile) const {
  return is_scannable(*scan_->question().mapping) ? scan_->noticed(tile) : std::nullopt;
}

std::string nearest_constraint(const Rejections& rejections) {
  const auto most = std::max_element(rejections.rejected.begin(), rejections.rejected.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == rejections.rejected.end() ? std::string() : most->first;
}

}  // namespace napkin
