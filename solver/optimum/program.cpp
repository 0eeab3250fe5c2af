#include "solver/optimum/program.hpp"

#include <algorithm>

#include "model/diagram/reindex.hpp"

namespace napkin::internal {
namespace {

AxisSet set_of(const std::vector<AxisId>& axes, const std::vector<AxisId>& grouped) {
  AxisSet set = 0;
  for (AxisId a : axes) {
    const auto position = std::find(grouped.begin(), grouped.end(), a);
    if (position != grouped.end()) set |= AxisSet{1} << (position - grouped.begin());
  }
  return set;
}

/// Returns the label of an axis: "g_q" for q; nothing if the axis always has one size.
Product label(const char* prefix, const Diagram& diagram, AxisId axis, const Product& its) {
  return its.factors.empty() ? Product{} : symbol(axis, prefix + diagram.axes[at(axis)].name);
}

/// A part of what an array's shifted dimensions move: coefficient times the sizes of `symbols`, once for every group of
/// `lacks`. A group of g rows under a window of k reads g + k - 1, so i rows take i + (k - 1) i/g. (eq. 2.9)
struct ShiftedPart {
  AxisSet lacks = 0;
  std::vector<AxisId> symbols;
  double coefficient = 1;
  double other = 1;  // a factor beside the sizes, and its name
  Product other_name;
};
using ShiftedParts = std::vector<ShiftedPart>;

/// Lists the parts of a shifted dimension. Chunks of the streamed axis count as 1, in a bound as one chunk, which reads
/// no row twice. Parts below 0, of windows shorter than their stride, are left out; `below` gets their sum at groups of
/// 1, its largest.
ShiftedParts parts_of(const Streamed& s, const Array& array, const Reindex& dimension, const Sizes& sizes,
                      const std::vector<AxisId>& grouped, Border border, double& below) {
  const auto first = array.axes.begin() + static_cast<std::ptrdiff_t>(dimension.first);
  const std::vector<AxisId> axes(first, first + static_cast<std::ptrdiff_t>(dimension.strides.size()));
  ShiftedParts parts;
  const auto add = [&](double coefficient, std::optional<AxisId> whole) {
    ShiftedPart part{0, {}, coefficient, 1, {}};
    for (const AxisId axis : axes) {
      const bool streams = border == Border::counted && s.stream == axis && !s.grouped(axis);
      if (axis == whole && !s.grouped(axis) && !streams) part.coefficient *= real(sizes[at(axis)]);
      if (streams || (axis == whole && s.grouped(axis))) part.symbols.push_back(axis);
      if (axis != whole && s.grouped(axis)) part.lacks |= set_of({axis}, grouped);
    }
    for (ShiftedPart& known : parts) {
      if (known.lacks != part.lacks || known.symbols != part.symbols) continue;
      known.coefficient += part.coefficient;
      return;
    }
    parts.push_back(std::move(part));
  };
  double rest = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto stride = static_cast<double>(dimension.strides[i]);
    add(stride, axes[i]);
    rest -= stride;
  }
  add(rest, std::nullopt);
  for (const ShiftedPart& part : parts) {
    double rows = std::min(part.coefficient, 0.0);
    for (const AxisId axis : part.symbols) rows *= real(sizes[at(axis)]);
    for (std::size_t i = 0; i < grouped.size(); ++i) {
      if ((part.lacks >> i & 1U) != 0) rows *= real(sizes[at(grouped[i])]);
    }
    below -= rows;
  }
  std::erase_if(parts, [](const ShiftedPart& part) { return part.coefficient <= 0; });
  return parts;
}

/// Returns the rows of the dimension that are read at all.
Count rows_once(const Array& array, const Reindex& dimension, const Sizes& sizes) {
  std::vector<std::vector<Pieces>> pieces;
  for (std::size_t i = 0; i < dimension.strides.size(); ++i) {
    const Count size = sizes[at(array.axes[dimension.first + i])];
    pieces.push_back(pieces_of(size, size, size));
  }
  return rows_read(dimension, pieces, sizes[at(dimension.of)]);
}

/// Returns the rows outside the array that groups and chunks of 1 read, all together.
Count rows_outside(const Streamed& s, const Array& array, const Reindex& dimension, const Sizes& sizes) {
  std::vector<std::vector<Pieces>> pieces;
  for (std::size_t i = 0; i < dimension.strides.size(); ++i) {
    const AxisId axis = array.axes[dimension.first + i];
    const Count size = sizes[at(axis)];
    pieces.push_back(pieces_of(size, s.grouped(axis) ? Count(1) : size, s.stream == axis ? Count(1) : size));
  }
  Reindex endless = dimension;
  endless.offset = 0;
  return rows_read(endless, pieces, INT64_MAX) - rows_read(dimension, pieces, sizes[at(dimension.of)]);
}

/// Subtracts the rows outside the array from the part that no choice of groups changes: "(i - 2)" rows for i. If
/// nothing is left, that part becomes `once`, the rows that are read at all.
void leave_out(double outside, double once, const Streamed& s, const Sizes& sizes, ShiftedParts& parts) {
  const auto constant = std::find_if(parts.begin(), parts.end(), [](const ShiftedPart& p) { return p.lacks == 0; });
  if (outside < 1) return;
  if (constant == parts.end()) {
    parts = {{0, {}, 1, once, Product{once, {}}}};
    return;
  }
  double rows = constant->coefficient;
  Product name{constant->coefficient, {}};
  int rank = 1 << 20;
  for (const AxisId axis : constant->symbols) {
    rows *= real(sizes[at(axis)]);
    name = name * axis_symbol(s.diagram, sizes, axis);
    rank = std::min(rank, axis);
  }
  const double left = rows - outside;
  if (!(left > 0)) {
    parts = {{0, {}, 1, once, Product{once, {}}}};
    return;
  }
  const Product as_text = symbol(rank, "(" + print(name) + " - " + print(Product{outside, {}}) + ")");
  *constant = {0, {}, 1, left, name.factors.empty() ? Product{left, {}} : as_text};
}

/// Lists the parts of all of an array's shifted dimensions, multiplied out: one part of 1 if it has none.
ShiftedParts parts_of(const Streamed& s, const Array& array, const Sizes& sizes, const std::vector<AxisId>& grouped,
                      Border border) {
  ShiftedParts all{{}};
  for (const Reindex& dimension : array.reindexed) {
    if (dimension.table) continue;
    ShiftedParts next, one;
    double below = 0;
    one = parts_of(s, array, dimension, sizes, grouped, border, below);
    if (border == Border::left_out)
      leave_out(real(rows_outside(s, array, dimension, sizes)) + below, real(rows_once(array, dimension, sizes)), s,
                sizes, one);
    for (const ShiftedPart& a : all) {
      for (const ShiftedPart& b : one) {
        next.push_back({a.lacks | b.lacks, a.symbols, a.coefficient * b.coefficient, a.other * b.other,
                        a.other_name * b.other_name});
        next.back().symbols.insert(next.back().symbols.end(), b.symbols.begin(), b.symbols.end());
      }
    }
    all = std::move(next);
  }
  return all;
}

struct Resident {
  double values = 0;
  std::vector<Product> symbols;
};

/// Returns the values per unit of group volume that a block keeps through a column, of arrays that carry at least these
/// grouped axes.
Resident resident_in(const Streamed& s, const Column& column, const std::vector<AxisId>& grouped, AxisSet carried,
                     const Sizes& sizes, const std::vector<double>& weight) {
  Resident r;
  for (ArrayId id : column.arrays) {
    const Array& array = s.diagram.arrays[at(id)];
    if ((s.stream && array.has(*s.stream)) || (set_of(array.axes, grouped) & carried) != carried) continue;
    Product named{weight.empty() ? 1 : weight[at(id)], {}};
    double values = named.coefficient;
    for (AxisId a : array.axes) {
      if (s.grouped(a) || is_shifted(array, a)) continue;
      values *= real(sizes[at(a)]);
      named = named * axis_symbol(s.diagram, sizes, a);
    }
    r.values += values;
    r.symbols.push_back(named);
  }
  return r;
}

/// Returns the largest set of grouped axes that one array carries without the stream.
AxisSet limited_axes(const Streamed& s, const std::vector<Column>& drawn, const std::vector<AxisId>& grouped) {
  AxisSet best = 0;
  for (const Column& column : drawn) {
    for (ArrayId id : column.arrays) {
      const Array& array = s.diagram.arrays[at(id)];
      if (s.stream && array.has(*s.stream)) continue;
      const AxisSet carried = set_of(array.axes, grouped);
      if (__builtin_popcountll(carried) > __builtin_popcountll(best)) best = carried;
    }
  }
  return best;
}

void check_axes(const std::vector<AxisId>& grouped) {
  if (grouped.size() > 64) throw Error("optimum", "more than 64 grouped axes", "at most 64");
}

}  // namespace

