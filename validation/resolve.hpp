// The machine, links and networks that runs files name, found once each. Files and tables are read
// here; compare() sees values.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "model/network.hpp"
#include "validation/options.hpp"
#include "validation/run.hpp"

namespace ddpx {

struct ResolvedMachine {
  Machine machine;
  std::string note;  // which machine it is when the command line did not say
};

// --machine, else the one that the runs name in their context ("machine"), else the default.
// InputError when files name different ones.
[[nodiscard]] ResolvedMachine resolve_machine(const ValidateOptions& options,
                                              std::span<const Runs> files);

// Finds the links and networks of rows, remembering them by name.
class RowResolver {
 public:
  // `files` in the order of options.measured; they and `machine` must outlive this.
  RowResolver(const ValidateOptions& options, std::span<const Runs> files, const Machine& machine);

  [[nodiscard]] const Network& network_of(const RunRow& row);
  // As the row ran on it: without NVLS where its context says NCCL_NVLS_ENABLE=0.
  [[nodiscard]] Link link_of(const RunRow& row);

  // Every link found, by name.
  [[nodiscard]] std::vector<Link> links() const;
  // What family names resolved to.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // Throws InputError for a --link that no row ran on: it could not change the answer.
  void check_overrides_used() const;

 private:
  [[nodiscard]] const Link& named_link(const RunRow& row);
  // "runs.json: rows[3].link"
  [[nodiscard]] std::string place_of(const RunRow& row, std::string_view member) const;
  [[nodiscard]] std::string folder_of(const RunRow& row) const;
  [[nodiscard]] std::size_t file_of(const RunRow& row) const;

  const ValidateOptions& options_;
  std::span<const Runs> files_;
  const Machine& machine_;
  std::map<std::string, Link> overrides_;
  std::map<std::string, Link> links_;
  std::map<std::string, Network> networks_;
  std::vector<std::string> notes_;
};

}  // namespace ddpx
