#include "apps/python/answers.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/report/json/fields.hpp"
#include "apps/report/json/standing.hpp"
#include "apps/report/text/text.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal::python {
namespace {

namespace nb = nanobind;

/// A dict of numbers by name: Python shows the types of a property in its signature.
template <class Number>
using Numbers = nb::typed<nb::dict, nb::str, Number>;
template <class T>
using Several = nb::typed<nb::tuple, T, nb::ellipsis>;

template <class Number>
Numbers<Number> dict_of(const std::vector<std::pair<std::string, Number>>& numbers) {
  nb::dict out;
  for (const auto& [name, number] : numbers) out[name.c_str()] = number;
  return out;
}

Numbers<std::variant<std::int64_t, std::string>> dict_of(const TileValues& tile) {
  nb::dict out;
  for (const KnobValue& knob : tile) {
    if (knob.word.empty()) {
      out[knob.name.c_str()] = knob.number;
    } else {
      out[knob.name.c_str()] = knob.word;
    }
  }
  return out;
}

template <class T>
Several<T> tuple_of(const std::vector<T>& values) {
  nb::list out;
  for (const T& value : values) out.append(nb::cast(value, nb::rv_policy::copy));
  return nb::tuple(out);
}

/// Converts a value as Python shows it: a list to a tuple, numbers by name to a dict, any other value to a copy.
template <class T>
auto shown(const T& value) {
  if constexpr (requires { dict_of(value); }) {
    return dict_of(value);
  } else if constexpr (requires { tuple_of(value); }) {
    return tuple_of(value);
  } else {
    return value;
  }
}

/// Binds a part of an answer: each of its fields is a property.
template <class Part>
nb::class_<Part> bind_part(nb::module_& m, const char* name) {
  nb::class_<Part> out(m, name, report::Fields<Part>::about);
  report::each_field<Part>([&](const auto& field) {
    const auto get = [member = field.member](const Part& part) { return shown(std::invoke(member, part)); };
    out.def_prop_ro(field.name, get, field.about);
  });
  return out;
}

void bind_parts(nb::module_& m) {
  bind_part<ViolationAnswer>(m, "ViolationAnswer");
  bind_part<WorkAnswer>(m, "WorkAnswer");
  bind_part<FormulaAnswer>(m, "FormulaAnswer");
  bind_part<CombineAnswer>(m, "CombineAnswer");
  bind_part<OwnPartsAnswer>(m, "OwnPartsAnswer");
  bind_part<BestTileAnswer>(m, "BestTileAnswer");
  nb::class_<BlockAnswer>(m, "BlockAnswer", "What one block takes.")
      .def_ro("registers_per_thread", &BlockAnswer::registers_per_thread)
      .def_ro("shared_memory", &BlockAnswer::shared_memory, "Bytes.")
      .def_ro("blocks_per_sm", &BlockAnswer::blocks_per_sm)
      .def_ro("limited_by", &BlockAnswer::limited_by);
  nb::class_<OccupancyAnswer>(m, "OccupancyAnswer", "What one block takes of its SM.")
      .def_ro("registers_per_thread", &OccupancyAnswer::registers_per_thread)
      .def_ro("registers_limit", &OccupancyAnswer::registers_limit)
      .def_ro("shared_memory", &OccupancyAnswer::shared_memory, "Bytes.")
      .def_ro("shared_memory_limit", &OccupancyAnswer::shared_memory_limit, "Bytes.")
      .def_ro("blocks_per_sm", &OccupancyAnswer::blocks_per_sm)
      .def_ro("limited_by", &OccupancyAnswer::limited_by);
  bind_part<LevelAnswer>(m, "LevelAnswer").def("to_dict", [](const LevelAnswer& level) {
    return to_python(report::json_of(std::vector{level})[0]);
  });
}

void bind_standing(nb::module_& m) {
  bind_part<Band>(m, "Band");
  nb::class_<StandingAnswer>(m, "StandingAnswer", "How sure a prediction is.")
      .def_ro("by_graph", &StandingAnswer::by_graph, "The event graph's; else a bound.")
      .def_prop_ro(
          "basis", [](const StandingAnswer& s) { return s.weakest ? std::optional(s.weakest->basis) : std::nullopt; },
          "The basis of the weakest number that matters: measured, fitted, published, derived or assumed.")
      .def_prop_ro(
          "numbers", [](const StandingAnswer& s) { return tuple_of(s.weakest.value_or(BasisAnswer()).numbers); },
          "The numbers of that basis.")
      .def_prop_ro(
          "missing", [](const StandingAnswer& s) { return tuple_of(s.missing); },
          "Numbers without which there is no event graph.")
      .def_prop_ro(
          "left_out", [](const StandingAnswer& s) { return tuple_of(s.left_out); },
          "Numbers that the machine lacks and whose effect the time leaves out.")
      .def_ro("why", &StandingAnswer::why, "What a bound lacks besides numbers.")
      .def_ro("band", &StandingAnswer::band, "The range of the errors of such predictions; None if none is known.")
      .def_ro("unsure", &StandingAnswer::unsure, "The reason why no band is known.")
      .def_prop_ro(
          "lines", [](const StandingAnswer& s) { return tuple_of(report::lines_of(s)); },
          "The lines that the command prints under \"how sure\".");
}

void bind_prediction(nb::module_& m) {
  bind_part<PredictedAnswer>(m, "PredictedAnswer")
      .def_ro("clock_source", &PredictedAnswer::clock_source)
      .def_prop_ro(
          "busy_nodes", [](const PredictedAnswer& p) { return p.nodes.busy; }, "Compute nodes (SMs) that get work.")
      .def_prop_ro(
          "all_nodes", [](const PredictedAnswer& p) { return p.nodes.all; }, "Compute nodes that there are.")
      .def_prop_ro(
          "standing", [](const PredictedAnswer& p) { return shown(p.standing); },
          "How sure the time is; None for a runner-up, and without detail.")
      .def("to_dict", [](const PredictedAnswer& p) { return to_python(report::json_of(p)); });
  bind_part<AlternativeAnswer>(m, "AlternativeAnswer");
  bind_part<LaunchAnswer>(m, "LaunchAnswer");
}

void bind_checks(nb::module_& m) {
  nb::class_<CountsAnswer>(m, "CountsAnswer", "Values moved and held.")
      .def_ro("load", &CountsAnswer::load)
      .def_ro("store", &CountsAnswer::store)
      .def_ro("memory_live", &CountsAnswer::memory_live)
      .def_ro("combine_load", &CountsAnswer::combine_load)
      .def_ro("combine_store", &CountsAnswer::combine_store);
  nb::class_<CheckAnswer>(m, "CheckAnswer", "What the interpreter counts beside what the rules predict, scaled down.")
      .def_prop_ro("shape", [](const CheckAnswer& c) { return dict_of(c.shape); })
      .def_prop_ro("tile", [](const CheckAnswer& c) { return dict_of(c.tile); })
      .def_ro("counted", &CheckAnswer::counted)
      .def_ro("predicted", &CheckAnswer::predicted)
      .def_ro("output_error", &CheckAnswer::output_error)
      .def_ro("rounding", &CheckAnswer::rounding, "Lost to the arrays' types, over the largest output, or None.")
      .def_ro("equal", &CheckAnswer::equal, "Counts are equal, and outputs agree to 1e-12.");
  nb::class_<CompiledAnswer>(m, "CompiledAnswer", "The compiled kernel beside its plan.")
      .def_ro("compiled", &CompiledAnswer::compiled)
      .def_ro("planned", &CompiledAnswer::planned)
      .def_ro("static_shared_memory", &CompiledAnswer::static_shared_memory, "Bytes.")
      .def_ro("spill_stores", &CompiledAnswer::spill_stores, "Bytes a thread.")
      .def_ro("spill_loads", &CompiledAnswer::spill_loads, "Bytes a thread.")
      .def_ro("objection", &CompiledAnswer::objection, "Spills, or instructions that were serialised; empty: none.");
}

void bind_optimum(nb::module_& m) {
  nb::class_<OptimumAnswer> optimum(m, "OptimumAnswer", "The least transfer with a memory: closed form and integers.");
  nb::class_<OptimumAnswer::Term>(m, "OptimumTerm", "alpha memory^-beta")
      .def_ro("alpha", &OptimumAnswer::Term::alpha)
      .def_ro("beta", &OptimumAnswer::Term::beta);
  bind_part<OptimumAnswer::Integer>(m, "OptimumInteger");
  optimum.def_prop_ro("terms", [](const OptimumAnswer& o) { return tuple_of(o.terms); })
      .def_ro("transfer", &OptimumAnswer::transfer)
      .def_prop_ro("group", [](const OptimumAnswer& o) { return dict_of(o.group); })
      .def_prop_ro("integer", [](const OptimumAnswer& o) { return shown(o.integer); })
      .def_ro("formula", &OptimumAnswer::formula);
}

/// Binds the functions that show, compare, copy and pickle an answer.
template <class Answer>
void bind_shown(nb::class_<Answer>& c) {
  c.def(
       "to_dict", [](const Answer& a) { return to_python(report::json_of(a)); },
       "Returns what the command prints with --json.", nb::sig("def to_dict(self) -> dict[str, typing.Any]"))
      .def("__copy__", [](nb::object self) { return self; })
      .def("__deepcopy__", [](nb::object self, const nb::dict&) { return self; })
      .def(
          "__reduce__",
          [](const Answer& a) {
            const nb::object record = nb::module_::import_("napkin._records").attr("Record");
            return nb::make_tuple(record, nb::make_tuple(to_python(report::json_of(a))));
          },
          "Makes a pickled answer a Record of to_dict(): its numbers, without methods that ask further.")
      .def("__str__", [](const Answer& a) { return report::text_of(a, {}); })
      .def(
          "__eq__",
          [](const Answer& a, const Answer& b) { return &a == &b || report::json_of(a) == report::json_of(b); },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Answer& a) { return std::hash<std::string>()(report::line_of(report::json_of(a))); })
      .def(
          "__repr__", [](nb::handle self) { return nb::module_::import_("napkin._pictures").attr("repr_of")(self); },
          nb::sig("def __repr__(self) -> str"))
      .def(
          "_repr_html_", [](nb::handle self) { return nb::module_::import_("napkin._pictures").attr("html_of")(self); },
          nb::sig("def _repr_html_(self) -> str"))
      .def(
          "_repr_svg_", [](nb::handle self) { return nb::module_::import_("napkin._pictures").attr("svg_of")(self); },
          nb::sig("def _repr_svg_(self) -> str"));
}

