#include "apps/python/attention_calls.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "apps/python/attention_shapes.hpp"
#include "apps/python/tensors.hpp"

namespace napkin::internal::python {
namespace {

namespace nb = nanobind;

/// The arguments of a call beside its tensors.
struct Options {
  std::int64_t left, right;  ///< -1: no limit
  std::optional<double> scale;
  bool turned;  ///< true if tensors are [b, rows, heads, d], not [b, heads, rows, d]
};

/// Converts a window's side: -1 or more in 31 bits; nothing for anything else.
std::optional<std::int64_t> side_of(nb::handle number) {
  constexpr long long longest = 1LL << 31;
  if (number.type().ptr() != reinterpret_cast<PyObject*>(&PyLong_Type)) return std::nullopt;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  return overflow == 0 && value >= -1 && value < longest ? std::optional<std::int64_t>(value) : std::nullopt;
}

/// Reads options of the usual types: a bool, None or two ints, None or a float. Nothing if another type needs the slow
/// way.
std::optional<Options> options_of(nb::handle causal, nb::handle window, nb::handle scale, bool turned) {
  const bool is_causal = causal.is(nb::handle(Py_True));
  if (!is_causal && !causal.is(nb::handle(Py_False))) return std::nullopt;
  Options out{-1, is_causal ? 0 : -1, std::nullopt, turned};
  if (!window.is_none()) {
    if (!nb::isinstance<nb::tuple>(window) || nb::len(window) != 2) return std::nullopt;
    const auto left = side_of(nb::tuple(window)[0]), right = side_of(nb::tuple(window)[1]);
    if (!left || !right) return std::nullopt;
    out.left = *left;
    out.right = is_causal && (*right == -1 || *right > 0) ? 0 : *right;
  }
  if (scale.is_none()) return out;
  if (scale.type().ptr() != reinterpret_cast<PyObject*>(&PyFloat_Type)) return std::nullopt;
  out.scale = PyFloat_AsDouble(scale.ptr());
  return out;
}

/// The calls that were checked before, found by their tensors' properties without memory.
class AttentionCalls {
 public:
  using Inputs = std::array<nb::handle, 3>;  // q, k, v

  AttentionCalls(TensorReader reader, HostState host, nb::object allocate)
      : reader_(std::move(reader)), host_(std::move(host)), allocate_(std::move(allocate)) {}

  /// Launches the kept call. Returns false if there is none, or if a tensor cannot be read.
  [[nodiscard]] bool launch(const nb::tuple& tensors, const Options& options) const {
    const std::optional<Call> call = read(handles(tensors), options, nullptr);
    const std::optional<Found> found = call ? find(*call, options) : std::nullopt;
    if (found) launch(*found, *call);
    return found.has_value();
  }

  /// Launches the kept call with a new output and log-sum-exp (or None), like those of its first time. None if launch()
  /// is false.
  [[nodiscard]] nb::object launch_new(const Inputs& inputs, bool want_lse, const Options& options) const {
    const std::optional<Results> made = launch_made(inputs, want_lse, options);
    return made ? nb::object(nb::make_tuple((*made)[0], (*made)[1])) : nb::none();
  }

  /// Runs a user's call if an equal call is kept. Returns None if the caller must check and prepare it.
  [[nodiscard]] nb::object attend(const Inputs& inputs, nb::handle out, const Options& options, bool want_lse) const {
    if (host_.watched() || host_.wants_gradient(inputs)) return nb::none();
    if (!out.is_none()) {
      if (want_lse) return nb::none();
      const auto& [q, k, v] = inputs;
      const std::optional<Call> call = read({q, k, v, out, nb::none()}, options, nullptr);
      const std::optional<Found> found = call ? find_current(*call, options) : std::nullopt;
      if (!found) return nb::none();
      launch(*found, *call);
      return nb::borrow(out);
    }
    std::optional<Results> made = launch_made(inputs, want_lse, options);
    if (!made) return nb::none();
    return want_lse ? nb::object(nb::make_tuple((*made)[0], (*made)[1])) : std::move((*made)[0]);
  }

