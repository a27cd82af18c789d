#include "profiler/cuda/preflight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpx::cuda {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

PreflightFacts sound() {
  PreflightFacts facts;
  facts.ranks = 2;
  facts.gpus_visible = 2;
  facts.shm_free_bytes = 8e9;
  facts.nccl_header = facts.nccl_library = 22809;
  facts.cuda_runtime = 13000;
  facts.cuda_driver = 13000;
  facts.loads.assign(2, GpuLoad{false, 0, 0, GpuMemory{141e9, 0.6e9}});
  facts.cores = 16;
  return facts;
}

Finding only(const PreflightFacts& facts) {
  const std::vector<Finding> findings = preflight(facts);
  EXPECT_THAT(findings, SizeIs(1));
  if (findings.empty()) return {};
  EXPECT_THAT(findings[0].line(), testing::Not(HasSubstr("\n")));
  return findings[0];
}

TEST(Preflight, a_sound_box_has_nothing_to_say) {
  EXPECT_THAT(preflight(sound()), IsEmpty());
  for (const Transport transport : {Transport::shared_memory, Transport::socket}) {
    PreflightFacts facts = sound();
    facts.transport = transport;
    EXPECT_THAT(preflight(facts), IsEmpty());
  }
}

TEST(Preflight, what_is_not_known_is_no_finding) {
  PreflightFacts facts;
  facts.gpus_visible = 1;
  facts.loads.resize(1);
  facts.transport = Transport::shared_memory;
  EXPECT_THAT(preflight(facts), IsEmpty());
}

TEST(Preflight, fewer_gpus_than_ranks_is_fatal_and_names_the_switch) {
  PreflightFacts facts = sound();
  facts.gpus_visible = 1;
  facts.visible_devices = "3";
  const Finding finding = only(facts);
  EXPECT_EQ(finding.severity, Severity::fatal);
  EXPECT_THAT(finding.line(), HasSubstr("1 visible for 2 ranks, CUDA_VISIBLE_DEVICES=3"));
  EXPECT_THAT(finding.line(), HasSubstr("--ranks 1"));
  facts.gpus_visible = 0;
  EXPECT_THAT(only(facts).remedy, HasSubstr("--gpus all"));
}

// NCCL's own words for the segment: "(size 9637888)". Two ranks with four channels do not fit
// Docker's 64 MB, with two they do.
TEST(Preflight, shared_memory_is_counted_as_nccl_names_it) {
  EXPECT_EQ(4194304 + 524288 + 4915200 + 4096, kShmBytesPerConnection);
  EXPECT_DOUBLE_EQ(shm_bytes_needed(2, 4), 8 * 9637888.0);
  EXPECT_GT(shm_bytes_needed(2, 4), 64 * 1048576.0);
  EXPECT_LT(shm_bytes_needed(2, 2), 64 * 1048576.0);
  EXPECT_DOUBLE_EQ(shm_bytes_needed(8, 2), 32 * 9637888.0);
  EXPECT_EQ(shm_bytes_needed(1, 2), 0);
}

TEST(Preflight, a_dev_shm_of_16_mb_is_fatal_for_the_shm_transport_alone) {
  PreflightFacts facts = sound();
  facts.cuda_driver = facts.cuda_runtime = 12040;
  facts.shm_free_bytes = 16 * 1048576.0;
  EXPECT_THAT(preflight(facts), IsEmpty());
  facts.transport = Transport::shared_memory;
  const Finding finding = only(facts);
  EXPECT_EQ(finding.severity, Severity::fatal);
  EXPECT_THAT(finding.line(), HasSubstr("17 MB free, NCCL takes up to 78 MB"));
  EXPECT_THAT(finding.line(), HasSubstr("--shm-size=1g"));
}

