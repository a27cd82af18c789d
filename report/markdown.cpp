#include "report/markdown.hpp"

#include <fmt/format.h>

#include "report/escape.hpp"

namespace ddpx::report {
namespace {

// Text at the beginning of a line, where a dash or a plus would open a list.
std::string line(std::string_view text) {
  const bool bullet = text.starts_with("- ") || text.starts_with("+ ");
  return (bullet ? "\\" : "") + markdown_text(text);
}

// A relative link target: everything but letters, digits and -._~ percent-encoded (RFC 3986).
std::string link_target(std::string_view file_name) {
  constexpr std::string_view kPlain = "-._~";
  std::string out;
  for (const char c : file_name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter || (c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// "out/report.md" is "out/report", and "out/report" and "out/.md" are themselves.
std::string stem_of(const std::string& path) {
  const std::size_t name =
      path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/') + 1;
  const std::size_t dot = path.find_last_of('.');
  return dot == std::string::npos || dot <= name ? path : path.substr(0, dot);
}

class MarkdownWriter {
 public:
  explicit MarkdownWriter(std::string stem) : stem_(std::move(stem)) {}

  void operator()(const Heading& block) { add("## " + line(block.text)); }
  void operator()(const Paragraph& block) { add(line(block.text)); }
  void operator()(const Callout& block) { add("> **" + line(block.text) + "**"); }
  void operator()(const Bullets& block) {
    std::string list;
    for (const std::string& item : block.items) {
      list += (list.empty() ? "- " : "\n- ") + line(item);
    }
    add(list);
  }
  void operator()(const Table& block) {
    std::string table;
    std::string rule;
    for (const Table::Column& column : block.columns) {
      table += "| " + markdown_text(column.title) + " ";
      rule += column.align == Table::Align::number ? "| ---: " : "| :--- ";
    }
    table += "|\n" + rule + "|";
    for (const auto& row : block.rows) {
      table += "\n";
      for (const std::string& cell : row) table += "| " + markdown_text(cell) + " ";
      table += "|";
    }
    add(table);
  }
  void operator()(const Figure& block) {
    const std::string path = stem_ + "-" + block.name + ".svg";
    add("![" + markdown_text(block.caption) + "](" +
        link_target(std::string_view(path).substr(path.find_last_of('/') + 1)) + ")");
    charts_.push_back({path, svg_file(block.charts)});
  }

  void add(const std::string& block) { text_ += (text_.empty() ? "" : "\n") + block + "\n"; }

  [[nodiscard]] std::vector<ReportFile> files(const std::string& path) && {
    std::vector<ReportFile> files = std::move(charts_);
    files.insert(files.begin(), {path, std::move(text_)});
    return files;
  }

 private:
  std::string stem_;
  std::string text_;
  std::vector<ReportFile> charts_;
};

}  // namespace

std::vector<ReportFile> markdown(const Document& document, const std::string& path) {
  MarkdownWriter writer(stem_of(path));
  writer.add("# " + line(document.title));
  for (const Block& block : document.blocks) std::visit(writer, block);
  return std::move(writer).files(path);
}

}  // namespace ddpx::report
