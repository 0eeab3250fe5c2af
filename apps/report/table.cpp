#include "apps/report/table.hpp"

#include <algorithm>

namespace napkin::internal::report {
namespace {

/// Counts the characters, not the bytes, of UTF-8.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string padded(std::string_view text, std::size_t width, bool left) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return left ? std::string(text) + blanks : blanks + std::string(text);
}

}  // namespace

std::string Style::strong(std::string_view text) const {
  return colour ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
}

std::string Style::faint(std::string_view text) const {
  return colour ? "\033[2m" + std::string(text) + "\033[0m" : std::string(text);
}

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {
  for (std::string& name : header_) {
    left_.push_back(name.starts_with('<'));
    if (left_.back()) name.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> row) {
  row.resize(header_.size());
  rows_.push_back(std::move(row));
}

std::string Table::text(const Style& style, std::string_view indent) const {
  std::vector<std::size_t> widths(header_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent);
    bool first = true;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (widths[i] == 0) continue;
      if (!first) text += "  ";
      first = false;
      text += padded(cells[i], std::max(widths[i], width_of(header_[i])), left_[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string text = style.faint(line(header_)) + "\n";
  for (const auto& row : rows_) text += line(row) + "\n";
  return text;
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  std::string result;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (column > 0 && column + 1 + width_of(word) > width) {
      result += "\n" + std::string(indent);
      column = 0;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += width_of(word);
    at = end + 1;
  }
  return result;
}

}  // namespace napkin::internal::report
