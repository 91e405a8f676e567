// A re-entrant lock for models, which threads can wait for, signals can interrupt and processes can fork with.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "python/gil.hpp"

namespace scwlearn {

[[noreturn]] inline void refuse_reentry() {
    throw std::runtime_error(
        "this model was to be changed by code that it called while it learned: a rule, or a name or number of an example; "
        "until that is done, only predictions are allowed");
}

// Its fields change with the GIL only, so that taking a free lock is a comparison and two stores. The one that is passed
// to a waiting thread is not taken by another one in between: a copy waits for one call of a busy learner, not for a gap.
//
// In a forked process, and when Python exits, only one thread is left. A lock that another one held is free there; what
// it guards can no longer be used if that thread was changing it.
class Lock {
public:
    Lock();
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    // Takes the lock if no other thread has it; `changes` is whether what it guards will be changed, which no user code
    // may do that is called while it is.
    bool try_enter(bool changes) noexcept {
        if (forks_ != forks()) forget_other_threads();
        const unsigned long me = PyThread_get_thread_ident();
        if (depth_ > 0 ? owner_ != me || (changes && is_learning_) : is_passed_ || is_broken_) return false;
        take(me, changes);
        return true;
    }

    // Waits until no other thread has the lock. Raises what a handler of a signal raises, and a RuntimeError for changes by
    // user code that is called while this thread learns, and if what the lock guards has been left half changed.
    void enter(bool changes);

    // Set while what is guarded changes and user code may be called, by the thread that has the lock.
    bool& is_learning() noexcept { return is_learning_; }

    // Whether this thread is in a block; `changes` is whether it is one that changes what is guarded.
    bool is_entered(bool changes) const noexcept {
        return depth_ > 0 && owner_ == PyThread_get_thread_ident() && (changes ? changes_ > 0 : changes_ < depth_);
    }

    void leave(bool changes) noexcept {
        changes_ -= changes;
        if (--depth_ == 0 && waiting_ > 0) pass_on();
    }

private:
    friend void bind_lock(nb::module_& module);

    // How often this process and those that it was forked from have forked.
    static std::uint64_t forks() noexcept { return fork_count_.load(std::memory_order_relaxed); }
    static void count_forks();
    static inline std::atomic<std::uint64_t> fork_count_{0};

    void take(unsigned long thread, bool changes) noexcept {
        owner_ = thread;
        changes_ += changes;
        ++depth_;
    }
    void pass_on() noexcept;
    // Returns whether the lock was passed to this thread; false after a fork.
    bool wait();
    void forget_other_threads() noexcept;

    std::uint64_t forks_;  // of this process when the lock was last used
    unsigned long owner_ = 0;
    std::int64_t depth_ = 0;    // blocks that the owner is in
    std::int64_t changes_ = 0;  // those of them that change something
    std::int64_t waiting_ = 0;  // threads
    bool is_passed_ = false;    // to a waiting thread that has not noticed yet
    bool is_broken_ = false;
    bool is_learning_ = false;
    PyThread_type_lock gate_;  // closed, except for the thread that the lock is passed to
};

// A block in which user code may be called, such as a rule or a number: it must not change the model that changes.
class ReentrancyGuard {
public:
    explicit ReentrancyGuard(bool& is_learning) : is_learning_(is_learning) {
        if (is_learning) refuse_reentry();
        is_learning = true;
    }
    ~ReentrancyGuard() { is_learning_ = false; }
    ReentrancyGuard(const ReentrancyGuard&) = delete;
    ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

private:
    bool& is_learning_;
};

// Has the lock in a block, or not if another thread has it. Always has it if there is none.
class TakenLock {
public:
    explicit TakenLock(Lock* lock) noexcept : lock_(lock), is_taken_(lock == nullptr || lock->try_enter(true)) {}
    ~TakenLock() {
        if (lock_ != nullptr && is_taken_) lock_->leave(true);
    }
    TakenLock(const TakenLock&) = delete;
    TakenLock& operator=(const TakenLock&) = delete;

    explicit operator bool() const noexcept { return is_taken_; }

private:
    Lock* lock_;
    bool is_taken_;
};

}  // namespace scwlearn
