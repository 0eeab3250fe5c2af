#pragma once
// A LawSetting is one algorithm on one machine in one element type as the laws see it: the geometric program of its
// transfers and the machine's levels with their weights. Internal to apps/.

#include <optional>

#include "apps/library/question/question.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "model/fusion/derive.hpp"
#include "napkin/compare.hpp"
#include "napkin/laws.hpp"
#include "solver/optimum/multilevel.hpp"
#include "solver/optimum/program.hpp"

namespace napkin::internal {

/// The inputs of the laws of an algorithm on a machine in one type, in bytes and seconds a byte. Arrays with a type of
/// their own count in it.
struct LawSetting {
  Question question;
  Streamed streamed;
  Hertz clock;
  GeometricProgram program;
  std::vector<MemoryLevel> levels;
  std::vector<PowerTerm> terms;  ///< terms of the closed form at the memory of a compute node

  explicit LawSetting(Question of)
      : question(std::move(of)),
        streamed(derive(*question.diagram)),
        clock(clock_of(*question.machine)),
        program(program_of(streamed, question.problem, value_bytes(*question.diagram, question.problem.dtype),
                           Border::left_out)),
        levels(memory_levels_of(*question.machine, clock, 1)),
        terms(closed_form(program, memory()).terms) {}

  [[nodiscard]] double memory() const { return levels.back().memory; }
};

/// Collects the laws' inputs; nothing for packed sequences, and if the profile lacks a bandwidth or a memory.
[[nodiscard]] std::optional<LawSetting> law_setting(const Question& question);

[[nodiscard]] Laws laws_of(const LawSetting& setting);

/// Compares two element types by the quantisation law: H* in bytes and seconds.
[[nodiscard]] QuantisationAnswer quantisation_of(const LawSetting& first, const LawSetting& other);

}  // namespace napkin::internal