  /// Keeps the call. `made`: its output and log-sum-exp were new, and launch_new() makes others like them.
  void keep(const AttentionShapes& shapes, const nb::tuple& tensors, const Options& options, bool made) {
    const nb::object o = tensors[inputs_read], log_sum_exp = tensors[inputs_read + 1];
    const bool want_lse = !log_sum_exp.is_none();
    const std::optional<Call> call = read(handles(tensors), options, made ? &want_lse : nullptr);
    if (!call) return;
    if (kept_.size() >= calls_kept) {
      kept_.clear();
      growing_.clear();
    }
    Kept kept{shapes, {}, {}};
    if (made) kept.o = like(o);
    if (made && want_lse) kept.log_sum_exp = like(log_sum_exp);
    growing_.insert_or_assign(without_keys(call->key, options), kept);
    kept_.insert_or_assign(call->key, std::move(kept));
  }

 private:
  static constexpr std::size_t calls_kept = 4096, inputs_read = 3, tensors_read = 5, axes_read = 4;
  /// The key of a call: element type, device, axes, sizes and strides of each tensor, the mask, the scale, whether rows
  /// come first, and which results are to be made.
  static constexpr std::size_t tensor_numbers = 3 + 2 * axes_read;
  using Key = std::array<std::int64_t, tensors_read * tensor_numbers + 6>;
  using Tensors = std::array<nb::handle, tensors_read>;  // q, k, v, the output, and the log-sum-exp or None
  using Results = std::array<nb::object, 2>;             // the output, and the log-sum-exp or None
  struct Call {
    Key key{};
    std::array<std::int64_t, tensors_read> addresses{};
    nb::dlpack::device device;
  };

  struct Kept {
    AttentionShapes shapes;
    std::optional<nb::tuple> o, log_sum_exp;  // arguments that allocate each: sizes, strides and element type
  };

  static std::int64_t address_of(const nb::dlpack::dltensor& t) {
    return reinterpret_cast<std::int64_t>(t.data) + static_cast<std::int64_t>(t.byte_offset);
  }

  /// Returns the arguments with which allocate_ makes another such tensor.
  static nb::tuple like(const nb::object& tensor) {
    const nb::tuple sizes(nb::list(tensor.attr("shape")));  // torch.Size is a class of its own
    return nb::make_tuple(sizes, tensor.attr("stride")(), tensor.attr("dtype"));
  }

  static Tensors handles(const nb::tuple& tensors) {
    Tensors out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = tensors[i];
    return out;
  }

  /// A kept call, or a call of another number of keys that follows from a kept one: keys of a generation grow with each
  /// step.
  struct Found {
    const Kept* kept;
    std::optional<AttentionShapes> grown;
    [[nodiscard]] const AttentionShapes& shapes() const { return grown ? *grown : kept->shapes; }
  };

  [[nodiscard]] std::optional<Found> find(const Call& call, const Options& options) const {
    if (const auto found = kept_.find(call.key); found != kept_.end()) return Found{&found->second, std::nullopt};
    const auto found = growing_.find(without_keys(call.key, options));
    if (found == growing_.end()) return std::nullopt;
    std::optional<AttentionShapes> grown = grown_from(found->second, call.key, options);
    return grown ? std::optional(Found{&found->second, std::move(grown)}) : std::nullopt;
  }

  /// Finds the kept call on the current GPU, whose streams and allocations PyTorch uses.
  [[nodiscard]] std::optional<Found> find_current(const Call& call, const Options& options) const {
    std::optional<Found> found = find(call, options);
    return found && call.device.device_id == host_.device() ? std::move(found) : std::nullopt;
  }

  /// Returns the numbers of K (1) or V (2) in a key.
  template <class AnyKey>
  static auto* numbers_of(AnyKey& key, std::size_t tensor) {
    return key.data() + tensor * tensor_numbers;
  }
  static std::size_t row_axis(const Options& options) { return options.turned ? 1 : 2; }

  /// Returns the key of a call without its number of keys, and without the strides of K and V that follow from it.
  static Key without_keys(Key key, const Options& options) {
    for (const std::size_t tensor : {1, 2}) {
      std::int64_t* numbers = numbers_of(key, tensor);
      numbers[3 + row_axis(options)] = 0;
      std::fill_n(numbers + 3 + axes_read, axes_read - 1, 0);
    }
    return key;
  }