/// Binds the common members of the two answers: the question's head, and the ways to show them.
template <class Answer>
void bind_whole(nb::class_<Answer>& c) {
  bind_shown(c);
  c.def_prop_ro("algorithm", [](const Answer& a) { return a.head.algorithm; })
      .def_prop_ro(
          "gpu", [](const Answer& a) { return a.head.gpu; }, "The GPU; None for the abstract two-level machine.")
      .def_prop_ro(
          "kernel", [](const Answer& a) { return a.head.kernel; }, "The kernel; None for the ideal mapping.")
      .def_prop_ro("dtype", [](const Answer& a) { return a.head.dtype; })
      .def_prop_ro(
          "mask", [](const Answer& a) { return to_python(report::json_of(a.head.mask)); },
          nb::for_getter(nb::sig("def mask(self) -> str | dict[str, list[int]]")))
      .def_prop_ro(
          "shape", [](const Answer& a) { return dict_of(a.head.shape); }, "Sizes of all axes.")
      .def_prop_ro(
          "tile", [](const Answer& a) { return dict_of(a.head.tile); }, "Values of all knobs; empty if nothing fits.")
      .def_prop_ro("predicted", [](const Answer& a) { return shown(a.predicted); })
      .def_prop_ro(
          "levels", [](const Answer& a) { return tuple_of(a.levels); },
          "Levels from top to bottom, without device memory.")
      .def_prop_ro("combine", [](const Answer& a) { return shown(a.combine); })
      .def_prop_ro("own_parts", [](const Answer& a) { return shown(a.own_parts); })
      .def_prop_ro(
          "notes", [](const Answer& a) { return tuple_of(a.notes); },
          "Unusual facts: a knob's value that the kernel may lack, a level that seems to take longer than the call.")
      .def_prop_ro(
          "launches", [](const Answer& a) { return tuple_of(a.launches); },
          "The launches of an algorithm that does not fit one; else empty. `levels` is their sum.");
}

