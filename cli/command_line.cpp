#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

#include "io/nearest.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"
#include "text/page.hpp"

namespace ddpx {
namespace {

constexpr std::size_t kTextColumn = 26;  // where CLI11 puts what an option does

// Help on a page narrower than it was written for: what an option does stands below it, and lines
// that go on are joined before they are broken anew.
std::string narrowed(const std::string& help) {
  constexpr std::size_t kIndent = 6;
  std::string result;
  std::string held;
  std::size_t indent = 0;
  const auto flush = [&] {
    if (!held.empty()) result += wrapped(held, {.first = indent, .rest = indent});
    held.clear();
  };
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool option = begin == 2 && line[begin] == '-';
    const bool goes_on = !held.empty() && !line.empty() && !line.starts_with("Usage:") &&
                         (begin == 0 || begin == kTextColumn);
    if (!goes_on) flush();
    if (line.empty()) {
      result += "\n";
    } else if (option) {
      const std::size_t gap = std::min(line.find("  ", begin), line.size());
      result += wrapped(line.substr(0, gap), {.first = begin, .rest = begin + 2});
      indent = kIndent;
      held = line.substr(std::min(kTextColumn, line.size()));
      if (gap == line.size()) held.clear();
    } else {
      if (held.empty()) indent = begin == kTextColumn ? kIndent : begin;
      held += (held.empty() ? "" : " ") + line.substr(begin);
    }
  }
  flush();
  return result;
}

}  // namespace

struct CommandLine::Implementation {
  CLI::App app;
  std::vector<std::string> flags;
  bool help = false;
  bool version = false;

  Implementation(const char* program, const char* description, const char* footer)
      : app(description, program) {
    app.allow_extras();
    app.set_help_flag();  // ours stands in its group
    app.get_formatter()->column_width(kTextColumn);
    app.footer(std::string(footer) +
               "\n\nPages are as wide as the terminal, or as COLUMNS says: from " +
               std::to_string(kFewestColumns) + " to " + std::to_string(kColumns) + " columns.");
  }

  void refuse_extras() const {
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) return;
    const std::string& extra = extras.front();
    if (!extra.starts_with("-")) {
      throw InputError("command line",
                       "unexpected '" + io::one_line(extra) + "'; every value follows an option");
    }
    const std::string word = extra.substr(0, extra.find('='));
    throw InputError(io::one_line(word), "is no option; " + io::did_you_mean(word, flags));
  }

  // CLI11's groups stand two empty lines apart.
  [[nodiscard]] std::string help_text() const {
    std::string text = app.help();
    for (std::size_t at = text.find("\n\n\n"); at != std::string::npos;
         at = text.find("\n\n\n", at))
      text.erase(at, 1);
    return columns() < kColumns ? narrowed(text) : text;
  }

  // CLI11's message is "--flag: what is wrong" or a sentence.
  [[noreturn]] static void fail(const std::string& message) {
    std::string flag = message.substr(0, message.find_first_of(": "));
    if (!flag.starts_with("-")) flag.insert(0, "--");
    const auto has = [&](const char* words) { return message.find(words) != std::string::npos; };
    if (has("received")) throw InputError(flag, "takes one value and is given more than once");
    if (has("missing")) throw InputError(flag, "needs a value (--help lists them)");
    if (has("override")) throw InputError(flag, "is a switch and takes no value");
    throw InputError("command line", io::one_line(message) + " (--help lists all options)");
  }
};

CommandLine::CommandLine(const char* program, const char* description, const char* footer)
    : implementation_(std::make_unique<Implementation>(program, description, footer)) {}

CommandLine::~CommandLine() = default;

void CommandLine::one(const char* group, const char* flag, std::optional<std::string>& target,
                      const char* type, const char* help) {
  implementation_->app.add_option(flag, target, help)->group(group)->type_name(type);
  implementation_->flags.emplace_back(flag);
}

void CommandLine::many(const char* group, const char* flag, std::vector<std::string>& target,
                       const char* type, const char* help) {
  CLI::Option* option = implementation_->app.add_option(flag, target, help);
  option->group(group)->type_name(type)->expected(1)->allow_extra_args(false)->take_all();
  implementation_->flags.emplace_back(flag);
}

void CommandLine::flag(const char* group, const char* name, bool& target, const char* help) {
  implementation_->app.add_flag(name, target, help)->group(group)->disable_flag_override();
  implementation_->flags.emplace_back(name);
}

std::optional<std::string> CommandLine::parse(int argc, const char* const* argv,
                                              const char* last_group, const std::string& version) {
  Implementation& it = *implementation_;
  flag(last_group, "--version", it.version, "print version and git state");
  flag(last_group, "-h,--help", it.help, "print this");
  it.flags.back() = "--help";
  try {
    it.app.parse(argc,
                 const_cast<char**>(argv));  // NOLINT(*-const-cast): CLI11 2.1 does not write to it
  } catch (const CLI::ParseError& error) {
    Implementation::fail(error.what());
  }
  if (it.help) return it.help_text();
  if (it.version) return version;
  it.refuse_extras();
  return std::nullopt;
}

}  // namespace ddpx
