#include "attn/experiment/text_table.h"

#include <algorithm>
#include <cstddef>

namespace attn {
namespace {

// Characters of a text, counted by the bytes that begin one in UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; },
      '?');
  return text.empty() ? "-" : text;
}

bool is_numeric(const TextTable& table, std::size_t column) {
  return column < table.numeric.size() && table.numeric[column];
}

std::string aligned_row(const TextTable& table, const std::vector<std::string>& cells,
                        const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = printable(cells[i]);
    const std::string padding(widths[i] - width_of(cell), ' ');
    if (i > 0) line += "  ";
    line += is_numeric(table, i) ? padding + cell : cell + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) {
      if (c == '|') line += '\\';
      line += c == '\n' || c == '\r' ? ' ' : c;
    }
    line += " |";
  }
  return line + "\n";
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    if (cells[i].find_first_of(",\"\r\n") == std::string::npos) {
      line += cells[i];
      continue;
    }
    line += '"';
    for (const char c : cells[i]) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

}  // namespace

std::string to_aligned(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    std::size_t width = width_of(table.header[i]);
    for (const auto& row : table.rows) width = std::max(width, width_of(printable(row[i])));
    widths.push_back(width);
  }
  std::string text = aligned_row(table, table.header, widths);
  for (const auto& row : table.rows) text += aligned_row(table, row, widths);
  return text;
}

std::string to_markdown(const TextTable& table) {
  std::string text = markdown_row(table.header) + "|";
  for (std::size_t i = 0; i < table.header.size(); ++i) text += is_numeric(table, i) ? "---:|" : "---|";
  text += "\n";
  for (const auto& row : table.rows) text += markdown_row(row);
  return text;
}

std::string to_csv(const TextTable& table) {
  std::string text = csv_row(table.header);
  for (const auto& row : table.rows) text += csv_row(row);
  return text;
}

}  // namespace attn