std::vector<AxisId> grouped_axes(const Streamed& streamed) {
  std::vector<AxisId> result;
  for (std::size_t i = 0; i < streamed.roles.size(); ++i) {
    if (streamed.grouped(static_cast<AxisId>(i))) result.push_back(static_cast<AxisId>(i));
  }
  check_axes(result);
  return result;
}

Product axis_symbol(const Diagram& diagram, const Sizes& sizes, AxisId axis) {
  const Axis& a = diagram.axes[at(axis)];
  if (const auto* fixed = std::get_if<std::int64_t>(&a.fallback)) {
    if (*fixed == 1 && sizes[at(axis)] == 1) return {};
  }
  if (const auto* other = std::get_if<AxisId>(&a.fallback)) {
    if (sizes[at(axis)] == sizes[at(*other)]) return axis_symbol(diagram, sizes, *other);
  }
  return symbol(axis, a.name);
}

std::vector<double> value_bytes(const Diagram& diagram, DType type) {
  std::vector<double> bytes;
  for (const Array& array : diagram.arrays) bytes.push_back(bytes_per_value(array.type.value_or(type)));
  return bytes;
}

GeometricProgram program_of(const Streamed& streamed, const Problem& problem, const std::vector<double>& weight,
                            Border border) {
  // `resident` (y) is the largest sum, over drawn columns, of the values per unit of group volume of the arrays that
  // carry every grouped axis and not the stream: 2 d for attention (Q and O), 1 for matmul (C, erratum P13). If no
  // array carries all grouped axes (outputs lack a split axis), only the largest set that some array carries is
  // limited: a relaxation, still a lower bound.
  const std::vector<AxisId> grouped = grouped_axes(streamed);
  const std::vector<Column> drawn = columns(streamed, ColumnView::drawn);
  const AxisSet limited = limited_axes(streamed, drawn, grouped);
  GeometricProgram p;
  for (std::size_t i = 0; i < grouped.size(); ++i) {
    const AxisId a = grouped[i];
    p.axes.push_back({streamed.diagram.axes[at(a)].name, a, real(problem.sizes[at(a)]),
                      axis_symbol(streamed.diagram, problem.sizes, a), ((limited >> i) & 1U) != 0});
  }
  for (const TransferTerm& t : transfer_terms(streamed)) {
    const Array& array = streamed.diagram.arrays[at(t.array)];
    for (const ShiftedPart& part : parts_of(streamed, array, problem.sizes, grouped, border)) {
      ProgramTerm term{t.array, 1, set_of(t.lacking, grouped) | part.lacks, {}};
      term.symbol.coefficient = (weight.empty() ? 1 : weight[at(t.array)]) * part.coefficient;
      std::vector<AxisId> axes = array.axes;
      std::erase_if(axes, [&](AxisId a) { return is_shifted(array, a); });
      axes.insert(axes.end(), part.symbols.begin(), part.symbols.end());
      for (std::size_t i = 0; i < grouped.size(); ++i) {
        if ((term.lacks >> i & 1U) != 0) axes.push_back(grouped[i]);
      }
      term.coefficient = term.symbol.coefficient * part.other;
      term.symbol = term.symbol * part.other_name;
      for (AxisId a : axes) {
        term.coefficient *= real(problem.sizes[at(a)]);
        term.symbol = term.symbol * axis_symbol(streamed.diagram, problem.sizes, a);
      }
      p.terms.push_back(std::move(term));
    }
  }
  Resident most;
  for (const Column& column : drawn) {
    Resident r = resident_in(streamed, column, grouped, limited, problem.sizes, weight);
    if (r.values > most.values) most = std::move(r);
  }
  p.resident = most.values;
  p.resident_symbol = as_product(most.symbols);
  return p;
}

