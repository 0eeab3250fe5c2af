#include "model/fusion/program.hpp"

#include <algorithm>
#include <limits>

#include "model/diagram/normalised.hpp"
#include "model/fusion/derive.hpp"

namespace napkin::internal {
namespace {

class ProgramWriter {
 public:
  ProgramWriter(Streamed& streamed, const AxisAnalysis* analysis) : s_(streamed), analysis_(analysis) {}

  void run() {
    label_operations();
    collect_state();
    write_head();
    write_loop();
    write_tail();
  }

 private:
  std::size_t count() const { return s_.diagram.operations.size(); }
  const Operation& op(std::size_t i) const { return s_.diagram.operations[i]; }
  StreamedOp& part(std::size_t i) { return s_.operations[i]; }
  bool accumulates(std::size_t i) {
    return part(i).accumulator == AccumulatorKind::sum || part(i).accumulator == AccumulatorKind::max;
  }
  bool online(std::size_t i) { return part(i).accumulator == AccumulatorKind::online_softmax; }
  bool stateful(std::size_t i) { return keeps_state(part(i).accumulator); }

  void label_operations() {
    s_.operations.assign(count(), StreamedOp{Phase::head, std::nullopt, std::nullopt, false});
    if (analysis_ == nullptr) return;
    for (std::size_t i = 0; i < count(); ++i) {
      part(i).phase = analysis_->phases[i];
      part(i).accumulator = analysis_->accumulators[i];
      if (part(i).accumulator != AccumulatorKind::sum) continue;
      part(i).rescaled_by = analysis_->arrays[static_cast<std::size_t>(op(i).outputs[0])].pending;
      part(i).normalised_in_tail =
          part(i).rescaled_by && !is_normalised(op(static_cast<std::size_t>(*part(i).rescaled_by)));
    }
  }

  void collect_state() {
    std::size_t softmaxes = 0;
    for (std::size_t i = 0; i < count(); ++i) softmaxes += online(i) ? 1 : 0;
    for (std::size_t i = 0; i < count(); ++i) {
      if (accumulates(i)) s_.maintained.push_back(op(i).outputs[0]);
      if (!stateful(i)) continue;
      const auto id = static_cast<OpId>(i);
      if (!online(i)) {
        fold_state(id);
        continue;
      }
      const std::string suffix =
          softmaxes == 1 ? "" : "." + s_.diagram.arrays[static_cast<std::size_t>(op(i).outputs[0])].name;
      const std::vector<AxisId> axes = state_axes(s_.diagram, id);
      s_.auxiliaries.push_back({"mu" + suffix, axes, id, -std::numeric_limits<double>::infinity()});
      s_.auxiliaries.push_back({"delta" + suffix, axes, id, 1});
      s_.auxiliaries.push_back({"z" + suffix, axes, id, 0});
    }
  }

  /// Adds an auxiliary, a value a row, for each value of the fold's state, named after the result: "Y.mean".
  void fold_state(OpId id) {
    const Operation& f = op(static_cast<std::size_t>(id));
    const std::string& result = s_.diagram.arrays[static_cast<std::size_t>(f.outputs[0])].name;
    for (const FoldValue& value : s_.diagram.fold_of(f).state)
      s_.auxiliaries.push_back({result + "." + value.name, state_axes(s_.diagram, id), id, value.empty});
  }

  bool used_in(ArrayId array, Phase phase) {
    for (OpId id : s_.diagram.consumers(array)) {
      if (part(static_cast<std::size_t>(id)).phase == phase) return true;
    }
    // A table is used where the rows that it names are loaded.
    for (ArrayId in : s_.diagram.inputs) {
      for (const Reindex& dimension : s_.diagram.arrays[static_cast<std::size_t>(in)].reindexed) {
        if (dimension.table == array && load_phase(in) == phase) return true;
      }
    }
    return false;
  }

  Phase load_phase(ArrayId input) {
    if (streams(input)) return Phase::loop;
    return used_in(input, Phase::head) || used_in(input, Phase::loop) ? Phase::head : Phase::tail;
  }

