#include "apps/python/asking.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace napkin::internal::python {
namespace {

namespace nb = nanobind;

constexpr std::int64_t most_shown = 100000;

std::string_view utf8(nb::handle text, const std::string& where) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) {
    PyErr_Clear();
    throw Error(where, "is no valid text", "characters that UTF-8 has");
  }
  return {bytes, static_cast<std::size_t>(size)};
}

bool is_text(nb::handle value) { return PyUnicode_Check(value.ptr()); }

/// Writes a value for a message.
std::string shown(nb::handle value) {
  const nb::object text = nb::module_::import_("napkin._parts").attr("shown")(value);
  return std::string(utf8(text, ""));
}

/// Returns a name or a path unchanged; writes a dict, a YAML text or a path object to a file and returns its path.
std::string part_of(nb::handle value, const std::string& where) {
  if (is_text(value)) {
    const std::string_view text = utf8(value, where);
    if (text.find('\n') == std::string_view::npos) return std::string(text);
  }
  const nb::object path = nb::module_::import_("napkin._parts").attr("path_of")(value, where);
  return std::string(utf8(path, where));
}

template <class Each>
void for_items(nb::handle mapping, const std::string& where, const std::string& right, const Each& each) {
  if (!PyMapping_Check(mapping.ptr()) || !nb::hasattr(mapping, "items"))
    throw Error(where, "is " + shown(mapping), right);
  for (const nb::handle item : mapping.attr("items")()) {
    const nb::object key = item[0], value = item[1];
    if (!is_text(key)) throw Error(where, "has the name " + shown(key), "names that are texts");
    each(std::string(utf8(key, where)), value);
  }
}

std::string knob_text(nb::handle value, const std::string& name) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True ? "on" : "off";
  if (is_text(value)) return std::string(utf8(value, "tile"));
  return std::to_string(whole_of(value, std::numeric_limits<std::int64_t>::min(), "tile", name));
}

std::vector<SequenceLengths> lengths_of(nb::handle value) {
  if (is_text(value)) return parse_lengths(utf8(value, "lengths"), "lengths");
  const std::string right = "numbers, pairs (queries, keys), or a text such as \"512,64*1x8192\"";
  std::vector<SequenceLengths> lengths;
  if (!PySequence_Check(value.ptr())) throw Error("lengths", "is " + shown(value), right);
  for (const nb::handle one : value) {
    if (is_text(one) || !PySequence_Check(one.ptr())) {
      const std::int64_t both = whole_of(one, 0, "lengths", "a length");
      lengths.push_back({both, both});
    } else {
      if (nb::len(one) != 2) throw Error("lengths", "has " + shown(one), right);
      lengths.push_back(
          {whole_of(nb::object(one[0]), 0, "lengths", "queries"), whole_of(nb::object(one[1]), 0, "lengths", "keys")});
    }
  }
  if (lengths.empty()) throw Error("lengths", "is empty", right);
  return lengths;
}

Mask window_of(nb::handle value) {
  if (is_text(value)) return parse_window(utf8(value, "window"), "window");
  if (!PySequence_Check(value.ptr()) || nb::len(value) != 2)
    throw Error("window", "is " + shown(value), "two whole numbers (left, right)");
  const auto side = [&](int of, const char* name) {
    return std::to_string(whole_of(nb::object(value[of]), -1, "window", name));
  };
  return parse_window(side(0, "left") + "," + side(1, "right"), "window");
}

int top_of(nb::handle value) {
  const std::int64_t top = whole_of(value, 1, "top", "it");
  if (top > most_shown) throw Error("top", "is " + std::to_string(top), "a whole number from 1 to 100000");
  return static_cast<int>(top);
}

bool flag_of(nb::handle value, const std::string& where) {
  if (!PyBool_Check(value.ptr())) throw Error(where, "is " + shown(value), "True or False");
  return value.ptr() == Py_True;
}

/// Returns the name of a type, given as a name or as torch's own.
std::string dtype_of(nb::handle value) {
  if (is_text(value)) return std::string(utf8(value, "dtype"));
  const nb::object name = nb::module_::import_("napkin._parts").attr("dtype_name")(value);
  return std::string(utf8(name, "dtype"));
}

