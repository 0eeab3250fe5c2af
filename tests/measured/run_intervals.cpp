// Prints the tables of docs/intervals.md: the number of rows within their bands, which leave out the row's own source.
//
//   run_intervals

#include <cstdio>

#include "apps/library/judge/intervals.hpp"

int main() {
  std::fputs(napkin::internal::table_of(napkin::internal::judge_intervals()).c_str(), stdout);
  return 0;
}