  bool streams(ArrayId array) const {
    return s_.stream && s_.diagram.arrays[static_cast<std::size_t>(array)].has(*s_.stream);
  }

  void store(std::vector<Statement>& program, ArrayId array) const {
    if (s_.diagram.is_output(array)) program.push_back({Statement::Kind::store, std::nullopt, array});
  }
  void compute(std::vector<Statement>& program, std::size_t i) const {
    program.push_back({Statement::Kind::compute, static_cast<OpId>(i), std::nullopt});
    for (ArrayId out : op(i).outputs) store(program, out);
  }

  void write_head() {
    for (std::size_t i = 0; i < count(); ++i) {
      if (stateful(i)) s_.head.push_back({Statement::Kind::initialise, static_cast<OpId>(i), std::nullopt});
      if (accumulates(i)) s_.head.push_back({Statement::Kind::initialise, std::nullopt, op(i).outputs[0]});
    }
    for (ArrayId in : s_.diagram.inputs) {
      if (streams(in) || !(used_in(in, Phase::head) || used_in(in, Phase::loop))) continue;
      s_.head.push_back({Statement::Kind::load, std::nullopt, in});
      if (used_in(in, Phase::loop)) s_.persistent.push_back(in);
    }
    for (std::size_t i = 0; i < count(); ++i) {
      if (part(i).phase == Phase::head) compute(s_.head, i);
    }
  }

  void write_loop() {
    for (ArrayId in : s_.diagram.inputs) {
      if (streams(in)) s_.loop.push_back({Statement::Kind::load, std::nullopt, in});
    }
    for (std::size_t i = 0; i < count(); ++i) {
      if (part(i).phase != Phase::loop) continue;
      if (part(i).rescaled_by) {
        s_.loop.push_back({Statement::Kind::rescale, part(i).rescaled_by, op(i).outputs[0]});
      }
      s_.loop.push_back({Statement::Kind::compute, static_cast<OpId>(i), std::nullopt});
      for (ArrayId out : op(i).outputs) {
        if (streams(out)) store(s_.loop, out);
      }
    }
  }

  void write_tail() {
    for (ArrayId in : s_.diagram.inputs) {
      if (!streams(in) && !used_in(in, Phase::head) && !used_in(in, Phase::loop)) {
        s_.tail.push_back({Statement::Kind::load, std::nullopt, in});
      }
    }
    for (std::size_t i = 0; i < count(); ++i) {
      if (part(i).phase == Phase::tail) compute(s_.tail, i);
      write_results_of_state(i);
      if (!accumulates(i)) continue;
      if (part(i).normalised_in_tail) {
        s_.tail.push_back({Statement::Kind::normalise, part(i).rescaled_by, op(i).outputs[0]});
      }
      store(s_.tail, op(i).outputs[0]);
    }
  }

  /// Writes the results of a state: the statistics of a softmax, the result of a fold.
  void write_results_of_state(std::size_t i) {
    const std::size_t first = online(i) ? 1 : part(i).accumulator == AccumulatorKind::fold ? 0 : op(i).outputs.size();
    for (std::size_t k = first; k < op(i).outputs.size(); ++k) {
      s_.tail.push_back({Statement::Kind::compute, static_cast<OpId>(i), op(i).outputs[k]});
      store(s_.tail, op(i).outputs[k]);
    }
  }

  Streamed& s_;
  const AxisAnalysis* analysis_;
};

}  // namespace

void write_program(Streamed& streamed, const AxisAnalysis* analysis) { ProgramWriter(streamed, analysis).run(); }

double initial_value(const Streamed& streamed, ArrayId array) {
  const auto producer = streamed.diagram.producer(array);
  const bool maximum =
      producer && streamed.operations[static_cast<std::size_t>(*producer)].accumulator == AccumulatorKind::max;
  return maximum ? -std::numeric_limits<double>::infinity() : 0.0;
}

}  // namespace napkin::internal