void bind_query(nb::module_& m) {
  nb::class_<QueryAnswer> c(m, "QueryAnswer",
                            "What a tile moves and holds at each level, how long it takes, and what limits it.");
  bind_whole(c);
  c.def_ro("legal", &QueryAnswer::legal)
      .def_prop_ro("violations", [](const QueryAnswer& a) { return tuple_of(a.violations); })
      .def_ro("work", &QueryAnswer::work)
      .def_ro("formula", &QueryAnswer::formula)
      .def_prop_ro("optimum", [](const QueryAnswer& a) { return shown(a.optimum); })
      .def_prop_ro("occupancy", [](const QueryAnswer& a) { return shown(a.occupancy); })
      .def_prop_ro(
          "best", [](const QueryAnswer& a) { return shown(a.best); },
          "Of a given tile: the best tile of its kernel, and the loss; None: without detail.")
      .def_prop_ro("check", [](const QueryAnswer& a) { return shown(a.check); })
      .def_prop_ro("compiled", [](const QueryAnswer& a) { return shown(a.compiled); });
}

void bind_select(nb::module_& m) {
  nb::class_<SelectAnswer> c(m, "SelectAnswer", "The legal tile of least predicted time, why, and the runners-up.");
  bind_whole(c);
  c.def_ro("found", &SelectAnswer::found, "False: nothing fits, or no bundled kernel runs there.")
      .def_ro("occupancy", &SelectAnswer::occupancy)
      .def_prop_ro(
          "alternatives", [](const SelectAnswer& a) { return tuple_of(a.alternatives); }, "The runners-up, best first.")
      .def_ro("candidates", &SelectAnswer::candidates)
      .def_prop_ro(
          "legal", [](const SelectAnswer& a) { return a.legal; },
          "The number of legal candidates; None without detail.")
      .def_prop_ro(
          "rejected", [](const SelectAnswer& a) { return dict_of(a.rejected); },
          "The number of candidates that each constraint rejects.")
      .def_prop_ro(
          "because", [](const SelectAnswer& a) { return a.because; },
          "What limits the time, and where the runner-up loses; empty without detail.");
}

}  // namespace