  /// Returns the kept call with another key's number of keys; nothing if the kernels do not take its strides.
  static std::optional<AttentionShapes> grown_from(const Kept& kept, const Key& key, const Options& options) {
    constexpr std::int64_t step = 8;  // elements of 16 bytes
    const std::size_t row = row_axis(options);
    const std::int64_t keys = numbers_of(key, 1)[3 + row];
    if (keys < 1 || numbers_of(key, 2)[3 + row] != keys) return std::nullopt;
    std::array<std::array<std::int64_t, 3>, 2> strides{};
    for (const std::size_t tensor : {1, 2}) {
      const std::int64_t *sizes = numbers_of(key, tensor) + 3, *found = sizes + axes_read;
      const std::array<std::size_t, 3> axes{0, 3 - row, row};  // batch, head, row
      for (std::size_t i = 0; i < axes.size(); ++i) {
        // An axis of one element has no stride that matters.
        const std::int64_t stride = sizes[axes[i]] > 1 ? found[axes[i]] : sizes[axes_read - 1];
        if (stride <= 0 || stride % step != 0) return std::nullopt;
        strides[tensor - 1][i] = stride;
      }
    }
    return kept.shapes.with_keys(keys, strides, {options.left == -1, options.right == -1});
  }

  [[nodiscard]] std::optional<Results> launch_made(const Inputs& inputs, bool want_lse, const Options& options) const {
    const auto& [q, k, v] = inputs;
    std::optional<Call> call = read({q, k, v, nb::none(), nb::none()}, options, &want_lse);
    const std::optional<Found> found = call ? find_current(*call, options) : std::nullopt;
    if (!found) return std::nullopt;
    Results made{another(*found->kept->o), want_lse ? another(*found->kept->log_sum_exp) : nb::none()};
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!made[i].is_none()) call->addresses[inputs_read + i] = address_of(reader_.read(made[i]).value());
    }
    launch(*found, *call);
    return made;
  }

  [[nodiscard]] nb::object another(const nb::tuple& like) const { return allocate_(like[0], like[1], like[2]); }

  void launch(const Found& found, const Call& call) const {
    const auto stream = reinterpret_cast<std::int64_t>(reader_.stream(call.device));
    const auto& [q, k, v, o, log_sum_exp] = call.addresses;
    found.shapes().launch({q, k, v, o}, log_sum_exp, 0, 0, call.device.device_id, stream);
  }

  /// Reads the tensors of a call; with `want_lse` only q, k and v.
  [[nodiscard]] std::optional<Call> read(const Tensors& tensors, const Options& options, const bool* want_lse) const {
    Call call;
    auto* at = call.key.data();
    for (std::size_t i = 0; i < (want_lse == nullptr ? tensors_read : inputs_read); ++i, at += tensor_numbers) {
      const nb::handle one = tensors[i];
      if (one.is_none()) continue;
      const std::optional<nb::dlpack::dltensor> t = reader_.read(one);
      if (!t || t->ndim > static_cast<int>(axes_read)) return std::nullopt;
      at[0] = std::bit_cast<std::int32_t>(t->dtype);
      at[1] = std::bit_cast<std::int64_t>(t->device);
      at[2] = t->ndim;
      std::copy_n(t->shape, t->ndim, at + 3);
      std::copy_n(t->strides, t->ndim, at + 3 + axes_read);
      call.addresses[i] = address_of(*t);
      if (i <= inputs_read && call.addresses[i] % 16 != 0) return std::nullopt;  // the caller copies it
      if (i == 0) call.device = t->device;
    }
    const auto& [left, right, scale, turned] = options;
    at = call.key.data() + tensors_read * tensor_numbers;
    at[0] = left;
    at[1] = right;
    at[2] = scale ? 1 : 0;
    at[3] = std::bit_cast<std::int64_t>(scale.value_or(0));
    at[4] = turned ? 1 : 0;
    at[5] = want_lse == nullptr ? 0 : *want_lse ? 2 : 1;
    return call;
  }

