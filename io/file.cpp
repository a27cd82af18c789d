#include "io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "io/log_text.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

[[noreturn]] void fail(const std::string& path, std::string_view problem) {
  throw InputError(one_line(path, kLongestPlace), problem);
}

[[noreturn]] void fail(const std::string& path, std::string_view doing, int error) {
  fail(path, std::string(doing) + ": " + std::generic_category().message(error));
}

[[noreturn]] void fail_too_large(const std::string& name) {
  fail(name, "is larger than 256 MiB, which no ddpx file or log is; name another file");
}

// An open file. close() reports what the destructor, on the way out of a failure, must ignore.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return number_; }
  int close() {
    const int number = number_;
    number_ = -1;
    return number < 0 || ::close(number) == 0 ? 0 : errno;
  }

 private:
  int number_;
};

constexpr std::size_t kChunk = std::size_t{1} << 16;

// Appends the next piece; false at the end.
bool read_more(int file, const std::string& name, std::string& text) {
  for (;;) {
    const std::size_t had = text.size();
    text.resize(had + kChunk);
    const ssize_t got = ::read(file, text.data() + had, kChunk);
    const int error = errno;
    text.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got >= 0) return got > 0;
    if (error != EINTR) fail(name, "cannot be read", error);
  }
}

// Up to `most` bytes and the piece that passes it; the whole file where it is smaller.
std::string read_up_to(int file, const std::string& name, std::size_t most) {
  std::string text;
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))
    text.reserve(std::min(static_cast<std::size_t>(status.st_size), most) + kChunk);
  while (text.size() <= most && read_more(file, name, text)) {
  }
  return text;
}

std::string read_all(int file, const std::string& name) {
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::size_t>(status.st_size) > kLargestFile)
    fail_too_large(name);
  std::string text = read_up_to(file, name, kLargestFile);
  if (text.size() > kLargestFile) fail_too_large(name);
  refuse_wide_text(text, name);
  return text;
}

// It may never end.
bool is_device(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISCHR(status.st_mode);
}

bool begins_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

std::string read_filtered(int file, const std::string& name) {
  std::string text = read_up_to(file, name, kLargestLog);
  refuse_wide_text(text, name);
  if (text.size() <= kLargestLog) return text;
  if (begins_like_json(text) || is_device(file)) {
    while (text.size() <= kLargestFile && read_more(file, name, text)) {
    }
    if (text.size() > kLargestFile) fail_too_large(name);
    return text;
  }
  if (text.find('\n') == std::string::npos)
    fail(name, "has no end of a line in its first 16 MiB, so it is no log; name another file");
  LogFilter filter;
  do {
    filter.add(text);
    if (filter.kept() > kLargestFile) fail_too_large(name);
    text.clear();
  } while (read_more(file, name, text));
  return filter.take();
}

// 0, or the error that stopped it.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void write_in_place(const std::string& path, std::string_view text) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, "cannot be written", errno);
  int error = write_all(file.get(), text);
  const int closing = file.close();
  if (error == 0) error = closing;
  if (error != 0) fail(path, "cannot be written", error);
}

// Where a chain of symbolic links ends, so that replacing the file keeps the links.
std::string end_of_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> end(::realpath(path.c_str(), nullptr),
                                                        &std::free);
  return end ? std::string(end.get()) : path;
}

// A text written in full beside its target, not yet in its place.
class Staged {
 public:
  Staged(const std::string& path, std::string_view text, std::optional<mode_t> permissions)
      : path_(path),
        target_(end_of_links(path)),
        temporary_(target_ + ".new-" + std::to_string(::getpid())) {
    // O_EXCL: never through something that already has this name.
    Descriptor file(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0) fail(path, "cannot be written", errno);
    int error = 0;
    if (permissions && ::fchmod(file.get(), *permissions) != 0) error = errno;
    if (error == 0) error = write_all(file.get(), text);
    const int closing = file.close();
    if (error == 0) error = closing;
    if (error == 0) return;
    ::unlink(temporary_.c_str());
    fail(path, "cannot be written", error);
  }
  Staged(Staged&& other) noexcept
      : path_(std::move(other.path_)),
        target_(std::move(other.target_)),
        temporary_(std::exchange(other.temporary_, {})) {}
  Staged& operator=(Staged&&) = delete;
  ~Staged() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  void put_in_place() {
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0)
      fail(path_, "cannot be written", errno);
    temporary_.clear();
  }

 private:
  std::string path_;
  std::string target_;
  std::string temporary_;
};

