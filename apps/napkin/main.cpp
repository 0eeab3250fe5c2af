// The program of the command line.

#include "apps/napkin/program.hpp"

int main(int argc, char** argv) { return napkin::internal::cli::program({argv + 1, argv + (argc > 0 ? argc : 1)}); }
