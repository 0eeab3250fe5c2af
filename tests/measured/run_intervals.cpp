// Prints the tables of docs/intervals.md: how many rows lie within their band, each row's source left out.
//
//   run_intervals

#include <cstdio>

#include "apps/library/judge/intervals.hpp"

int main() {
  std::fputs(napkin::internal::table_of(napkin::internal::judge_intervals()).c_str(), stdout);
  return 0;
}
