#pragma once
// A ColumnMaker lays out the columns of a streamed program in one pass: arrays and functions from left to right, the
// loop in brackets. Internal to the folder.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "apps/report/diagram/columns.hpp"
#include "apps/report/diagram/places.hpp"
#include "model/fusion/program.hpp"

namespace napkin::internal::report {

/// Writes an auxiliary as the paper does, with a Greek letter: "mu.P".
[[nodiscard]] std::string greek(const std::string& auxiliary);

/// A layout in progress: columns made so far, the place of each array, and each softmax's state.
class ColumnMaker {
 public:
  explicit ColumnMaker(Places& places) : places_(places), s_(places.streamed()), d_(s_.diagram) {}

  ColumnDiagram run();

 private:
  using Kind = DiagramColumn::Kind;
  [[nodiscard]] const std::string& axis(AxisId id) const { return d_.axes[at(id)].name; }
  [[nodiscard]] int here() const { return static_cast<int>(out_.columns.size()) - 1; }
  Bundle& bundle(int id) { return out_.bundles[at(id)]; }

  DiagramColumn& column(Kind kind);
  DiagramColumn& data();
  void bracket(Kind kind, bool inner, const std::string& title);
  int add(const std::string& name, const std::vector<AxisId>& axes, ArrayId array, OpId state_of = -1);
  void begin(int id, LevelId level, int variable);
  void use(int id) { bundle(id).last = std::max(bundle(id).last, here()); }

  /// Names the arrays whose rows a table's entries select, as no function reads the table: "rows of K, V".
  [[nodiscard]] std::string rows_named_by(ArrayId table) const;

  // Moves of arrays between levels (column_moves.cpp).
  Move move_of(int id, Trip& trip, bool branch);
  Trip* next(ArrayId array, LevelId from, bool reads, bool stores);
  void arrive(int id, const Trip& trip, bool staging);
  void load(ArrayId array);
  void store(ArrayId array);
  /// Ends a result's lines at its level, before an operation needs it.
  void put_down(int id);

  // Functions and their operands (column_moves.cpp).
  /// Returns the column in which functions with these inputs and outputs can join others; else a new one.
  int place(const std::vector<int>& ins, const std::vector<int>& outs);

  /// Returns an operand's lines into the functions that use it, from the column of data before.
  ColumnFunction::Input operand(int id, bool stays, int function_column);
  [[nodiscard]] bool is_part(int id) const { return std::find(parts_.begin(), parts_.end(), id) != parts_.end(); }
  /// Returns the next move of an operand that is at that level, or nullptr if it is used there.
  Trip* next_of_operand(int id, LevelId level);

  /// A function to be put into a column, with its operands and results.
  struct Made {
    std::vector<std::pair<int, bool>> inputs;  ///< bundle, and whether it stays after the function
    std::vector<int> outputs;                  ///< outputs of which those that exist already are updated
    ColumnFunction function;
    std::vector<std::pair<ArrayId, OpId>> fresh = {};  ///< outputs to begin: arrays, or the factor of a softmax
    int part = -1;  ///< variable in which a fresh part of a sum lies (Places::part_apart)
  };
  void put(Made made);
  [[nodiscard]] std::string auxiliary(const std::string& kind, OpId softmax) const;
  [[nodiscard]] int state(OpId softmax) const;
  [[nodiscard]] int factor(OpId softmax) const;

  /// Returns true if the array is used again after that operation.
  [[nodiscard]] bool stays(ArrayId array, OpId reader) const;

  // The program, statement by statement (columns.cpp).
  void steps(const std::vector<Step>& all);
  [[nodiscard]] std::string part(const Step& loop) const;
  void statement(const Statement& s);
  void initialise(const Statement& s);
  /// Returns the names of a fold's state: "Y.n, Y.mean".
  [[nodiscard]] std::string state_names(OpId fold) const;
  void scaled(ArrayId array, const std::string& text, int by);
  void statistic(const Statement& s);
  Made begun(OpId id, Shape shape, const std::string& text);

  /// Adds a piece of a streamed softmax that has a loop of its own.
  void piece(Step::Kind kind, OpId id);
  void compute(OpId id);
  /// Puts a product whose result is not in the variable of the sum, then the addition in the sum's column.
  void add_apart(Made made, ArrayId sum);

  /// Extends arrays that every iteration reads or adds to, up to the loop's bracket.
  void end_of_loop();
  void finish();

  Places& places_;
  const Streamed& s_;
  const Diagram& d_;
  ColumnDiagram out_;
  Phase phase_ = Phase::head;
  std::vector<int> bundle_of_;                   // bundle of each array, by ArrayId
  std::vector<LevelId> level_;                   // level of each bundle now
  std::vector<std::pair<OpId, int>> factor_of_;  // softmax and the bundle of its delta
  std::vector<int> parts_;                       // bundles of parts apart from their sums
};

}  // namespace napkin::internal::report
