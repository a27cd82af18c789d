// Runs a built program on a disk that is full or read-only: a small tmpfs over a folder, in a mount
// namespace of its own that goes with the program.
#pragma once

#include "tests/support/program.hpp"

namespace ddpx::test {

enum class Disk { full, read_only };

struct DiskResult {
  ProgramResult program;
  std::string left;  // names of what lies in the folder afterwards, a line each
};

inline std::string entering() { return ::geteuid() == 0 ? "unshare -m " : "unshare -rm "; }

// Whether this host lets us do that.
inline bool can_mount() {
  return std::system((entering() + "sh -c 'mount -t tmpfs none /mnt' 2>/dev/null").c_str()) == 0;
}

// `folder` holds one file, "filler", when the program starts.
inline DiskResult run_on(Disk disk, const std::string& folder, const std::string& name,
                         const std::vector<std::string>& arguments) {
  const std::string base = testing::TempDir() + "ddpx-disk-" + std::to_string(::getpid());
  const std::string where = shell_quoted(folder);
  std::string script =
      "mount -t tmpfs -o size=4k none " + where + " && echo x >" + where + "/filler || exit 99; ";
  if (disk == Disk::read_only) script += "mount -o remount,ro " + where + " || exit 99; ";
  script += "XDG_DATA_HOME=" + shell_quoted(base + ".data") + " " +
            shell_quoted(std::string(std::getenv("DDPX_BIN_DIR")) + "/" + name);
  for (const std::string& argument : arguments) script += " " + shell_quoted(argument);
  script += " >/dev/null 2>" + shell_quoted(base + ".err") + "; code=$?; ls -A " + where + " >" +
            shell_quoted(base + ".left") + "; exit $code";
  const int status = std::system((entering() + "sh -c " + shell_quoted(script)).c_str());
  DiskResult result;
  result.program.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.program.err = slurp(base + ".err");
  result.left = slurp(base + ".left");
  for (const char* ending : {".err", ".left"}) std::remove((base + ending).c_str());
  return result;
}

// The file named after "is kept in " in a message; it is the caller's to remove.
inline std::string kept_file(const std::string& message) {
  constexpr std::string_view kMark = "is kept in ";
  const std::size_t at = message.find(kMark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kMark.size();
  return message.substr(begin, message.find_first_of(" \n;", begin) - begin);
}

}  // namespace ddpx::test
