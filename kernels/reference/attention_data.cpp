#include "kernels/reference/attention_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "kernels/jit/source.hpp"
#include "kernels/runtime/fill_arguments.cuh"

namespace napkin::internal {
namespace {

std::size_t size_of(std::int64_t elements, std::size_t bytes) { return static_cast<std::size_t>(elements) * bytes; }

std::vector<std::int32_t> starts_of(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> starts{0};
  for (const std::int32_t length : lengths) starts.push_back(starts.back() + length);
  return starts;
}

}  // namespace

AttentionInputs inputs_of(const std::string& word) {
  const std::array<std::pair<const char*, AttentionInputs>, 5> words = {{{"normal", AttentionInputs::normal},
                                                                         {"zeros", AttentionInputs::zeros},
                                                                         {"growing", AttentionInputs::growing},
                                                                         {"shrinking", AttentionInputs::shrinking},
                                                                         {"spike", AttentionInputs::spike}}};
  for (const auto& [name, inputs] : words) {
    if (word == name) return inputs;
  }
  throw Error("--inputs", "'" + word + "' is unknown", "normal, zeros, growing, shrinking or spike");
}

TensorView strided(const AttentionLayout& layout, std::int64_t rows, std::int64_t heads, std::int64_t columns) {
  const std::int64_t spare = layout.gap > 0 ? 1 : 0, all_rows = rows + spare, all_heads = heads + spare;
  TensorView out;
  if (layout.heads_first) {
    out.row = columns + layout.gap;
    out.head = out.row * all_rows;
    out.batch = out.head * all_heads;
  } else {
    out.head = columns;
    out.row = columns * all_heads + layout.gap;
    out.batch = out.row * all_rows;
  }
  return out;
}

AttentionData::AttentionData(Runtime& runtime, const AttentionLayout& layout)
    : device_(runtime.device()), layout_(layout) {
  const AttentionSizes& s = layout.sizes;
  batches_ = s.b;
  q_rows_ = s.q;
  x_rows_ = s.x;
  make_starts();
  q_ = make(q_rows_, s.h * s.g, s.d);
  k_ = make(x_rows_, s.h, s.d);
  v_ = make(x_rows_, s.h, s.dv);
  o_ = make(q_rows_, s.h * s.g, s.dv);
  if (layout.log_sum_exp) lse_ = BandedMemory(device_, size_of(batches_ * s.h * s.g * q_rows_, sizeof(float)));
  ticket_ = BandedMemory(device_, 2 * sizeof(std::int32_t));
  ticket_.set(device_, 0);
  spans_ = cycle_spans(device_);
  std::uint64_t seed = layout.seed * 16;
  for (const Array* input : {&q_, &k_, &v_}) {
    runtime.prepare(fill_plan(input->view.address, input->count, layout.type, ++seed,
                              layout.inputs == AttentionInputs::zeros ? 0 : layout.deviation, device_.properties()))();
  }
  if (layout.inputs != AttentionInputs::normal && layout.inputs != AttentionInputs::zeros) shape_scores(runtime);
  poison();
  device_.synchronize();
}

/// Changes the inputs so that scores have a shape. A ramp takes two columns, one for whole numbers and one for
/// fractions, so that 16 bits hold it.
void AttentionData::shape_scores(Runtime& runtime) const {
  constexpr double most = 256;  // largest number up to which bf16 has all whole numbers
  if (!layout_.q_lengths.empty()) throw Error("inputs", "are shaped for packed sequences", "normal inputs");
  const AttentionSizes& s = layout_.sizes;
  const double step = layout_.growth * std::numbers::ln2, root = std::sqrt(static_cast<double>(s.d));
  const double unit = std::max(1.0, static_cast<double>(s.x) * step / most);
  const auto constant = static_cast<float>(decode(encode(static_cast<float>(unit * root), layout_.type), layout_.type));
  ScoresArguments a{};
  a.q = reinterpret_cast<unsigned short*>(q_.view.address);
  a.k = reinterpret_cast<unsigned short*>(k_.view.address);
  a.q_strides = {q_.view.row, q_.view.head, q_.view.batch};
  a.k_strides = {k_.view.row, k_.view.head, k_.view.batch};
  a.b = static_cast<int>(s.b);
  a.h = static_cast<int>(s.h);
  a.g = static_cast<int>(s.g);
  a.q_rows = static_cast<int>(s.q);
  a.x_rows = static_cast<int>(s.x);
  a.d = static_cast<int>(s.d);
  a.constant = constant;
  a.unit = constant / static_cast<float>(root);
  a.step = static_cast<float>(step);
  a.last_first = layout_.inputs == AttentionInputs::growing ? 1 : 0;
  a.causal = layout_.mask.kind == Mask::Kind::causal ? 1 : 0;
  a.seed = static_cast<unsigned int>(layout_.seed);
  LaunchPlan plan;
  plan.source = "kernels/reference/scores.cuh";
  plan.expression = name_expression("shape_scores", Initialiser("napkin::ScoresConfig")
                                                        .set("bf16", layout_.type == DType::bf16)
                                                        .set("spike", layout_.inputs == AttentionInputs::spike));
  plan.architecture = device_.properties().architecture;
  plan.grid = static_cast<unsigned>(4 * device_.properties().sms);
  plan.threads = 256;
  plan.arguments.resize(sizeof a);
  std::memcpy(plan.arguments.data(), &a, sizeof a);
  runtime.prepare(plan)();
}

void AttentionData::make_starts() {
  if (layout_.q_lengths.empty()) return;
  q_starts_ = starts_of(layout_.q_lengths);
  x_starts_ = starts_of(layout_.x_lengths);
  batches_ = 1;
  q_rows_ = q_starts_.back();
  x_rows_ = x_starts_.back();
  const auto upload = [&](const std::vector<std::int32_t>& starts) {
    DeviceMemory memory = device_.allocate(starts.size() * sizeof(std::int32_t));
    device_.upload(memory.address(), starts.data(), memory.bytes());
    return memory;
  };
  q_starts_memory_ = upload(q_starts_);
  x_starts_memory_ = upload(x_starts_);
}

AttentionData::Array AttentionData::make(std::int64_t rows, std::int64_t heads, std::int64_t columns) const {
  Array out;
  out.view = strided(layout_, rows, heads, columns);
  out.count = out.view.batch * batches_;
  out.memory = BandedMemory(device_, size_of(out.count, sizeof(std::uint16_t)));
  out.view.address = out.memory.address();
  return out;
}

AttentionCall AttentionData::call() const {
  AttentionCall out;
  out.q = q_.view;
  out.k = k_.view;
  out.v = v_.view;
  out.o = o_.view;
  out.log_sum_exp = lse_.address();
  out.q_starts = q_starts_memory_.address();
  out.x_starts = x_starts_memory_.address();
  out.q_rows = q_rows_;
  out.x_rows = x_rows_;
  out.ticket = ticket_.address();
  return out;
}

AttentionCall AttentionData::counting_call() const {
  AttentionCall out = call();
  out.cycles = spans_.address();
  return out;
}

void AttentionData::put(const Array& array, const Tensor& values, std::int64_t heads, std::int64_t rows) const {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(array.count));
  const std::int64_t columns = values.shape.back(), all = batches_ * heads * rows;
  for (std::int64_t i = 0; i < all * columns; ++i) {
    const std::int64_t row = i / columns % rows, head = i / columns / rows % heads, batch = i / columns / rows / heads;
    const std::int64_t at = batch * array.view.batch + head * array.view.head + row * array.view.row + i % columns;
    bits[static_cast<std::size_t>(at)] =
        encode(static_cast<float>(values.data[static_cast<std::size_t>(i)]), layout_.type);
  }
  device_.upload(array.view.address, bits.data(), array.memory.bytes());
}

