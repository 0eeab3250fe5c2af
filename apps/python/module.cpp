// The module napkin._core: questions, answers, commands and calls of the C++ library for the package's Python.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/library/question/revision.hpp"
#include "apps/napkin/program.hpp"
#include "apps/python/answers.hpp"
#include "apps/python/asking.hpp"
#include "apps/python/call.hpp"
#include "apps/python/rank.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::python {
namespace {

namespace nb = nanobind;

constexpr std::array<std::string_view, 5> query_takes = {"memory", "detail", "check", "compile", "progress"};
constexpr std::array<std::string_view, 2> select_takes = {"top", "detail"};
constexpr int usual_top = 5;

/// Returns all parts of an answer, or those alone that take no time of their own.
AnswerParts detail_of(const Asking& asking, bool usual) {
  return asking.detail.value_or(usual) ? AnswerParts::all() : AnswerParts();
}

std::shared_ptr<QueryAnswer> query(const Session& session, const nb::args& positional, const nb::kwargs& named) {
  const Asking asking = asking_of(positional, named, query_takes);
  const nb::gil_scoped_release free;
  return std::const_pointer_cast<QueryAnswer>(session.query(asking.ask, detail_of(asking, true)));
}

std::shared_ptr<SelectAnswer> select(const Session& session, const nb::args& positional, const nb::kwargs& named) {
  const Asking asking = asking_of(positional, named, select_takes);
  const nb::gil_scoped_release free;
  return std::const_pointer_cast<SelectAnswer>(
      session.select(asking.ask, asking.top.value_or(usual_top), detail_of(asking, true)));
}

std::vector<TileText> tiles_of(nb::handle configs) {
  if (PyUnicode_Check(configs.ptr()) || !nb::hasattr(configs, "__iter__"))
    throw Error("configs", "is no list", "a list of dicts or of texts such as \"q=128,x=64\"");
  std::vector<TileText> tiles;
  for (const nb::handle one : configs) tiles.push_back(tile_of(one));
  return tiles;
}

/// Returns the sizes of each shape, without the common ones.
std::vector<NamedSizes> shapes_of(const NamedSizes& common, nb::handle shapes) {
  if (PyUnicode_Check(shapes.ptr()) || !nb::hasattr(shapes, "__iter__"))
    throw Error("shapes", "is no list", "a list of dicts or of texts such as \"q=512,x=512\"");
  std::vector<NamedSizes> all;
  for (const nb::handle one : shapes) {
    NamedSizes shape;
    try {
      shape = shape_of(one);
    } catch (const Error& error) {
      throw Error("shapes[" + std::to_string(all.size()) + "]", error.problem(), error.right());
    }
    for (const auto& known : common) {
      for (const auto& [axis, size] : shape) {
        if (known.first == axis) throw Error("shapes", axis + " is given twice", "give it once");
      }
    }
    all.push_back(std::move(shape));
  }
  return all;
}

nb::list select_many(const Session& session, nb::handle algorithm, nb::handle shapes, const nb::kwargs& named) {
  const Asking asking = asking_of(nb::make_tuple(nb::borrow(algorithm)), named, select_takes);
  const std::vector<NamedSizes> all = shapes_of(asking.ask.shape, shapes);
  std::vector<std::shared_ptr<const SelectAnswer>> answers;
  {
    const nb::gil_scoped_release free;
    answers = session.select_many(asking.ask, all, asking.top.value_or(1), detail_of(asking, false));
  }
  nb::list out;
  for (const auto& answer : answers) out.append(nb::cast(std::const_pointer_cast<SelectAnswer>(answer)));
  return out;
}

/// Makes the question of each kernel that `kernel` lists, or one question if it is a single kernel.
std::vector<Ask> asks_of(nb::handle algorithm, const nb::kwargs& named) {
  const nb::tuple positional = nb::make_tuple(nb::borrow(algorithm));
  const bool several = named.contains("kernel") &&
                       (nb::isinstance<nb::list>(named["kernel"]) || nb::isinstance<nb::tuple>(named["kernel"]));
  if (!several) return {asking_of(positional, named, {}).ask};
  std::vector<Ask> asks;
  for (const nb::handle kernel : named["kernel"]) {
    nb::kwargs one;
    one.update(named);
    one["kernel"] = kernel;
    asks.push_back(asking_of(positional, one, {}).ask);
  }
  if (asks.empty()) throw Error("kernel", "is an empty list", "a kernel, or a list of them");
  return asks;
}

nb::list rank_configs(const Session& session, nb::handle algorithm, nb::handle configs, const nb::kwargs& named) {
  const std::vector<Ask> asks = asks_of(algorithm, named);
  const std::vector<TileText> tiles = tiles_of(configs);
  std::vector<RankedConfig> ranked;
  {
    const nb::gil_scoped_release free;
    ranked = rank(session, asks, tiles);
  }
  nb::list out;
  for (const RankedConfig& one : ranked) out.append(nb::cast(one));
  return out;
}

std::tuple<int, nb::bytes, nb::bytes> run(const nb::list& words) {
  std::vector<std::string> texts;
  for (const nb::handle word : words) texts.push_back(text_of(word, "arguments", "a text"));
  cli::Reply reply;
  {
    const nb::gil_scoped_release free;
    reply = cli::reply_to(texts, {});
  }
  return {reply.code, nb::bytes(reply.out.data(), reply.out.size()), nb::bytes(reply.note.data(), reply.note.size())};
}

/// Runs the command on words, which may come as bytes if they are no valid text.
int program(const nb::list& words) {
  std::vector<std::string> texts;
  for (const nb::handle word : words) {
    const auto bytes = nb::cast<nb::bytes>(word);
    texts.emplace_back(bytes.c_str(), bytes.size());
  }
  const nb::gil_scoped_release free;
  return cli::program(texts);
}

/// Converts a text to Python, replacing bytes that are not UTF-8.
nb::object text_in_python(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void raise(const char* name, const nb::object& arguments) {
  const nb::object type = nb::module_::import_("napkin._errors").attr(name);
  const nb::object error = type(*nb::tuple(arguments));
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise("InputError", nb::make_tuple(text_in_python(error.where()), text_in_python(error.problem()),
                                       text_in_python(error.right())));
  } catch (const CudaFailure& failure) {
    raise("CudaError", nb::make_tuple(text_in_python(failure.what())));
  }
}

void bind_session(nb::module_& m) {
  nb::class_<RankedConfig>(m, "RankedConfig", "One of many configurations: whether it can run, and how long it takes.")
      .def_ro("index", &RankedConfig::index, "Among the configurations as they were given.")
      .def_ro("legal", &RankedConfig::legal)
      .def_ro(
          "outside", &RankedConfig::outside,
          "True if a knob has a value that the mapping was not made for: what the compiler makes of it is not known, "
          "and the time is a guess.")
      .def_ro("time", &RankedConfig::time, "Seconds; None if it is not legal.")
      .def_ro("why", &RankedConfig::why, "The reason why it is not legal; else empty.");
  show_part(m.attr("RankedConfig"));
  nb::class_<Session>(m, "Session",
                      "Answers questions and keeps what they have in common: profiles, mappings, tables, the latest "
                      "answers. Safe from several threads.")
      .def(nb::init<>())
      .def("query", query, "Returns what a tile moves and holds at each level, how long it takes, and what limits it.",
           nb::sig("def query(self, algorithm: Algorithm, *, gpu: Machine | None = None, memory: int | None = None, "
                   "shape: Shape | None = None, dtype: typing.Any = 'bf16', causal: bool = False, window: Window | "
                   "None = None, prefix: int | None = None, lengths: Lengths | None = None, kernel: Kernel | None = "
                   "None, tile: Tile | None = "
                   "None, load: str | float = 'sustained', detail: bool = True, check: bool = False, compile: bool = "
                   "False, progress: "
                   "collections.abc.Callable[[int, int], object] | None = None, **axes: int) -> QueryAnswer"))
      .def("select", select, "Returns the legal tile of least predicted time, why, and the runners-up.",
           nb::sig("def select(self, algorithm: Algorithm, *, gpu: Machine, shape: Shape | None = None, dtype: "
                   "typing.Any = 'bf16', causal: bool = False, window: Window | None = None, prefix: int | None = "
                   "None, lengths: Lengths | None "
                   "= None, kernel: Kernel | None = None, tile: Tile | None = None, load: str | float = 'sustained', "
                   "top: int = 5, detail: bool = True, **axes: int) -> "
                   "SelectAnswer"))
      .def(
          "select_many", select_many, nb::arg("algorithm").none(), nb::arg("shapes").none(), nb::arg("named"),
          "Selects for each of many shapes in one call, without runners-up; sizes that all share are keywords.",
          nb::sig("def select_many(self, algorithm: Algorithm, shapes: collections.abc.Iterable[Shape], *, gpu: "
                  "Machine, dtype: typing.Any = 'bf16', causal: bool = False, window: Window | None = None, prefix: "
                  "int | None = None, kernel: "
                  "Kernel | None = None, tile: Tile | None = None, top: int = 1, detail: bool = False, **axes: int) -> "
                  "list[SelectAnswer]"))
      .def(
          "rank_configs", rank_configs, nb::arg("algorithm").none(), nb::arg("configs").none(), nb::arg("named"),
          "Ranks the configurations of a kernel, best first; after them come those that the mapping was not made for, "
          "and last those that cannot run. Knobs have the mapping's names or Triton's (BLOCK_M, num_warps); other "
          "names are ignored. With a list of kernels each configuration is judged by the one that it suits best.",
          nb::sig("def rank_configs(self, algorithm: Algorithm, configs: collections.abc.Iterable[Tile], *, gpu: "
                  "Machine, kernel: Kernel | collections.abc.Sequence[Kernel], shape: Shape | None = None, dtype: "
                  "typing.Any = "
                  "'bf16', causal: bool = False, window: Window | None = None, prefix: int | None = None, tile: Tile | "
                  "None = None, **axes: "
                  "int) -> "
                  "list[RankedConfig]"));
}

}  // namespace
}  // namespace napkin::internal::python

NB_MODULE(_core, m) {
  namespace nb = nanobind;
  using namespace napkin::internal::python;
  m.doc() = "The C++ library of napkin.";
  nb::set_leak_warnings(
      false);  // PyTorch's registry of operators keeps what napkin.torch has, to the end of the process
  m.attr("__version__") = NAPKIN_VERSION;
  m.attr("revision") = std::string(napkin::internal::source_revision());
  nb::register_exception_translator(translate);
  bind_answers(m);
  bind_session(m);
  bind_calls(m);
  m.attr("session") = nb::cast(&napkin::default_session(), nb::rv_policy::reference);
  m.def("run", run, nb::arg("words"), nb::sig("def run(words: list[str]) -> tuple[int, bytes, bytes]"),
        "Runs a command and returns its exit code, output and note.");
  m.def("program", program, nb::arg("words"), nb::sig("def program(words: list[bytes]) -> int"),
        "Runs a command as the program does. Returns its exit code.");
}
