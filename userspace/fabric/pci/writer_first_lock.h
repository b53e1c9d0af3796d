// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <pthread.h>

namespace smartio::pci {

/// A shared lock in which a waiting writer keeps new readers out, so that it is not starved by them: a guest's
/// DMA_UNMAP waits for the copies that run, not for those that come after it. std::shared_mutex gives no such
/// promise. A thread that holds it shared must not take it shared again: a writer in between would stop both.
/// Satisfies SharedMutex as far as std::shared_lock and std::unique_lock need.
class WriterFirstLock {
 public:
  WriterFirstLock() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~WriterFirstLock() { pthread_rwlock_destroy(&lock_); }
  WriterFirstLock(const WriterFirstLock&) = delete;
  WriterFirstLock& operator=(const WriterFirstLock&) = delete;

  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_{};
};

}  // namespace smartio::pci