void AttentionData::set_inputs(const Tensors& inputs) const {
  const AttentionSizes& s = layout_.sizes;
  put(q_, inputs.at("Q"), s.h * s.g, s.q);
  put(k_, inputs.at("K"), s.h, s.x);
  put(v_, inputs.at("V"), s.h, s.x);
}

void AttentionData::poison() const {
  o_.memory.set(device_, poison_byte);
  lse_.set(device_, poison_byte);
}

HostArray AttentionData::fetch(const Array& array) const {
  HostArray out;
  out.batch = array.view.batch;
  out.head = array.view.head;
  out.row = array.view.row;
  out.values.resize(static_cast<std::size_t>(array.count));
  device_.download(out.values.data(), array.memory.address(), array.memory.bytes());
  return out;
}

HostAttention AttentionData::download() const {
  device_.synchronize();
  HostAttention out;
  out.sizes = layout_.sizes;
  out.mask = layout_.mask;
  out.type = layout_.type;
  out.scale = 1 / std::sqrt(static_cast<double>(layout_.sizes.d));
  out.q = fetch(q_);
  out.k = fetch(k_);
  out.v = fetch(v_);
  out.o = fetch(o_);
  out.q_starts = q_starts_;
  out.x_starts = x_starts_;
  out.log_sum_exp.resize(lse_.bytes() / sizeof(float));
  if (lse_.bytes() > 0) device_.download(out.log_sum_exp.data(), lse_.address(), lse_.bytes());
  out.beside = first_of({o_.memory.changed(device_, "O", sizeof(std::uint16_t)),
                         lse_.changed(device_, "log-sum-exp", sizeof(float)),
                         ticket_.changed(device_, "ticket", sizeof(std::int32_t))});
  return out;
}

double attention_flops(const AttentionLayout& layout) {
  const AttentionSizes& s = layout.sizes;
  const auto pairs = [&](std::int64_t q, std::int64_t x) {
    if (layout.mask.kind == Mask::Kind::window) return static_cast<double>(visible_pairs(layout.mask, q, x));
    return static_cast<double>(q) * static_cast<double>(x) * (layout.mask.kind == Mask::Kind::causal ? 0.5 : 1);
  };
  double all = 0;
  for (std::size_t i = 0; i < layout.q_lengths.size(); ++i) all += pairs(layout.q_lengths[i], layout.x_lengths[i]);
  if (layout.q_lengths.empty()) all = pairs(s.q, s.x) * static_cast<double>(s.b);
  return 2 * all * static_cast<double>(s.h * s.g) * static_cast<double>(s.d + s.dv);
}

}  // namespace napkin::internal
