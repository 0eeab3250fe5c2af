// Prints apps/library/judge/data/errors.json: the errors of today's model at every recorded and published row.
//
//   run_errors [FOLDER] > apps/library/judge/data/errors.json

#include <cstdio>

#include "model/base/error.hpp"
#include "tests/measured/found_rows.hpp"
#include "tests/published/published_rows.hpp"

int main(int count, char** words) {
  try {
    std::fputs(measured::found_errors(published::answers(), count > 1 ? words[1] : "tests/measured").text().c_str(),
               stdout);
    return 0;
  } catch (const napkin::Error& error) {
    std::fprintf(stderr, "run_errors: %s\n", error.what());
    return 2;
  }
}