nb::object to_python(const report::Json& json) {
  using Type = report::Json::value_t;
  switch (json.type()) {
    case Type::object: {
      nb::dict out;
      for (const auto& [key, value] : json.items()) out[key.c_str()] = to_python(value);
      return out;
    }
    case Type::array: {
      nb::list out;
      for (const report::Json& value : json) out.append(to_python(value));
      return out;
    }
    case Type::string: return nb::cast(json.get_ref<const std::string&>());
    case Type::boolean: return nb::cast(json.get<bool>());
    case Type::number_integer: return nb::cast(json.get<std::int64_t>());
    case Type::number_unsigned: return nb::cast(json.get<std::uint64_t>());
    case Type::number_float: return nb::cast(json.get<double>());
    default: return nb::none();
  }
}

void show_part(nb::handle type) {
  const auto text = [](nb::handle self) { return nb::module_::import_("napkin._pictures").attr("part_repr_of")(self); };
  type.attr("__repr__") = nb::cpp_function(text, nb::name("__repr__"), nb::scope(type), nb::is_method(),
                                           nb::sig("def __repr__(self) -> str"));
}

void bind_answers(nb::module_& module) {
  bind_parts(module);
  bind_standing(module);
  bind_prediction(module);
  bind_checks(module);
  bind_optimum(module);
  for (const char* part :
       {"ViolationAnswer", "WorkAnswer",      "FormulaAnswer",     "CombineAnswer", "OwnPartsAnswer",
        "BestTileAnswer",  "BlockAnswer",     "OccupancyAnswer",   "LevelAnswer",   "Band",
        "StandingAnswer",  "PredictedAnswer", "AlternativeAnswer", "LaunchAnswer",  "CountsAnswer",
        "CheckAnswer",     "CompiledAnswer",  "OptimumAnswer",     "OptimumTerm",   "OptimumInteger"})
    show_part(module.attr(part));
  bind_query(module);
  bind_select(module);
}

}  // namespace napkin::internal::python
