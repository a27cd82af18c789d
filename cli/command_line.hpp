// The command line of every ddpx program: options in groups, one line for whatever is wrong, the
// nearest accepted word beside it. CLI11 stays behind this header; it costs seconds of compile time
// per file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ddpx {

class CommandLine {
 public:
  // `footer` follows the options: examples and exit codes.
  CommandLine(const char* program, const char* description, const char* footer);
  ~CommandLine();
  CommandLine(CommandLine&&) = delete;
  CommandLine& operator=(CommandLine&&) = delete;

  // An option with one value, given at most once.
  void one(const char* group, const char* flag, std::optional<std::string>& target,
           const char* type, const char* help);
  // An option with one value that may be repeated.
  void many(const char* group, const char* flag, std::vector<std::string>& target, const char* type,
            const char* help);
  void flag(const char* group, const char* name, bool& target, const char* help);

  // Fills the targets. Returns the text to print when only --help or --version was asked for (both
  // are added here, in `last_group`). Throws InputError naming the option and what is accepted.
  [[nodiscard]] std::optional<std::string> parse(int argc, const char* const* argv,
                                                 const char* last_group,
                                                 const std::string& version);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace ddpx