// Ready to be put in place; nullopt for a device or a pipe, which has no place beside it.
std::optional<Staged> stage(const std::string& path, std::string_view text) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail(path, "cannot be written", errno);
    if (::lstat(path.c_str(), &status) == 0) {
      fail(path,
           "is a symbolic link to a file that does not exist; remove it or name another file");
    }
    return Staged(path, text, std::nullopt);
  }
  if (S_ISDIR(status.st_mode)) fail(path, "is a directory; name a file");
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  if (::access(path.c_str(), W_OK) != 0) fail(path, "cannot be written", errno);
  return Staged(path, text, status.st_mode & 07777);
}

}  // namespace

std::string shown_path(const std::string& path) {
  if (path.empty()) return "''";
  return path == "-" ? "standard input" : path;
}

std::string read_text(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, shown_path(path));
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(shown_path(path), "cannot be read", errno);
  return read_all(file.get(), path);
}

std::string read_log(const std::string& path) {
  if (path == "-") return read_filtered(STDIN_FILENO, shown_path(path));
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(shown_path(path), "cannot be read", errno);
  return read_filtered(file.get(), path);
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) fail("standard output", "cannot be written", errno);
    return;
  }
  if (std::optional<Staged> staged = stage(path, text)) {
    staged->put_in_place();
  } else {
    write_in_place(path, text);
  }
}

void write_or_keep(const std::string& path, std::string_view text) {
  std::string problem;
  try {
    write_text(path, text);
    return;
  } catch (const InputError& error) {
    problem = error.what();
  }
  const char* folder = std::getenv("TMPDIR");
  std::string kept =
      std::string(folder != nullptr && folder[0] == '/' ? folder : "/tmp") + "/ddpx-kept-XXXXXX";
  Descriptor file(::mkstemp(kept.data()));
  int error = file.get() < 0 ? errno : write_all(file.get(), text);
  const bool made = file.get() >= 0;
  const int closing = file.close();
  if (error == 0) error = closing;
  if (error != 0 && made) ::unlink(kept.c_str());
  const std::size_t colon = problem.find(": ");
  throw InputError(
      problem.substr(0, colon),
      problem.substr(colon + 2) +
          (error == 0 ? "; what was measured is kept in " + kept : "; what was measured is lost"));
}

void check_writable(std::string_view flag, const std::string& path) {
  if (path == "-") return;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const bool exists = std::filesystem::exists(path, error);
  const std::string target = exists ? path : folder.empty() ? "." : folder.string();
  const bool is_folder = std::filesystem::is_directory(path, error);
  if (!is_folder && ::access(target.c_str(), W_OK) == 0) return;
  throw InputError(flag, "'" + path + "' cannot be written: " +
                             std::generic_category().message(is_folder ? EISDIR : errno));
}

void write_texts(std::span<const NamedText> files) {
  std::vector<Staged> staged;
  std::vector<const NamedText*> rest;  // streams, devices, pipes
  for (const NamedText& file : files) {
    std::optional<Staged> one = file.path == "-" ? std::nullopt : stage(file.path, file.text);
    if (one) {
      staged.push_back(std::move(*one));
    } else {
      rest.push_back(&file);
    }
  }
  for (const NamedText* file : rest) write_text(file->path, file->text);
  for (Staged& one : staged) one.put_in_place();
}

bool same_file(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return false;
  struct stat first {};
  struct stat second {};
  if (::stat(a.c_str(), &first) != 0 || ::stat(b.c_str(), &second) != 0) return a == b;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace ddpx::io