  TensorReader reader_;
  HostState host_;
  nb::object allocate_;
  std::map<Key, Kept> kept_, growing_;  ///< calls by key, and the latest call for each key without the number of keys
};

void bind_launches(nb::class_<AttentionCalls>& calls) {
  calls
      .def(
          "launch",
          [](const AttentionCalls& self, const nb::tuple& tensors, std::int64_t left, std::int64_t right,
             std::optional<double> scale, bool turned) {
            return self.launch(tensors, {left, right, scale, turned});
          },
          nb::arg("tensors"), nb::arg("left"), nb::arg("right"), nb::arg("scale").none(), nb::arg("turned"),
          "Launches on the tensors' device, which is PyTorch's current one, and its current stream. Returns False, and "
          "launches nothing, if no such call is kept. turned: the tensors are [b, rows, heads, d].")
      .def(
          "launch_new",
          [](const AttentionCalls& self, const nb::tuple& inputs, bool want_lse, std::int64_t left, std::int64_t right,
             std::optional<double> scale, bool turned) {
            return self.launch_new({inputs[0], inputs[1], inputs[2]}, want_lse, {left, right, scale, turned});
          },
          nb::arg("inputs"), nb::arg("want_lse"), nb::arg("left"), nb::arg("right"), nb::arg("scale").none(),
          nb::arg("turned"),
          "Launches as launch() does, into new tensors, and returns the output, and the log-sum-exp or None. Returns "
          "None, and launches nothing, if no such call is kept.")
      .def(
          "attend",
          [](const AttentionCalls& self, const nb::tuple& tensors, nb::handle causal, nb::handle window,
             nb::handle scale, nb::handle return_lse, bool turned) -> nb::object {
            const bool want_lse = return_lse.is(nb::handle(Py_True));
            const auto options = options_of(causal, window, scale, turned);
            if (!options || (!want_lse && !return_lse.is(nb::handle(Py_False)))) return nb::none();
            return self.attend({tensors[0], tensors[1], tensors[2]}, tensors[3], *options, want_lse);
          },
          nb::arg("tensors"), nb::arg("causal").none(), nb::arg("window").none(), nb::arg("scale").none(),
          nb::arg("return_lse").none(), nb::arg("turned"),
          "Answers a user's whole call, with q, k, v and the output or None. Returns None, and launches nothing, if no "
          "such call is kept, an argument has an unusual type, a gradient is wanted, or operators have to be seen.");
}

}  // namespace

void bind_attention_calls(nb::module_& module) {
  nb::class_<AttentionCalls> calls(
      module, "AttentionCalls",
      "Checked calls, found by their tensors: q, k, v, the output, and the log-sum-exp or None.");
  bind_launches(calls);
  calls
      .def(
          "__init__",
          [](AttentionCalls* self, const nb::object& functions, const nb::tuple& classes, nb::object allocate,
             nb::object grad_enabled, nb::object device, const nb::tuple& watchers) {
            new (self)
                AttentionCalls(TensorReader(functions, classes),
                               HostState(std::move(grad_enabled), std::move(device), watchers), std::move(allocate));
          },
          nb::arg("functions").none(), nb::arg("classes"), nb::arg("allocate"), nb::arg("grad_enabled"),
          nb::arg("device"), nb::arg("watchers"),
          "Takes torch.Tensor.__dlpack_c_exchange_api__ or None; the classes of tensors that are read; a function of "
          "sizes, strides and element type that makes a tensor on the current device; functions without arguments: "
          "whether gradients are recorded, the current device, and those that return something true if each operator "
          "has to be seen.")
      .def(
          "keep",
          [](AttentionCalls& self, const AttentionShapes& shapes, const nb::tuple& tensors, std::int64_t left,
             std::int64_t right, std::optional<double> scale, bool turned, bool made) {
            self.keep(shapes, tensors, {left, right, scale, turned}, made);
          },
          nb::arg("shapes"), nb::arg("tensors"), nb::arg("left"), nb::arg("right"), nb::arg("scale").none(),
          nb::arg("turned"), nb::arg("made") = false,
          "Keeps a checked call. made: its output and log-sum-exp are new; launch_new() makes others like them.");
}

}  // namespace napkin::internal::python
