#include "apps/python/answers.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <string>
#include <vector>

#include "apps/report/json/standing.hpp"
#include "apps/report/text/text.hpp"
#include "napkin/answers.hpp"

namespace napkin::python {
namespace {

namespace nb = nanobind;

template <class Number>
nb::dict dict_of(const std::vector<std::pair<std::string, Number>>& numbers) {
  nb::dict out;
  for (const auto& [name, number] : numbers) out[name.c_str()] = number;
  return out;
}

nb::dict dict_of(const TileValues& tile) {
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
nb::tuple tuple_of(const std::vector<T>& values) {
  nb::list out;
  for (const T& value : values) out.append(nb::cast(value, nb::rv_policy::copy));
  return nb::tuple(out);
}

template <class T>
nb::object part_of(const std::optional<T>& part) {
  return part ? nb::cast(*part, nb::rv_policy::copy) : nb::none();
}

void bind_parts(nb::module_& m) {
  nb::class_<ViolationAnswer>(m, "ViolationAnswer", "A limit that the tile breaks.")
      .def_ro("constraint", &ViolationAnswer::constraint)
      .def_ro("needed", &ViolationAnswer::needed)
      .def_ro("available", &ViolationAnswer::available);
  nb::class_<WorkAnswer>(m, "WorkAnswer", "What is computed.")
      .def_ro("flops", &WorkAnswer::flops, "FLOP of the contractions, two a multiply-add, of unmasked pairs.")
      .def_ro("executed_flops", &WorkAnswer::executed_flops, "FLOP with the visited tiles in full.")
      .def_ro("exponentials", &WorkAnswer::exponentials);
  nb::class_<FormulaAnswer>(m, "FormulaAnswer", "H and M of the lowest staged level in the axes' names.")
      .def_ro("transfer", &FormulaAnswer::transfer)
      .def_ro("memory", &FormulaAnswer::memory);
  nb::class_<CombineAnswer>(m, "CombineAnswer", "What results in parts cost, and how the parts become one.")
      .def_ro("by", &CombineAnswer::by, "launch, adds, turns, barriers or last.")
      .def_ro("at", &CombineAnswer::at, "The level in which the parts meet.")
      .def_ro("parts", &CombineAnswer::parts)
      .def_ro("steps", &CombineAnswer::steps)
      .def_ro("load", &CombineAnswer::load, "Bytes.")
      .def_ro("store", &CombineAnswer::store, "Bytes.")
      .def_ro("time", &CombineAnswer::time, "Seconds; None: latencies are unknown.");
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
}

void bind_level(nb::module_& m) {
  nb::class_<LevelAnswer>(m, "LevelAnswer", "One memory level below device memory: what it moves (H) and holds (M).")
      .def_ro("name", &LevelAnswer::name)
      .def_ro("groups", &LevelAnswer::groups, "Groups that run at this level.")
      .def_ro("load", &LevelAnswer::load, "Bytes into the level, all groups.")
      .def_ro("store", &LevelAnswer::store, "Bytes out of the level, all groups.")
      .def_ro("transfer", &LevelAnswer::transfer, "H: load + store, bytes.")
      .def_prop_ro(
          "delivered", [](const LevelAnswer& l) { return l.delivered.get(); },
          "Loads as the receiver's counter sees them, bytes.")
      .def_ro("transfer_per_group", &LevelAnswer::transfer_per_group, "Bytes.")
      .def_ro("memory_lower_bound", &LevelAnswer::memory_lower_bound, "M by the paper's rule, bytes.")
      .def_ro("memory_live", &LevelAnswer::memory_live, "M: the largest set of values still needed, bytes.")
      .def_ro("memory", &LevelAnswer::memory, "What the kernel allocates, bytes.")
      .def_ro("memory_limit", &LevelAnswer::memory_limit, "Bytes; None: no limit is known.")
      .def_ro("bandwidth", &LevelAnswer::bandwidth, "Bytes a second of the whole machine, or None.")
      .def_ro("time", &LevelAnswer::time, "Seconds: transfer over bandwidth, or None.")
      .def("to_dict", [](const LevelAnswer& level) { return to_python(report::json_of(std::vector{level})[0]); });
}

void bind_standing(nb::module_& m) {
  nb::class_<Band>(m, "Band", "How far predictions of a class were off.")
      .def_ro("mean", &Band::mean, "The expected time over the predicted one.")
      .def_prop_ro("bias", &Band::bias, "The mean error with its sign; above 0: predicted too fast.")
      .def_ro("low", &Band::low, "Eight of ten calls take from `low` to `high` times the predicted time.")
      .def_ro("high", &Band::high)
      .def_ro("error", &Band::error, "The mean of |found / predicted - 1|.")
      .def_ro("rows", &Band::rows, "Times or speeds found.")
      .def_ro("sources", &Band::sources, "That those are from.")
      .def_ro("recorded", &Band::recorded, "Some by this project; else published by others.")
      .def_ro("of", &Band::of, "The nearest kind that was compared: kernel, product or architecture, regime.")
      .def_ro("wide", &Band::wide, "Why the band is wide; empty: it is of this very kind.");
  nb::class_<StandingAnswer>(m, "StandingAnswer", "How sure a prediction is.")
      .def_ro("by_graph", &StandingAnswer::by_graph, "The event graph's; else a bound.")
      .def_ro("basis", &StandingAnswer::basis,
              "The weakest among the numbers that matter: measured, fitted, published, derived or assumed.")
      .def_prop_ro(
          "numbers", [](const StandingAnswer& s) { return tuple_of(s.numbers); }, "The numbers of that basis.",
          nb::for_getter(nb::sig("def numbers(self) -> tuple[str, ...]")))
      .def_prop_ro(
          "missing", [](const StandingAnswer& s) { return tuple_of(s.missing); },
          "Numbers without which there is no event graph.",
          nb::for_getter(nb::sig("def missing(self) -> tuple[str, ...]")))
      .def_prop_ro(
          "left_out", [](const StandingAnswer& s) { return tuple_of(s.left_out); },
          "Numbers that the machine lacks, whose effect the time is without.",
          nb::for_getter(nb::sig("def left_out(self) -> tuple[str, ...]")))
      .def_ro("why", &StandingAnswer::why, "Of a bound: what else than numbers it lacks.")
      .def_ro("band", &StandingAnswer::band, "None: none is known.")
      .def_ro("unsure", &StandingAnswer::unsure, "Without a band: why none is known.")
      .def_prop_ro(
          "lines", [](const StandingAnswer& s) { return tuple_of(report::lines_of(s)); },
          "What the command prints under \"how sure\".", nb::for_getter(nb::sig("def lines(self) -> tuple[str, ...]")));
}

void bind_prediction(nb::module_& m) {
  nb::class_<PredictedAnswer>(m, "PredictedAnswer", "How long it takes and what limits it.")
      .def_ro("cycles", &PredictedAnswer::cycles, "Clocks of the busiest SM.")
      .def_ro("clock", &PredictedAnswer::clock, "Hertz that the card holds.")
      .def_ro("clock_source", &PredictedAnswer::clock_source)
      .def_ro("power", &PredictedAnswer::power, "Watts, or None.")
      .def_ro("time", &PredictedAnswer::time, "Seconds.")
      .def_ro("tflops", &PredictedAnswer::tflops, "FLOP of visible pairs over time, in 10^12 a second.")
      .def_ro("bound", &PredictedAnswer::bound, "What is in the way: a pipe, or a cycle of waits.")
      .def_prop_ro(
          "pipes", [](const PredictedAnswer& p) { return dict_of(p.pipes); }, "The busy fraction of each pipe.",
          nb::for_getter(nb::sig("def pipes(self) -> dict[str, float]")))
      .def_prop_ro(
          "busy_nodes", [](const PredictedAnswer& p) { return p.nodes.busy; }, "Compute nodes (SMs) that get work.")
      .def_prop_ro(
          "all_nodes", [](const PredictedAnswer& p) { return p.nodes.all; }, "Compute nodes that there are.")
      .def_ro("at_least", &PredictedAnswer::at_least, "A bound, not a prediction.")
      .def_prop_ro(
          "standing", [](const PredictedAnswer& p) { return part_of(p.standing.get()); },
          "How sure it is; None: of a runner-up.",
          nb::for_getter(nb::sig("def standing(self) -> StandingAnswer | None")))
      .def("to_dict", [](const PredictedAnswer& p) { return to_python(report::json_of(p)); });
  nb::class_<AlternativeAnswer>(m, "AlternativeAnswer", "A runner-up.")
      .def_prop_ro(
          "tile", [](const AlternativeAnswer& a) { return dict_of(a.tile); },
          nb::for_getter(nb::sig("def tile(self) -> dict[str, int | str]")))
      .def_prop_ro(
          "predicted", [](const AlternativeAnswer& a) -> const PredictedAnswer& { return a.predicted.get(); },
          nb::rv_policy::reference_internal);
}

void bind_launch(nb::module_& m) {
  nb::class_<LaunchAnswer>(m, "LaunchAnswer", "One of the launches that an algorithm is cut into.")
      .def_prop_ro(
          "inputs", [](const LaunchAnswer& l) { return tuple_of(l.inputs); }, "Arrays that it loads.",
          nb::for_getter(nb::sig("def inputs(self) -> tuple[str, ...]")))
      .def_prop_ro(
          "outputs", [](const LaunchAnswer& l) { return tuple_of(l.outputs); }, "Arrays that it stores.",
          nb::for_getter(nb::sig("def outputs(self) -> tuple[str, ...]")))
      .def_prop_ro(
          "tile", [](const LaunchAnswer& l) { return dict_of(l.tile); },
          nb::for_getter(nb::sig("def tile(self) -> dict[str, int | str]")))
      .def_prop_ro(
          "levels", [](const LaunchAnswer& l) { return tuple_of(l.levels); },
          nb::for_getter(nb::sig("def levels(self) -> tuple[LevelAnswer, ...]")))
      .def_prop_ro(
          "predicted", [](const LaunchAnswer& l) { return part_of(l.predicted); }, "A bound.",
          nb::for_getter(nb::sig("def predicted(self) -> PredictedAnswer | None")));
}

void bind_checks(nb::module_& m) {
  nb::class_<CountsAnswer>(m, "CountsAnswer", "Values moved and held.")
      .def_ro("load", &CountsAnswer::load)
      .def_ro("store", &CountsAnswer::store)
      .def_ro("memory_live", &CountsAnswer::memory_live)
      .def_ro("combine_load", &CountsAnswer::combine_load)
      .def_ro("combine_store", &CountsAnswer::combine_store);
  nb::class_<CheckAnswer>(m, "CheckAnswer", "What the interpreter counts beside what the rules predict, scaled down.")
      .def_prop_ro(
          "shape", [](const CheckAnswer& c) { return dict_of(c.shape); },
          nb::for_getter(nb::sig("def shape(self) -> dict[str, int]")))
      .def_prop_ro(
          "tile", [](const CheckAnswer& c) { return dict_of(c.tile); },
          nb::for_getter(nb::sig("def tile(self) -> dict[str, int]")))
      .def_ro("counted", &CheckAnswer::counted)
      .def_ro("predicted", &CheckAnswer::predicted)
      .def_ro("output_error", &CheckAnswer::output_error)
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
  nb::class_<OptimumAnswer::Integer>(m, "OptimumInteger", "The exact optimum of whole sizes.")
      .def_ro("transfer", &OptimumAnswer::Integer::transfer)
      .def_prop_ro(
          "group", [](const OptimumAnswer::Integer& i) { return dict_of(i.group); },
          nb::for_getter(nb::sig("def group(self) -> dict[str, int]")));
  optimum
      .def_prop_ro(
          "terms", [](const OptimumAnswer& o) { return tuple_of(o.terms); },
          nb::for_getter(nb::sig("def terms(self) -> tuple[OptimumTerm, ...]")))
      .def_ro("transfer", &OptimumAnswer::transfer)
      .def_prop_ro(
          "group", [](const OptimumAnswer& o) { return dict_of(o.group); },
          nb::for_getter(nb::sig("def group(self) -> dict[str, float]")))
      .def_prop_ro(
          "integer", [](const OptimumAnswer& o) { return part_of(o.integer.get()); },
          nb::for_getter(nb::sig("def integer(self) -> OptimumInteger | None")))
      .def_ro("formula", &OptimumAnswer::formula);
}

/// Binds how an answer is shown, compared, copied and pickled.
template <class Answer>
void bind_shown(nb::class_<Answer>& c) {
  c.def(
       "to_dict", [](const Answer& a) { return to_python(report::json_of(a)); }, "What the command prints with --json.",
       nb::sig("def to_dict(self) -> dict[str, typing.Any]"))
      .def("__copy__", [](nb::object self) { return self; })
      .def("__deepcopy__", [](nb::object self, const nb::dict&) { return self; })
      .def(
          "__reduce__",
          [](const Answer& a) {
            const nb::object record = nb::module_::import_("napkin._records").attr("Record");
            return nb::make_tuple(record, nb::make_tuple(to_python(report::json_of(a))));
          },
          "In another process it is a record of to_dict(): the numbers, and none of this process's ways to ask on.")
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
          "gpu", [](const Answer& a) { return a.head.gpu; }, "None: the abstract two-level machine.")
      .def_prop_ro(
          "kernel", [](const Answer& a) { return a.head.kernel; }, "None: the ideal mapping.")
      .def_prop_ro("dtype", [](const Answer& a) { return a.head.dtype; })
      .def_prop_ro(
          "mask", [](const Answer& a) { return to_python(report::json_of(a.head.mask)); },
          nb::for_getter(nb::sig("def mask(self) -> str | dict[str, list[int]]")))
      .def_prop_ro(
          "shape", [](const Answer& a) { return dict_of(a.head.shape); }, "Every axis.",
          nb::for_getter(nb::sig("def shape(self) -> dict[str, int]")))
      .def_prop_ro(
          "tile", [](const Answer& a) { return dict_of(a.head.tile); }, "Every knob; empty: nothing fits.",
          nb::for_getter(nb::sig("def tile(self) -> dict[str, int | str]")))
      .def_prop_ro(
          "predicted", [](const Answer& a) { return part_of(a.predicted); },
          nb::for_getter(nb::sig("def predicted(self) -> PredictedAnswer | None")))
      .def_prop_ro(
          "levels", [](const Answer& a) { return tuple_of(a.levels); }, "Top to bottom, device memory left out.",
          nb::for_getter(nb::sig("def levels(self) -> tuple[LevelAnswer, ...]")))
      .def_prop_ro(
          "combine", [](const Answer& a) { return part_of(a.combine); },
          nb::for_getter(nb::sig("def combine(self) -> CombineAnswer | None")))
      .def_prop_ro(
          "notes", [](const Answer& a) { return tuple_of(a.notes); },
          "What is unusual: a knob's value that the kernel may lack, a level that seems to take longer than the call.",
          nb::for_getter(nb::sig("def notes(self) -> tuple[str, ...]")))
      .def_prop_ro(
          "launches", [](const Answer& a) { return tuple_of(a.launches); },
          "Where one launch does not hold the algorithm: those that it is cut into. `levels` is their sum.",
          nb::for_getter(nb::sig("def launches(self) -> tuple[LaunchAnswer, ...]")));
}

void bind_query(nb::module_& m) {
  nb::class_<QueryAnswer> c(m, "QueryAnswer",
                            "What a tile moves and holds at each level, how long it takes, what limits it.");
  bind_whole(c);
  c.def_ro("legal", &QueryAnswer::legal)
      .def_prop_ro(
          "violations", [](const QueryAnswer& a) { return tuple_of(a.violations); },
          nb::for_getter(nb::sig("def violations(self) -> tuple[ViolationAnswer, ...]")))
      .def_ro("work", &QueryAnswer::work)
      .def_prop_ro(
          "formula", [](const QueryAnswer& a) -> const FormulaAnswer& { return a.formula.get(); },
          nb::rv_policy::reference_internal)
      .def_prop_ro(
          "optimum", [](const QueryAnswer& a) { return part_of(a.optimum.get()); },
          nb::for_getter(nb::sig("def optimum(self) -> OptimumAnswer | None")))
      .def_prop_ro(
          "occupancy", [](const QueryAnswer& a) { return part_of(a.occupancy); },
          nb::for_getter(nb::sig("def occupancy(self) -> OccupancyAnswer | None")))
      .def_prop_ro(
          "check", [](const QueryAnswer& a) { return part_of(a.check); },
          nb::for_getter(nb::sig("def check(self) -> CheckAnswer | None")))
      .def_prop_ro(
          "compiled", [](const QueryAnswer& a) { return part_of(a.compiled); },
          nb::for_getter(nb::sig("def compiled(self) -> CompiledAnswer | None")));
}

void bind_select(nb::module_& m) {
  nb::class_<SelectAnswer> c(m, "SelectAnswer", "The legal tile of least predicted time, why, and the runners-up.");
  bind_whole(c);
  c.def_ro("found", &SelectAnswer::found, "False: nothing fits, or no bundled kernel runs there.")
      .def_ro("occupancy", &SelectAnswer::occupancy)
      .def_prop_ro(
          "alternatives", [](const SelectAnswer& a) { return tuple_of(a.alternatives); }, "Best first.",
          nb::for_getter(nb::sig("def alternatives(self) -> tuple[AlternativeAnswer, ...]")))
      .def_ro("candidates", &SelectAnswer::candidates)
      .def_prop_ro(
          "legal", [](const SelectAnswer& a) { return a.legal.get(); }, "How many of the candidates are legal.")
      .def_prop_ro(
          "rejected", [](const SelectAnswer& a) { return dict_of(a.rejected.get()); }, "Candidates by constraint.",
          nb::for_getter(nb::sig("def rejected(self) -> dict[str, int]")))
      .def_prop_ro(
          "because", [](const SelectAnswer& a) { return a.because.get(); },
          "What binds, and what the runner-up loses on.");
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
  bind_level(module);
  bind_standing(module);
  bind_prediction(module);
  bind_launch(module);
  bind_checks(module);
  bind_optimum(module);
  for (const char* part :
       {"ViolationAnswer", "WorkAnswer", "FormulaAnswer", "CombineAnswer", "BlockAnswer", "OccupancyAnswer",
        "LevelAnswer", "Band", "StandingAnswer", "PredictedAnswer", "AlternativeAnswer", "LaunchAnswer", "CountsAnswer",
        "CheckAnswer", "CompiledAnswer", "OptimumAnswer", "OptimumTerm", "OptimumInteger"})
    show_part(module.attr(part));
  bind_query(module);
  bind_select(module);
}

}  // namespace napkin::python
