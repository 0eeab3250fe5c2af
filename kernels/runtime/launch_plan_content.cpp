#include <charconv>
#include <cstring>

#include "kernels/jit/disk_cache.hpp"
#include "kernels/runtime/launch_plan.hpp"

namespace napkin::internal {
namespace {

void add_number(std::string& content, std::uint64_t value) { add_field(content, std::to_string(value)); }

template <class Number>
void add_numbers(std::string& content, const std::vector<Number>& values) {
  add_number(content, values.size());
  for (const Number value : values) add_number(content, value);
}

/// A reader of fields; after a missing or wrong one `good` stays false.
struct Fields {
  std::string_view rest;
  bool good = true;

  std::string_view text() {
    const auto field = next_field(rest);
    good = good && field.has_value();
    return field.value_or(std::string_view());
  }
  template <class Number>
  void number(Number& value) {
    const std::string_view digits = text();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    good = good && error == std::errc() && end == digits.data() + digits.size();
  }
  template <class Number>
  void numbers(std::vector<Number>& values) {
    constexpr std::size_t most = 8;  // axes of a box
    std::size_t count = 0;
    number(count);
    good = good && count <= most;
    values.resize(good ? count : 0);
    for (Number& value : values) number(value);
  }
};

void add_box(std::string& content, const TensorBox& box) {
  add_number(content, box.offset);
  add_number(content, box.address);
  add_field(content, name_of(box.type));
  add_numbers(content, box.sizes);
  add_numbers(content, box.strides);
  add_numbers(content, box.box);
  add_number(content, static_cast<std::uint64_t>(box.swizzle));
}

TensorBox read_box(Fields& fields) {
  TensorBox box;
  fields.number(box.offset);
  fields.number(box.address);
  box.type = parse_dtype(fields.text(), "plan");
  fields.numbers(box.sizes);
  fields.numbers(box.strides);
  fields.numbers(box.box);
  fields.number(box.swizzle);
  return box;
}

}  // namespace

std::string content_of(const LaunchPlan& plan) {
  std::string out;
  add_field(out, plan.source);
  add_field(out, plan.expression);
  add_field(out, plan.architecture);
  for (const unsigned value : {plan.grid, plan.threads, plan.cluster, plan.shared}) add_number(out, value);
  add_number(out, plan.workspace);
  for (const Count value : {plan.counters, plan.scratch.value})
    add_number(out, static_cast<std::uint64_t>(value.get()));
  add_field(out, {reinterpret_cast<const char*>(plan.arguments.data()), plan.arguments.size()});
  add_number(out, plan.boxes.size());
  for (const TensorBox& box : plan.boxes) add_box(out, box);
  return out;
}

std::optional<LaunchPlan> read_plan(std::string_view content) {
  constexpr std::size_t most_boxes = 16;
  Fields fields{content};
  LaunchPlan plan;
  plan.source = fields.text();
  plan.expression = fields.text();
  plan.architecture = fields.text();
  for (unsigned* value : {&plan.grid, &plan.threads, &plan.cluster, &plan.shared}) fields.number(*value);
  fields.number(plan.workspace);
  for (Count* value : {&plan.counters, &plan.scratch.value}) {
    std::int64_t number = 0;
    fields.number(number);
    *value = number;
  }
  const std::string_view arguments = fields.text();
  plan.arguments.resize(arguments.size());
  if (!arguments.empty()) std::memcpy(plan.arguments.data(), arguments.data(), arguments.size());
  std::size_t boxes = 0;
  fields.number(boxes);
  try {
    for (std::size_t i = 0; fields.good && i < boxes && boxes <= most_boxes; ++i)
      plan.boxes.push_back(read_box(fields));
  } catch (const Error&) {  // an unknown type
    return std::nullopt;
  }
  if (!fields.good || plan.boxes.size() != boxes || !fields.rest.empty()) return std::nullopt;
  return plan;
}

}  // namespace napkin::internal