/// Returns a text, or a number written as one.
std::string word_of(nb::handle value, const std::string& where, const std::string& right) {
  if (is_text(value)) return std::string(utf8(value, where));
  if (!PyFloat_Check(value.ptr()) && (PyBool_Check(value.ptr()) || !PyLong_Check(value.ptr())))
    throw Error(where, "is " + shown(value), right);
  return nb::str(value).c_str();
}

/// Converts a load: "sustained", "burst", or the busy fraction of the time as a number.
CardLoad load_of(nb::handle value) {
  return parse_card_load(word_of(value, "load", "sustained, burst or a fraction"), "load");
}

/// Adds a size, which may be given in `shape` or as a keyword, once for each axis.
void add_size(NamedSizes& shape, const std::string& axis, nb::handle value) {
  for (const auto& [known, size] : shape) {
    if (known == axis) throw Error("shape", axis + " is given twice", "give it once");
  }
  shape.emplace_back(axis, whole_of(value, 1, "shape", axis));
}

using Take = void (*)(Asking&, nb::handle);

/// Returns the effect of each keyword on the question; any other keyword is an axis.
const std::unordered_map<std::string_view, Take>& keywords() {
  static const std::unordered_map<std::string_view, Take> all = {
      {"algorithm", [](Asking& out, nb::handle v) { out.ask.algorithm = part_of(v, "algorithm"); }},
      {"gpu", [](Asking& out, nb::handle v) { out.ask.gpu = part_of(v, "gpu"); }},
      {"shape", [](Asking& out, nb::handle v) { out.shape = shape_of(v); }},
      {"dtype", [](Asking& out, nb::handle v) { out.ask.dtype = dtype_of(v); }},
      {"causal", [](Asking& out, nb::handle v) { out.causal = flag_of(v, "causal"); }},
      {"window", [](Asking& out, nb::handle v) { out.ask.mask = window_of(v); }},
      {"prefix", [](Asking& out, nb::handle v) { out.prefix = whole_of(v, 1, "prefix", "it"); }},
      {"lengths", [](Asking& out, nb::handle v) { out.ask.lengths = lengths_of(v); }},
      {"kernel", [](Asking& out, nb::handle v) { out.ask.kernel = part_of(v, "kernel"); }},
      {"bundled", [](Asking& out, nb::handle v) { out.ask.bundled = flag_of(v, "bundled"); }},
      {"tile", [](Asking& out, nb::handle v) { out.ask.tile = tile_of(v); }},
      {"load", [](Asking& out, nb::handle v) { out.ask.conditions.load = load_of(v); }},
      {"l2",
       [](Asking& out, nb::handle v) { out.ask.conditions.cold = parse_l2(word_of(v, "l2", "warm or cold"), "l2"); }},
      {"clock",
       [](Asking& out, nb::handle v) {
         out.ask.conditions.clock = 1e9 * parse_positive(word_of(v, "clock", "gigahertz"), "clock", "gigahertz");
       }},
      {"memory", [](Asking& out, nb::handle v) { out.ask.memory = whole_of(v, 1, "memory", "it"); }},
      {"top", [](Asking& out, nb::handle v) { out.top = top_of(v); }},
      {"detail", [](Asking& out, nb::handle v) { out.detail = flag_of(v, "detail"); }},
      {"check", [](Asking& out, nb::handle v) { out.ask.check = flag_of(v, "check"); }},
      {"compile", [](Asking& out, nb::handle v) { out.ask.compile = flag_of(v, "compile"); }},
      {"progress", [](Asking& out, nb::handle v) { out.progress = nb::borrow(v); }},
  };
  return all;
}

