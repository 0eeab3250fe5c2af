// Moves of arrays between levels, and functions with the lines of their operands.

#include <algorithm>

#include "apps/report/diagram/column_maker.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/accumulator.hpp"

namespace napkin::internal::report {

std::string greek(const std::string& auxiliary) {
  const std::size_t end = std::min(auxiliary.find('.'), auxiliary.size());
  const std::string letter = auxiliary.substr(0, end) == "mu" ? "μ" : "δ";
  return letter + auxiliary.substr(end);
}

int ColumnMaker::add(const std::string& name, const std::vector<AxisId>& axes, ArrayId array, OpId state_of) {
  Bundle one;
  one.name = name;
  one.array = array;
  one.state_of = state_of;
  one.axes = places_.drawn(axes);
  one.first = one.last = here();
  one.output = array >= 0 && d_.is_output(array);
  if (array >= 0) one.joined = places_.joined_of(array, one.axes);
  out_.bundles.push_back(one);
  level_.push_back(0);
  const int id = static_cast<int>(out_.bundles.size()) - 1;
  if (array >= 0) bundle_of_[at(array)] = id;
  return id;
}

void ColumnMaker::begin(int id, LevelId level, int variable) {
  level_[at(id)] = level;
  data().events.emplace_back(places_.stretch(id, bundle(id).axes, level, variable));
  use(id);
}

std::string ColumnMaker::rows_named_by(ArrayId table) const {
  std::vector<std::string> named;
  for (const Array& array : d_.arrays) {
    const bool is = std::any_of(array.reindexed.begin(), array.reindexed.end(),
                                [&](const Reindex& dimension) { return dimension.table == table; });
    if (is) named.push_back(array.name);
  }
  return "rows of " + joined(named);
}

Move ColumnMaker::move_of(int id, Trip& trip, bool branch) {
  trip.used = true;
  return {id, trip.from, trip.to, trip.into, trip.store, branch, trip.bytes, trip.size, trip.linked};
}

Trip* ColumnMaker::next(ArrayId array, LevelId from, bool reads, bool stores) {
  for (Trip& trip : places_.trips()) {
    if (trip.used || trip.array != array || trip.from != from) continue;
    if ((reads || !trip.read) && (stores || !trip.store)) return &trip;
  }
  return nullptr;
}

void ColumnMaker::arrive(int id, const Trip& trip, bool staging) {
  if (trip.to == trip.from) return;
  const bool filled =
      trip.variable >= 0 && places_.placed()->variables[at(trip.variable)].level == trip.to && trip.to != 0;
  begin(id, trip.to, filled ? trip.variable : places_.variable_at(bundle(id).array, trip.to, staging));
}

void ColumnMaker::load(ArrayId array) {
  const int id = bundle_of_[at(array)];
  while (Trip* trip = next(array, level_[at(id)], false, false)) {
    data().events.emplace_back(move_of(id, *trip, false));
    arrive(id, *trip, false);
  }
}

void ColumnMaker::store(ArrayId array) {
  const int id = bundle_of_[at(array)];
  for (const Trip& trip : places_.trips()) {  // parts that were added up leave from the place of the sum
    if (!trip.used && trip.array == array && trip.store && next(array, level_[at(id)], true, true) == nullptr)
      level_[at(id)] = trip.from;
  }
  while (Trip* trip = next(array, level_[at(id)], true, true)) {
    data().events.emplace_back(move_of(id, *trip, false));
    arrive(id, *trip, true);
  }
  use(id);
}

void ColumnMaker::put_down(int id) {
  const ArrayId array = bundle(id).array;
  if (array < 0 || d_.is_output(array)) return;
  while (Trip* trip = next(array, level_[at(id)], false, true)) {
    if (!trip->store) break;
    data().events.emplace_back(move_of(id, *trip, false));
    arrive(id, *trip, false);
  }
}

int ColumnMaker::place(const std::vector<int>& ins, const std::vector<int>& outs) {
  const int last = out_.columns.back().kind == Kind::data ? here() - 1 : here();
  if (last >= 1 && out_.columns[at(last)].kind == Kind::functions && out_.columns[at(last)].phase == phase_) {
    const DiagramColumn& column = out_.columns[at(last)];
    bool free = column.functions.size() < 3;
    const auto touches = [](const std::vector<int>& list, int id) {
      return std::find(list.begin(), list.end(), id) != list.end();
    };
    for (const ColumnFunction& other : column.functions) {
      for (const int made : other.outputs) free = free && !touches(ins, made) && !touches(outs, made);
      for (const auto& in : other.inputs) free = free && !touches(outs, in.bundle);
    }
    if (last < here()) {
      for (const auto& event : out_.columns.back().events) {
        const int id = std::visit([](const auto& e) { return e.bundle; }, event);
        free = free && !touches(ins, id);
      }
    }
    if (free) return last;
  }
  data();
  column(Kind::functions);
  return here();
}

Trip* ColumnMaker::next_of_operand(int id, LevelId level) {
  const ArrayId array = bundle(id).array;
  if (!is_part(id)) {
    Trip* trip = next(array, level, true, true);
    return trip == nullptr || (trip->store && d_.is_output(array)) ? nullptr : trip;
  }
  if (level == places_.made_at(array)) return nullptr;  // the route of the sum, not of a part
  Trip* down = next(array, level, true, false);
  return down != nullptr ? down : next(array, level, true, true);
}

ColumnFunction::Input ColumnMaker::operand(int id, bool stays, int function_column) {
  ColumnFunction::Input in{id, level_[at(id)], stays, -1};
  auto& events = out_.columns[at(function_column - 1)].events;
  // also stays for another function of the column that takes it
  in.stays = stays = stays || std::any_of(events.begin(), events.end(), [&](const auto& event) {
                       const auto* move = std::get_if<Move>(&event);
                       return move != nullptr && move->branch && move->bundle == id;
                     });
  const ArrayId array = bundle(id).array;
  while (array >= 0) {
    Trip* trip = next_of_operand(id, in.level);
    if (trip == nullptr) break;
    events.emplace_back(move_of(id, *trip, stays));
    in.move = static_cast<int>(events.size()) - 1;
    in.level = trip->to;
    if (stays || trip->to == trip->from) continue;
    level_[at(id)] = trip->to;
    const int variable = is_part(id) ? trip->variable : places_.variable_at(array, trip->to, false);
    events.emplace_back(places_.stretch(id, bundle(id).axes, trip->to, variable));
  }
  bundle(id).last = std::max(bundle(id).last, function_column);
  return in;
}

void ColumnMaker::put(Made made) {
  std::vector<int> ins, outs = made.outputs;
  for (const auto& [id, stays] : made.inputs) ins.push_back(id);
  const int where = place(ins, outs);
  ColumnFunction& f = made.function;
  for (const auto& [id, stays] : made.inputs) f.inputs.push_back(operand(id, stays, where));
  f.updates = !outs.empty() && f.shape != Shape::start;
  f.level = places_.deepest();
  if (const PlacedOperation* op = f.operation < 0 ? nullptr : places_.operation(f.operation)) {
    if (op->tensor && op->instruction != nullptr && f.splits) f.unit = op->instruction->name;
  }
  f.outputs = outs;
  data();
  for (const auto& [array, owner] : made.fresh) {
    const int id = array >= 0 ? add(d_.arrays[at(array)].name, d_.arrays[at(array)].axes, array)
                              : add(greek(auxiliary("delta", owner)), state_axes(d_, owner), -1);
    bundle(id).first = where;
    const LevelId level = made.part >= 0 ? places_.placed()->variables[at(made.part)].level
                          : array >= 0   ? places_.made_at(array)
                                         : places_.deepest();
    begin(id, level, made.part >= 0 ? made.part : places_.variable_at(array, level, false));
    f.outputs.push_back(id);
    if (array < 0) factor_of_.emplace_back(owner, id);
  }
  for (const int id : outs) use(id);
  const std::vector<int> all = f.outputs;
  out_.columns[at(where)].functions.push_back(std::move(f));
  for (const int id : all) put_down(id);
}

std::string ColumnMaker::auxiliary(const std::string& kind, OpId softmax) const {
  for (const Auxiliary& a : s_.auxiliaries) {
    if (a.owner == softmax && (a.name == kind || a.name.starts_with(kind + "."))) return a.name;
  }
  return kind;
}

int ColumnMaker::state(OpId softmax) const {
  for (std::size_t i = 0; i < out_.bundles.size(); ++i) {
    if (out_.bundles[i].state_of == softmax) return static_cast<int>(i);
  }
  return -1;
}

int ColumnMaker::factor(OpId softmax) const {
  for (const auto& [owner, id] : factor_of_) {
    if (owner == softmax) return id;
  }
  return -1;
}

bool ColumnMaker::stays(ArrayId array, OpId reader) const {
  const auto in = [&](const std::vector<ArrayId>& list) {
    return std::find(list.begin(), list.end(), array) != list.end();
  };
  const auto later = d_.consumers(array);
  return in(s_.persistent) || in(s_.maintained) || d_.is_output(array) ||
         std::any_of(later.begin(), later.end(), [&](OpId id) { return id > reader; });
}

}  // namespace napkin::internal::report
