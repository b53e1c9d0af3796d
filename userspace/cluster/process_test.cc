// SPDX-License-Identifier: GPL-2.0
#include "cluster/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/files.h"
#include "base/scratch_folder.h"
#include "cluster/log_tail.h"
#include "cluster/state.h"

namespace smartio::cluster {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class Process : public ::testing::Test {
 protected:
  Command command(std::vector<std::string> argv) {
    return {.argv = std::move(argv), .folder = scratch_.path(), .output = "out.log"};
  }
  std::string output() { return read_file(scratch_.path() / "out.log").value_or(""); }
  ScratchFolder scratch_;
};

TEST_F(Process, RunsOnlyOnceReleased) {
  auto process = GatedProcess::fork(command({"sh", "-c", "pwd; echo error >&2"}));
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_TRUE(alive(process->id()));
  EXPECT_EQ(output(), "");
  ASSERT_TRUE(process->release());
  EXPECT_TRUE(wait_gone(process->id(), Deadline::in(20s)));
  EXPECT_EQ(output(), scratch_.path().string() + "\nerror\n");
}

TEST_F(Process, EndsByItselfWhenItIsNotReleased) {
  ProcessId id;
  {
    auto process = GatedProcess::fork(command({"sh", "-c", "echo ran"}));
    ASSERT_TRUE(process);
    id = process->id();
  }
  EXPECT_FALSE(alive(id));
  EXPECT_EQ(output(), "");
}

TEST_F(Process, AProgramThatIsNotThereIsAnError) {
  auto process = GatedProcess::fork(command({"/nonexistent/program"}));
  ASSERT_TRUE(process);
  const auto released = process->release();
  ASSERT_FALSE(released);
  EXPECT_THAT(released.error().message, HasSubstr("/nonexistent/program can't be run: No such file"));
}

TEST_F(Process, HasASessionOfItsOwn) {
  auto process = GatedProcess::fork(command({"sleep", "100"}));
  ASSERT_TRUE(process && process->release());
  EXPECT_EQ(::getsid(process->id().pid), process->id().pid);
  EXPECT_TRUE(end_process(process->id(), 10s));
}

TEST_F(Process, IsEndedEvenIfItIgnoresSigterm) {
  auto process = GatedProcess::fork(command({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"}));
  ASSERT_TRUE(process && process->release());
  const auto deadline = Deadline::in(20s);
  while (output() != "ready\n" && !deadline.passed()) std::this_thread::yield();
  EXPECT_TRUE(end_process(process->id(), 50ms));
  EXPECT_FALSE(alive(process->id()));
}

TEST_F(Process, AnotherProcessWithTheSameNumberIsLeftAlone) {
  auto process = GatedProcess::fork(command({"sleep", "100"}));
  ASSERT_TRUE(process && process->release());
  ProcessId recycled = process->id();
  ++recycled.start;
  EXPECT_FALSE(alive(recycled));
  EXPECT_FALSE(send_signal(recycled, SIGKILL));
  EXPECT_TRUE(end_process(recycled, 1s));
  EXPECT_TRUE(wait_gone(recycled, Deadline::in(1s)));
  EXPECT_TRUE(alive(process->id()));
  EXPECT_TRUE(end_process(process->id(), 10s));
}

TEST_F(Process, IdentifiesItself) {
  const auto self = identify(::getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(alive(*self));
  EXPECT_GE(running_seconds(*self), 0);
  EXPECT_LT(running_seconds(*self), 3600);
  EXPECT_FALSE(identify(0));
  EXPECT_FALSE(send_signal(ProcessId{}, SIGKILL));
  EXPECT_FALSE(alive(ProcessId{}));
  EXPECT_FALSE(wait_gone(*self, Deadline::in(1ms)));
}

TEST_F(Process, AZombieIsGone) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(identify(pid));
  ::waitpid(pid, nullptr, 0);
}

// As of one that was killed while its other threads are still ending: they hold its sockets.
TEST_F(Process, IsNotGoneWhileAThreadOfItRuns) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::thread([] { ::sleep(100); }).detach();
    ::syscall(SYS_exit, 0);
  }
  const auto id = identify(pid);
  ASSERT_TRUE(id);
  auto ended_first = [pid] {
    const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
    return stat && stat->contains(") Z ");
  };
  const auto deadline = Deadline::in(20s);
  while (!ended_first() && !deadline.passed()) std::this_thread::yield();
  ASSERT_TRUE(ended_first());
  EXPECT_TRUE(alive(*id));
  EXPECT_FALSE(wait_gone(*id, Deadline::in(1ms)));
  ASSERT_TRUE(send_signal(*id, SIGKILL));
  EXPECT_TRUE(wait_gone(*id, Deadline::in(20s)));
}

TEST(State, IsReadAsItWasWritten) {
  ScratchFolder scratch;
  StateFolder folder(scratch.path());
  ASSERT_TRUE(folder.load());
  EXPECT_FALSE(*folder.load());
  const State state{.topology_file = "/x/\"y\".toml",
                    .accel = "tcg",
                    .append = "a=b",
                    .with_fabric = false,
                    .fabric = ProcessId{.pid = 5, .start = 77},
                    .hosts = {{"a", {.pid = 6, .start = 1ULL << 40}}, {"b", {.pid = 7, .start = 9}}}};
  ASSERT_TRUE(folder.save(state));
  EXPECT_EQ(folder.load().value(), state);
  folder.forget();
  EXPECT_FALSE(*folder.load());
}

TEST(State, AFileThatIsNotOursIsRefused) {
  ScratchFolder scratch;
  StateFolder folder(scratch.path());
  for (const char* text : {"", "{", "[]", "{\"topology\": 3}"}) {
    ASSERT_TRUE(write_file(folder.file("cluster.json"), text));
    EXPECT_FALSE(folder.load()) << text;
  }
}

TEST(State, CleaningKeepsDrives) {
  ScratchFolder scratch;
  StateFolder folder(scratch.path());
  for (const char* name : {"drive0.img", "a.console.log", "fabric.log", "fabric.ready", "a.qmp.sock"}) {
    ASSERT_TRUE(write_file(folder.file(name), "x"));
  }
  folder.clean();
  EXPECT_TRUE(std::filesystem::exists(folder.file("drive0.img")));
  for (const char* name : {"a.console.log", "fabric.log", "fabric.ready", "a.qmp.sock"}) {
    EXPECT_FALSE(std::filesystem::exists(folder.file(name))) << name;
  }
}

TEST(State, OneCommandAtATime) {
  ScratchFolder scratch;
  StateFolder folder(scratch.path() / "new");
  {
    const auto first = folder.lock(Deadline::in(0s));
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(folder.lock_owner(), identify(::getpid()));
    const auto second = folder.lock(Deadline::in(1ms));
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr("held by another command"));
  }
  EXPECT_TRUE(folder.lock(Deadline::in(0s)));
}

TEST(LogTail, ShowsTheLastLinesWithoutControlCharacters) {
  EXPECT_EQ(last_lines_of("", 3), "");
  EXPECT_EQ(last_lines_of("one", 3), "one");
  EXPECT_EQ(last_lines_of("one\r\ntwo\r\nthree\r\n\r\n", 2), "two\nthree");
  EXPECT_EQ(last_lines_of("\x1b[2Jone\ntwo\n", 5), "[2Jone\ntwo");
  EXPECT_EQ(last_lines_of("a\nb\nc", 1), "c");
}

TEST(LogTail, KnowsHowFarABootCame) {
  EXPECT_THAT(boot_stage(""), HasSubstr("before its console said anything"));
  EXPECT_THAT(boot_stage("[ 0.1] usb"), HasSubstr("kernel and init"));
  EXPECT_THAT(boot_stage("READY a 3.2"), HasSubstr("agent doesn't answer"));
  EXPECT_THAT(boot_stage("Kernel panic - not syncing"), HasSubstr("panic"));
}

}  // namespace
}  // namespace smartio::cluster
