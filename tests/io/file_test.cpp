#include "io/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

namespace fs = std::filesystem;
using test::expect_input_error;

class File : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("ddpx_file_test_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

 private:
  fs::path folder_;
};

mode_t permissions(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(File, what_is_written_is_read_byte_for_byte) {
  std::string text("binary \0 and \r\n lines", 21);
  text += std::string(1'000'000, 'x');
  write_text(path("a"), text);
  EXPECT_EQ(read_text(path("a")), text);
  write_text(path("a"), "");
  EXPECT_EQ(read_text(path("a")), "");
  EXPECT_THAT(names(), testing::ElementsAre("a"));
}

TEST_F(File, an_existing_file_keeps_its_permissions_and_a_new_one_follows_the_umask) {
  write_text(path("private"), "1");
  ::chmod(path("private").c_str(), 0600);
  write_text(path("private"), "2");
  EXPECT_EQ(permissions(path("private")), 0600U);
  const mode_t umask = ::umask(027);
  write_text(path("new"), "1");
  ::umask(umask);
  EXPECT_EQ(permissions(path("new")), 0640U);
}

TEST_F(File, a_symbolic_link_stays_one_and_its_target_is_replaced) {
  write_text(path("target"), "old");
  fs::create_symlink("target", path("link"));
  write_text(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_text(path("target")), "new");
  fs::create_symlink("nowhere", path("dangling"));
  expect_input_error([&] { write_text(path("dangling"), "x"); }, {"dangling", "symbolic link"});
}

TEST_F(File, a_device_is_written_to_and_not_replaced) {
  EXPECT_NO_THROW(write_text("/dev/null", "gone"));
  struct stat status {};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(File, a_full_disk_is_reported) {
  expect_input_error([] { write_text("/dev/full", "some text"); },
                     {"/dev/full: cannot be written", "No space left on device"});
  expect_input_error([] { write_text("/dev/full", std::string(10'000'000, 'x')); }, {"/dev/full"});
}

TEST_F(File, a_failed_write_leaves_the_old_file_and_nothing_else) {
  write_text(path("kept"), "old");
  // write() past RLIMIT_FSIZE fails halfway, as on a full disk or over a quota.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_input_error([&] { write_text(path("kept"), std::string(100'000, 'x')); },
                     {"kept: cannot be written: File too large"});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_text(path("kept")), "old");
  EXPECT_THAT(names(), testing::ElementsAre("kept"));
}

TEST_F(File, what_cannot_be_read_is_named_with_the_systems_reason) {
  expect_input_error([&] { (void)read_text(path("missing.json")); },
                     {"missing.json: cannot be read: No such file or directory"});
  expect_input_error([&] { (void)read_text(path("")); }, {"Is a directory"});
  write_text(path("file"), "x");
  expect_input_error([&] { (void)read_text(path("file/below")); }, {"Not a directory"});
  expect_input_error([&] { (void)read_text(path("line\nbreak")); }, {"line\\nbreak"});
}

TEST_F(File, an_unreadable_or_unwritable_file_is_refused) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read and write everything";
  write_text(path("locked"), "x");
  ::chmod(path("locked").c_str(), 0000);
  expect_input_error([&] { (void)read_text(path("locked")); }, {"locked", "Permission denied"});
  ::chmod(path("locked").c_str(), 0444);
  expect_input_error([&] { write_text(path("locked"), "y"); }, {"locked", "Permission denied"});
}

TEST_F(File, a_place_that_cannot_be_written_is_named) {
  expect_input_error([&] { write_text(path("no/such/file"), "x"); },
                     {"no/such/file: cannot be written: No such file or directory"});
  expect_input_error([&] { write_text(path(""), "x"); }, {"is a directory; name a file"});
  expect_input_error([] { write_text("", "x"); }, {"cannot be written"});
  expect_input_error([&] { write_text(path(std::string(300, 'n')), "x"); }, {"File name too long"});
  EXPECT_THAT(names(), testing::IsEmpty());
}

TEST_F(File, a_gigabyte_is_refused_before_it_is_read) {
  write_text(path("huge.json"), "{");
  fs::resize_file(path("huge.json"), std::uintmax_t{1} << 30);  // sparse
  expect_input_error([&] { (void)read_text(path("huge.json")); },
                     {"huge.json: is larger than 256 MiB"});
}

TEST_F(File, an_endless_device_is_refused_at_the_limit) {
  expect_input_error([] { (void)read_text("/dev/zero"); }, {"/dev/zero: is larger than 256 MiB"});
  expect_input_error([] { (void)read_log("/dev/zero"); }, {"/dev/zero: is larger than 256 MiB"});
}

TEST_F(File, a_terabyte_without_a_line_is_no_log) {
  write_text(path("disk.img"), "");
  std::error_code too_large_here;
  fs::resize_file(path("disk.img"), std::uintmax_t{1} << 40, too_large_here);  // sparse
  if (too_large_here) fs::resize_file(path("disk.img"), std::uintmax_t{1} << 30);
  expect_input_error([&] { (void)read_log(path("disk.img")); },
                     {"disk.img: has no end of a line in its first 16 MiB"});
}

TEST_F(File, what_took_long_to_get_is_kept_in_the_temporary_directory_and_the_error_says_where) {
  ::setenv("TMPDIR", path("").c_str(), 1);
  expect_input_error([&] { write_or_keep("/dev/full", "hours of work"); },
                     {"/dev/full: cannot be written: No space left on device; what was measured is "
                      "kept in " +
                      path("") + "/ddpx-kept-"});
  ASSERT_EQ(names().size(), 1U);
  EXPECT_EQ(read_text(path(names().front())), "hours of work");
  ::setenv("TMPDIR", "/nowhere", 1);
  expect_input_error([&] { write_or_keep("/dev/full", "hours of work"); },
                     {"what was measured is lost"});
  ::unsetenv("TMPDIR");
  write_or_keep(path("fine"), "x");
  EXPECT_EQ(read_text(path("fine")), "x");
}

}  // namespace
}  // namespace ddpx::io