namespace {

/// Rows that a group's part of shifted dimensions holds, as a sum of products: axes and a number each. (eq. 2.9)
using Reaches = std::vector<std::pair<std::vector<AxisId>, Count>>;
Reaches reaches(const Streamed& s, const Array& array, const Sizes& sizes) {
  Reaches all{{{}, 1}};
  for (const Reindex& dimension : array.reindexed) {
    if (dimension.table) continue;
    Reaches one;
    Count rest = 1;
    for (std::size_t i = 0; i < dimension.strides.size(); ++i) {
      const AxisId axis = array.axes[dimension.first + i];
      const Count stride = dimension.strides[i];
      const bool divided = s.grouped(axis) || s.stream == axis;
      if (divided) one.push_back({{axis}, stride});
      rest += divided ? Count(0) - stride : stride * (sizes[at(axis)] - Count(1));
    }
    if (rest != Count(0)) one.push_back({{}, rest});
    Reaches next;
    for (const auto& [axes, factor] : all) {
      for (const auto& [more, times] : one) {
        next.emplace_back(axes, factor * times);
        next.back().first.insert(next.back().first.end(), more.begin(), more.end());
      }
    }
    all = std::move(next);
  }
  return all;
}

}  // namespace

MemoryRule::MemoryRule(const Streamed& streamed, const Sizes& sizes, ColumnView view) {
  const std::vector<AxisId> grouped = grouped_axes(streamed);
  if (streamed.stream) {
    stream_size_ = sizes[at(*streamed.stream)];
    const auto position = std::find(grouped.begin(), grouped.end(), *streamed.stream);
    if (position != grouped.end()) split_stream_ = static_cast<std::size_t>(position - grouped.begin());
  }
  const auto part = [&](const std::vector<AxisId>& axes) {
    Part p;
    for (AxisId a : axes) {
      const Product name = axis_symbol(streamed.diagram, sizes, a);
      const auto labelled = [&](const char* prefix) { return label(prefix, streamed.diagram, a, name); };
      const auto position = std::find(grouped.begin(), grouped.end(), a);
      if (streamed.stream == a) {
        p.streamed = true;
        p.symbol = p.symbol * labelled("s_");
      } else if (position != grouped.end()) {
        p.grouped.push_back(static_cast<std::size_t>(position - grouped.begin()));
        p.symbol = p.symbol * labelled("g_");
      } else {
        p.fixed *= sizes[at(a)];
        p.symbol = p.symbol * name;
      }
    }
    return p;
  };
  for (const Column& column : columns(streamed, view)) {
    Sum sum;
    for (ArrayId id : column.arrays) {
      const Array& array = streamed.diagram.arrays[at(id)];
      std::vector<AxisId> plain = array.axes;
      std::erase_if(plain, [&](AxisId a) { return is_shifted(array, a); });
      for (const auto& [axes, factor] : reaches(streamed, array, sizes)) {
        std::vector<AxisId> all = plain;
        all.insert(all.end(), axes.begin(), axes.end());
        sum.push_back(part(all));
        sum.back().fixed *= factor;
        sum.back().symbol.coefficient *= real(factor);
      }
    }
    for (int aux : column.auxiliaries) sum.push_back(part(streamed.auxiliaries[at(aux)].axes));
    if (std::find(columns_.begin(), columns_.end(), sum) == columns_.end()) columns_.push_back(std::move(sum));
  }
}

