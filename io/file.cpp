#include "io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>

#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

constexpr std::size_t kLongestPlace = 400;

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

std::string read_all(int file, const std::string& name) {
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  std::string text;
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > kLargestFile) fail_too_large(name);
    text.reserve(size + kChunk);
  }
  for (;;) {
    const std::size_t had = text.size();
    text.resize(had + kChunk);
    const ssize_t got = ::read(file, text.data() + had, kChunk);
    const int error = errno;
    text.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) return text;
    if (got < 0 && error != EINTR) fail(name, "cannot be read", error);
    if (text.size() > kLargestFile) fail_too_large(name);
  }
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

void replace(const std::string& path, std::string_view text, std::optional<mode_t> permissions) {
  const std::string target = end_of_links(path);
  const std::string temporary = target + ".new-" + std::to_string(::getpid());
  // O_EXCL: never through something that already has this name.
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) fail(path, "cannot be written", errno);
  int error = 0;
  if (permissions && ::fchmod(file.get(), *permissions) != 0) error = errno;
  if (error == 0) error = write_all(file.get(), text);
  const int closing = file.close();
  if (error == 0) error = closing;
  if (error == 0 && std::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  fail(path, "cannot be written", error);
}

}  // namespace

std::string read_text(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, "cannot be read", errno);
  return read_all(file.get(), path);
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) fail("standard output", "cannot be written", errno);
    return;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail(path, "cannot be written", errno);
    if (::lstat(path.c_str(), &status) == 0) {
      fail(path,
           "is a symbolic link to a file that does not exist; remove it or name another file");
    }
    replace(path, text, std::nullopt);
  } else if (S_ISDIR(status.st_mode)) {
    fail(path, "is a directory; name a file");
  } else if (!S_ISREG(status.st_mode)) {
    write_in_place(path, text);
  } else if (::access(path.c_str(), W_OK) != 0) {
    fail(path, "cannot be written", errno);
  } else {
    replace(path, text, status.st_mode & 07777);
  }
}

}  // namespace ddpx::io
