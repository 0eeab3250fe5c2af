#pragma once
// A Slip is a text with a mistake in it, and the parts of its error message: "bits: 16" for "bit: 16" at line 3.

#include <doctest/doctest.h>

#include <string>

#include "model/base/error.hpp"

namespace napkin::internal::test {

/// Returns the text with `to` in place of the first `from`, which must be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, "not in the text: ", from);
  return text.replace(at, from.size(), to);
}

/// Returns the message of the Error that `ask` throws; "no error" if it throws none.
template <class Ask>
std::string refusal_of(const Ask& ask) {
  try {
    (void)ask();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Slip {
  std::string old, replacement;
  std::string where;    ///< all of Error::where(), without the file
  std::string problem;  ///< within Error::problem()
  std::string right;    ///< within Error::right()
};

/// Checks that `parse` throws that error for the text with the slip, as the file "p.yaml".
template <class Parse>
void check_refused(const Slip& slip, const Parse& parse) {
  CAPTURE(slip.old);
  CAPTURE(slip.replacement);
  bool refused = false;
  try {
    (void)parse();
  } catch (const Error& error) {
    refused = true;
    CHECK(error.where() == "p.yaml:" + slip.where);
    CHECK_MESSAGE(error.problem().find(slip.problem) != std::string::npos, error.what());
    CHECK_MESSAGE(error.right().find(slip.right) != std::string::npos, error.what());
  }
  CHECK(refused);
}

}  // namespace napkin::internal::test
