#include "apps/library/call/call_plans.hpp"

#include <initializer_list>
#include <utility>

#include "kernels/plans/attention_backward.hpp"
#include "kernels/plans/matmul.hpp"

namespace napkin::internal {
namespace {

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

void need(const void* pointer, const std::string& name) {
  if (pointer == nullptr) throw Error(name, "is null", "memory on the device");
}

TensorView view_of(const DeviceRows& rows) { return {address_of(rows.data), rows.batch, rows.head, rows.row}; }
MatrixView view_of(const DeviceMatrix& matrix) { return {address_of(matrix.data), matrix.row}; }
ScaleView view_of(const DeviceScales& of) { return {address_of(of.data), of.batch, of.head, of.block}; }

/// Fills the fields of a plan's call that forward and backward calls have in common.
template <class Call>
Call call_beside(const AttentionArgs& forward) {
  Call call;
  call.q = view_of(forward.q);
  call.k = view_of(forward.k);
  call.v = view_of(forward.v);
  call.o = view_of(forward.o);
  call.log_sum_exp = address_of(forward.log_sum_exp);
  call.scale = forward.scale;
  call.q_starts = address_of(forward.q_starts);
  call.x_starts = address_of(forward.x_starts);
  call.q_rows = forward.q_rows;
  call.x_rows = forward.x_rows;
  return call;
}

AttentionCall call_of(const AttentionArgs& args, const OwnMemory& own) {
  auto call = call_beside<AttentionCall>(args);
  call.q_scale = view_of(args.q_scale);
  call.k_scale = view_of(args.k_scale);
  call.v_scale = view_of(args.v_scale);
  call.lengths = address_of(args.key_counts);
  call.pages = {address_of(args.pages.table), args.pages.row, args.pages.size, args.pages.count};
  call.ticket = own.ticket;
  call.arrived = own.counters;
  call.parts = own.scratch;
  return call;
}

AttentionBackwardCall call_of(const AttentionBackwardArgs& args) {
  auto call = call_beside<AttentionBackwardCall>(args.forward);
  call.d_o = view_of(args.d_o);
  call.dq = view_of(args.dq);
  call.dk = view_of(args.dk);
  call.dv = view_of(args.dv);
  call.scratch = address_of(args.workspace.data);
  return call;
}

MatmulCall call_of(const MatmulArgs& args, const OwnMemory& own) {
  return {view_of(args.a), view_of(args.b), view_of(args.c),          0,
          own.counters,    own.scratch,     address_of(args.a_scale), address_of(args.b_scale)};
}

NamedSizes named(std::initializer_list<const char*> axes, const CallSizes& sizes) {
  NamedSizes out;
  for (const char* axis : axes) out.emplace_back(axis, sizes[out.size()]);
  return out;
}

}  // namespace

void check(const AttentionArgs& args) {
  need(args.q.data, "q");
  need(args.k.data, "k");
  need(args.v.data, "v");
  need(args.o.data, "o");
  for (const DeviceScales* scale : {&args.q_scale, &args.k_scale, &args.v_scale}) {
    if (args.dtype != DType::e4m3 && !(*scale == DeviceScales{}))
      throw Error("scales", "are of e4m3 alone", "dtype e4m3, or no scales");
  }
  if (args.pages.table != nullptr && (args.pages.row < 1 || args.pages.size < 1 || args.pages.count < 1))
    throw Error("pages", "have no size, or there are none", "page numbers of a sequence, keys of a page, and pages");
  if (args.lengths.empty()) return;
  Count queries, keys;
  for (const SequenceLengths& one : args.lengths) {
    queries += Count(one.q);
    keys += Count(one.x);
  }
  if (args.q_starts == nullptr || queries != Count(args.q_rows) || keys != Count(args.x_rows))
    throw Error("lengths", "are not those of the packed sequences",
                "q_rows queries and x_rows keys in all, with their starts on the device");
}

void check(const AttentionBackwardArgs& args) {
  check(args.forward);
  if (needs_of(args.forward).cached)
    throw Error("pages", "and key counts have no backward pass", "sequences of one length, or packed ones");
  need(args.forward.log_sum_exp, "log_sum_exp");
  need(args.d_o.data, "d_o");
  need(args.dq.data, "dq");
  need(args.dk.data, "dk");
  need(args.dv.data, "dv");
}

void check(const MatmulArgs& args) {
  need(args.a.data, "a");
  need(args.b.data, "b");
  need(args.c.data, "c");
  if (args.dtype != DType::e4m3 && (args.a_scale != nullptr || args.b_scale != nullptr))
    throw Error("scales", "are of e4m3 alone", "dtype e4m3, or no scales");
}

CallSizes sizes_of(const AttentionArgs::Sizes& s) { return {s.b, s.h, s.g, s.q, s.x, s.d, s.dv == 0 ? s.d : s.dv}; }

Ask ask_of(const AttentionArgs& args, const std::string& gpu) {
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = gpu;
  ask.shape = named({"b", "h", "g", "q", "x", "d", "dv"}, sizes_of(args));
  ask.dtype = std::string(name_of(args.dtype));
  ask.mask = args.mask;
  ask.lengths = args.lengths;
  ask.bundled = true;  // only bundled kernels can be launched
  return ask;
}

Ask ask_of(const AttentionBackwardArgs& args, const std::string& gpu) {
  Ask ask = ask_of(args.forward, gpu);
  ask.algorithm = "attention_backward";
  return ask;
}

Ask ask_of(const MatmulArgs& args, const std::string& gpu) {
  Ask ask;
  ask.algorithm = "matmul";
  ask.gpu = gpu;
  ask.shape = named({"a", "b", "c"}, sizes_of(args));
  ask.dtype = std::string(name_of(args.dtype));
  ask.bundled = true;
  return ask;
}

/// Returns what the call needs: packed sequences allow no cluster, since its blocks share one sequence's keys.
CallNeeds needs_of(const AttentionArgs& args) {
  CallNeeds needs{{}, args.q_starts != nullptr, args.key_counts != nullptr || args.pages.table != nullptr};
  if (needs.packed) needs.knobs.emplace_back("cluster", "1");
  if (args.q_scale.block != 0 || args.k_scale.block != 0 || args.v_scale.block != 0)
    needs.knobs.emplace_back("scales", "block");
  return needs;
}

CallNeeds needs_of(const AttentionBackwardArgs& args) {
  return {args.deterministic ? TileText{{"dq", "ordered"}} : TileText{}, args.forward.q_starts != nullptr, false};
}

Launches launches_of(const PlacedDiagram& placed, const AttentionArgs& args, const OwnMemory& own,
                     const LaunchDevice& device, std::optional<AttentionForm>& form) {
  const AttentionCall call = call_of(args, own);
  if (!form || !form->serves(placed, call)) form.emplace(placed, call);
  Launches out;
  out.push_back(form->plan(placed, call, device));
  return out;
}

Launches launches_of(const PlacedDiagram& placed, const AttentionBackwardArgs& args, const OwnMemory&,
                     const LaunchDevice&, std::optional<AttentionForm>&) {
  AttentionBackwardPlans plans = attention_backward_plans(placed, call_of(args));
  return {std::move(plans.delta), std::move(plans.gradients), std::move(plans.convert)};
}

Launches launches_of(const PlacedDiagram& placed, const MatmulArgs& args, const OwnMemory& own,
                     const LaunchDevice& device, std::optional<AttentionForm>&) {
  return {matmul_plan(placed, call_of(args, own), device)};
}

void give_memory(Launches& launches, const AttentionArgs& args, const OwnMemory& own) {
  bind(launches.front(), call_of(args, own));
}
void give_memory(Launches& launches, const AttentionBackwardArgs& args, const OwnMemory&) {
  bind_backward(launches, call_of(args));
}
void give_memory(Launches& launches, const MatmulArgs& args, const OwnMemory& own) {
  bind(launches.front(), call_of(args, own));
}

void check_workspace(const AttentionBackwardArgs& args, std::uint64_t needed) {
  const auto bytes = static_cast<std::int64_t>(needed);
  if (args.workspace.data == nullptr || args.workspace.bytes < bytes)
    throw Error("workspace",
                "has " + std::to_string(args.workspace.data == nullptr ? 0 : args.workspace.bytes) + " bytes",
                "attention_backward_workspace(), " + std::to_string(bytes) + " bytes on the device");
}

}  // namespace napkin::internal
