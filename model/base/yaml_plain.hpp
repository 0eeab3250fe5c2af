#pragma once
// read_plain reads the plain part of YAML in which the bundled files are written, some ten times as fast as yaml-cpp:
// block maps and lists of plain words, words in quotes and one-line {...} and [...]. Used by yaml.cpp alone.

#include <string_view>

#include <yaml-cpp/eventhandler.h>

namespace napkin::yaml {

/// Tells the handler the events that yaml-cpp would tell it for this text, with their positions. False where the text
/// has anything else in it, an error among it: yaml-cpp then reads it from its beginning, and says what is wrong.
[[nodiscard]] bool read_plain(std::string_view text, YAML::EventHandler& handler);

}  // namespace napkin::yaml