TEST(Preflight, a_dev_shm_that_holds_fewer_channels_or_a_driver_that_does_without_is_a_warning) {
  PreflightFacts facts = sound();
  facts.cuda_driver = facts.cuda_runtime = 12040;
  facts.transport = Transport::shared_memory;
  facts.shm_free_bytes = 64 * 1048576.0;
  EXPECT_EQ(only(facts).severity, Severity::warning);
  facts.channels = 2;
  EXPECT_THAT(preflight(facts), IsEmpty());
  facts = sound();  // CUDA 13
  facts.transport = Transport::shared_memory;
  facts.shm_free_bytes = 0;
  EXPECT_EQ(only(facts).severity, Severity::warning);
}

TEST(Preflight, versions_that_differ_are_named) {
  PreflightFacts facts = sound();
  facts.nccl_library = 22105;
  EXPECT_EQ(only(facts).severity, Severity::warning);
  EXPECT_THAT(only(facts).line(), HasSubstr("older"));
  EXPECT_THAT(only(facts).line(), HasSubstr("loaded 2.21.5, built with 2.28.9"));
  facts = sound();
  facts.nccl_library = 23007;
  EXPECT_THAT(only(facts).line(), HasSubstr("loaded 2.30.7"));
  facts = sound();
  facts.cuda_driver = 12040;
  EXPECT_EQ(only(facts).severity, Severity::fatal);
  EXPECT_THAT(only(facts).line(), HasSubstr("driver for CUDA 12.4, program of CUDA 13.0"));
  facts.cuda_runtime = 12080;
  EXPECT_EQ(only(facts).severity, Severity::warning);
}

TEST(Preflight, mig_stops_two_ranks_and_marks_one) {
  PreflightFacts facts = sound();
  facts.loads[1].mig = true;
  EXPECT_EQ(only(facts).severity, Severity::fatal);
  EXPECT_THAT(only(facts).line(), HasSubstr("GPU 1"));
  facts.ranks = 1;
  EXPECT_EQ(only(facts).severity, Severity::warning);
}

TEST(Preflight, a_gpu_in_use_is_named_with_what_shows_it) {
  PreflightFacts facts = sound();
  facts.loads[1].processes = 1;
  facts.loads[1].utilization_percent = 97;
  EXPECT_THAT(only(facts).line(), HasSubstr("GPU 1: 1 process, 97 % busy"));
  facts = sound();
  facts.loads[0].memory->used_bytes = 40e9;  // a container hides the process
  EXPECT_THAT(only(facts).line(), HasSubstr("GPU 0: 40000 MB in use"));
}

TEST(Preflight, blocked_p2p_matters_where_p2p_was_meant) {
  PreflightFacts facts = sound();
  facts.blocked_pairs = {{0, 1, "the chipset does not support it"}, {0, 2, "x"}};
  EXPECT_THAT(only(facts).line(), HasSubstr("GPUs 0 and 1: the chipset does not support it"));
  EXPECT_THAT(only(facts).line(), HasSubstr("(and 1 more pair)"));
  facts.transport = Transport::shared_memory;
  EXPECT_THAT(preflight(facts), IsEmpty());
}

TEST(Preflight, ranks_on_one_core_and_nvls_are_warnings_after_what_is_fatal) {
  PreflightFacts facts = sound();
  facts.cores = 1;
  facts.nvls = true;
  facts.gpus_visible = 0;
  const std::vector<Finding> findings = preflight(facts);
  ASSERT_THAT(findings, SizeIs(3));
  EXPECT_EQ(findings[0].severity, Severity::fatal);
  EXPECT_THAT(findings[1].line(), HasSubstr("1 core allowed for 2 ranks"));
  EXPECT_THAT(findings[2].line(), HasSubstr("NVLS"));
}

TEST(Preflight, the_operating_systems_facts_are_there) {
  EXPECT_GT(allowed_cores().value(), 0);
  EXPECT_GE(free_bytes("/tmp").value(), 0);
  EXPECT_EQ(free_bytes("/no/such/folder"), std::nullopt);
}

}  // namespace
}  // namespace ddpx::cuda