/// The keywords that not every function takes.
const std::vector<std::string_view> special = {"memory", "top", "detail", "check", "compile", "progress"};

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void take_all(const nb::kwargs& named, std::span<const std::string_view> takes, Asking& out) {
  for (const auto& [key, value] : named) {
    const std::string_view name = utf8(key, "arguments");
    const auto known = keywords().find(name);
    const bool taken = known != keywords().end() && (!has(special, name) || has(takes, name));
    if (known != keywords().end() && !taken)
      throw Error(std::string(name), "is no argument of this function", takes.empty() ? "" : "leave it out");
    if (value.is_none()) continue;
    if (taken) known->second(out, value);
  }
  out.ask.shape = std::move(out.shape);
  for (const auto& [key, value] : named) {
    const std::string_view name = utf8(key, "arguments");
    if (keywords().find(name) == keywords().end()) add_size(out.ask.shape, std::string(name), value);
  }
}

void finish(Asking& out) {
  Ask& ask = out.ask;
  if (ask.algorithm.empty()) throw Error("algorithm", "is missing", "a name (napkin.algorithms()), a path or a dict");
  if (out.causal && ask.mask.kind == Mask::Kind::window)
    throw Error("window", "stands beside causal", "give one of the two (causal is a window with right = 0)");
  if (out.causal) ask.mask.kind = Mask::Kind::causal;
  if (out.prefix && ask.mask.kind != Mask::Kind::none)
    throw Error("prefix", "stands beside causal or window", "give one of the two (a prefix is causal after it)");
  if (out.prefix) ask.mask = {Mask::Kind::prefix, *out.prefix, 0};
  if (ask.memory && !ask.gpu.empty()) throw Error("memory", "stands beside gpu", "give one of the two");
  if (!ask.memory && ask.gpu.empty())
    throw Error("gpu", "is missing", "a profile's name (napkin.gpus()), a path, a dict, or \"here\"");
  if (!out.progress.is_valid()) return;
  if (PyCallable_Check(out.progress.ptr()) == 0) throw Error("progress", "cannot be called", "a function(done, total)");
  ask.progress = [call = out.progress](std::int64_t done, std::int64_t total) {
    const nb::gil_scoped_acquire hold;
    call(done, total);
  };
}

}  // namespace

std::int64_t whole_of(nb::handle value, std::int64_t least, const std::string& where, const std::string& what) {
  const std::string right = "a whole number from " + std::to_string(least);
  if (PyBool_Check(value.ptr()) || PyIndex_Check(value.ptr()) == 0)
    throw Error(where, what + " is " + shown(value), right);
  PyObject* const index = PyNumber_Index(value.ptr());
  if (index == nullptr) {
    PyErr_Clear();
    throw Error(where, what + " is no whole number", right);
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
  Py_DECREF(index);
  if (overflow != 0) throw Error(where, what + " does not fit 64 bits", right);
  if (number < least) throw Error(where, what + " is " + std::to_string(number), right);
  return number;
}

std::string text_of(nb::handle value, const std::string& where, const std::string& right) {
  if (!is_text(value)) throw Error(where, "is " + shown(value), right);
  return std::string(utf8(value, where));
}

NamedSizes shape_of(nb::handle value) {
  if (is_text(value)) return parse_shape(utf8(value, "shape"), "shape");
  NamedSizes shape;
  for_items(value, "shape", "a dict or a text such as \"h=16,q=8192,x=8192,d=128\"",
            [&](const std::string& axis, nb::handle size) { add_size(shape, axis, size); });
  return shape;
}

TileText tile_of(nb::handle value) {
  if (is_text(value)) return parse_tile(utf8(value, "tile"), "tile");
  TileText tile;
  for_items(value, "tile", "a dict or a text such as \"q=128,x=128\"",
            [&](const std::string& name, nb::handle knob) { tile.emplace_back(name, knob_text(knob, name)); });
  return tile;
}

Asking asking_of(const nb::tuple& positional, const nb::kwargs& named, std::span<const std::string_view> takes) {
  Asking out;
  if (positional.size() > 1) throw Error("arguments", "are too many", "the algorithm, then keywords");
  if (positional.size() == 1) {
    if (named.contains("algorithm")) throw Error("algorithm", "is given twice", "give it once");
    out.ask.algorithm = part_of(positional[0], "algorithm");
  }
  take_all(named, takes, out);
  finish(out);
  return out;
}

}  // namespace napkin::internal::python