Count MemoryRule::value(const Sum& sum, std::span<const Count> group, Count chunk) const {
  const Count streamed = std::min(chunk, split_stream_ ? group[*split_stream_] : stream_size_);
  Count total = 0;
  for (const Part& p : sum) {
    Count values = p.fixed;
    for (std::size_t i : p.grouped) values *= group[i];
    if (p.streamed) values *= streamed;
    total += values;
  }
  return total;
}

Count MemoryRule::operator()(std::span<const Count> group, Count chunk) const {
  Count largest = 0;
  for (const Sum& sum : columns_) largest = std::max(largest, value(sum, group, chunk));
  return largest;
}

std::vector<Product> MemoryRule::largest(std::span<const Count> group, Count chunk) const {
  std::vector<Product> names;
  Count most = -1;
  for (const Sum& sum : columns_) {
    const Count values = value(sum, group, chunk);
    if (values <= most) continue;
    most = values;
    names.clear();
    for (const Part& p : sum) names.push_back(p.symbol);
  }
  return collect(names);
}

IntegerProblem integer_problem_of(const Streamed& streamed, const Problem& problem, Values limit, ColumnView view) {
  const std::vector<AxisId> grouped = grouped_axes(streamed);
  IntegerProblem p;
  for (AxisId a : grouped) p.axes.push_back({problem.sizes[at(a)], 1, false});
  for (const TransferTerm& t : transfer_terms(streamed)) {
    const Array& array = streamed.diagram.arrays[at(t.array)];
    for (const ShiftedPart& part : parts_of(streamed, array, problem.sizes, grouped, Border::counted)) {
      Count values = static_cast<std::int64_t>(part.coefficient);
      for (AxisId a : array.axes) values *= is_shifted(array, a) ? Count(1) : problem.sizes[at(a)];
      for (AxisId a : part.symbols) values *= problem.sizes[at(a)];
      p.terms.push_back({values, set_of(t.lacking, grouped) | part.lacks});
    }
  }
  p.memory = MemoryRule(streamed, problem.sizes, view);
  p.limit = limit.value;
  return p;
}

}  // namespace napkin::internal
