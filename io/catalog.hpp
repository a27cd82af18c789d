// Machines and links by name, for every program alike: what ships inside the programs, what the
// user calibrated on this host, and files. A name means the same thing wherever it is written:
// --machine, --link, or a row of a runs file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.hpp"

namespace ddpx::io {

// The machine used when none is named and none was calibrated here.
inline constexpr std::string_view kShippedMachine = "t4x2";

struct FoundMachine {
  Machine machine;
  std::string note;  // one sentence: which machine this is and where it came from
};

struct FoundLink {
  Link link;
  std::string note;  // what a family name resolved to; empty when the name was exact
};

// A machine by the path of its file (anything with a '/', ending in .json, or "-") or by name: the
// user's own machines first, so that recalibrating replaces a shipped one, then the shipped. Throws
// InputError at `place` for an unknown name, with the nearest and all accepted ones.
[[nodiscard]] Machine find_machine(const std::string& name_or_path,
                                   std::string_view place = "--machine");

// The GPU machine last calibrated on this host (user_machine_directory(), newest file first; CPU
// machines only when named), else the shipped one. A user's file that cannot be read is an
// InputError, not a silent change of machine.
[[nodiscard]] FoundMachine default_machine();

// Names of the shipped machines, then of the user's own.
[[nodiscard]] std::vector<std::string> machine_names();

// $XDG_DATA_HOME/ddpx/machines, by default ~/.local/share/ddpx/machines (XDG Base Directory
// Specification); nullopt where the environment names neither. ddpx-calibrate writes here.
[[nodiscard]] std::optional<std::string> user_machine_directory();

// `file` in the folder of that name beside the machines, which is made. InputError at `flag`, which
// names a file otherwise, where the environment says no place.
[[nodiscard]] std::string user_data_file(std::string_view flag, const std::string& folder,
                                         const std::string& file);

// The shipped table of interconnects, in its own order.
[[nodiscard]] std::vector<Link> interconnects();
[[nodiscard]] std::vector<std::string> interconnect_names();

// A link by name: the machine's own measured links first, then the table. A bare family name means
// the generation of the machine's GPU and the note says so: nvlink and pcie by
// device.nvlink_generation and device.pcie_generation; infiniband (or ib), roce, efa and tcp (or
// ethernet), which no GPU decides, are the first of their family in the table. Throws InputError at
// `place` for an unknown name, with the nearest and all accepted.
[[nodiscard]] FoundLink find_link(std::string_view name, const Machine& machine,
                                  std::string_view place = "--link");

}  // namespace ddpx::io
