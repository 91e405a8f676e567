// Threads that share the parts of one task after another.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace scwlearn::SCWLEARN_SET {

// The threads live no longer than the team, so that a process can fork between two calls.
class Team {
public:
    // `threads` includes the calling thread.
    explicit Team(int threads) {
        if (threads > 1) others_.reserve(static_cast<std::size_t>(threads - 1));
        try {
            for (int i = 1; i < threads; ++i) others_.emplace_back([this] { follow(); });
        } catch (const std::exception&) {
            // The system has no more threads, or no memory for one: continue with those that exist.
        }
    }

    ~Team() {
        ticket_.store(kNoMoreTasks);
        ticket_.notify_all();
        for (std::thread& thread : others_) thread.join();
    }

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Whether there are no other threads.
    bool is_alone() const noexcept { return others_.empty(); }

    // The number of threads, the calling one included.
    int size() const noexcept { return static_cast<int>(others_.size()) + 1; }

    // Calls work(part) for each part from 0 to parts - 1, in this order, on whichever thread is free. After an exception no
    // further part begins; it is rethrown once the parts that have begun are finished.
    template <class Work>
    void share(std::int64_t parts, const Work& work) {
        start(parts, work);
        finish();
    }

    // Lets the other threads begin. The work must stay alive, and nothing else may be started, until `finish` returns.
    template <class Work>
    void start(std::int64_t parts, const Work& work) {
        parts_ = parts;
        work_ = &work;
        call_ = [](const void* what, std::int64_t part) { (*static_cast<const Work*>(what))(part); };
        unfinished_.store(parts, std::memory_order_relaxed);
        const std::uint64_t task = ticket_.load(std::memory_order_relaxed) / kTask + 1;
        ticket_.store(task % (kNoMoreTasks / kTask) * kTask + static_cast<std::uint64_t>(parts));
        if (!others_.empty()) ticket_.notify_all();
    }

    // Takes part in what was started until it is done. Waits for parts that others have begun, but not for threads that
    // are still asleep, which take long to wake up if all cores are busy.
    void finish() {
        take_parts();
        wait_while(unfinished_, [](std::int64_t unfinished) { return unfinished != 0; });
        if (failed_.test()) {
            failed_.clear();
            std::rethrow_exception(std::exchange(error_, nullptr));
        }
    }

private:
    // A ticket is the number of a task times kTask, plus how many of its parts have not begun.
    static constexpr std::uint64_t kTask = std::uint64_t{1} << 32;
    static constexpr std::uint64_t kNoMoreTasks = ~std::uint64_t{0} / kTask * kTask;

    static std::int64_t parts_left(std::uint64_t ticket) noexcept { return static_cast<std::int64_t>(ticket % kTask); }

    void follow() {
        for (;;) {
            wait_while(ticket_, [](std::uint64_t ticket) { return parts_left(ticket) == 0 && ticket != kNoMoreTasks; });
            if (ticket_.load() == kNoMoreTasks) return;
            take_parts();
        }
    }

    // Waking up takes longer than most tasks, so yield the processor for a while before sleeping.
    template <class Number, class Condition>
    static void wait_while(const std::atomic<Number>& value, const Condition& holds) {
        const auto patience = std::chrono::milliseconds(2);
        for (const auto began = std::chrono::steady_clock::now(); holds(value.load());) {
            if (std::chrono::steady_clock::now() - began < patience)
                std::this_thread::yield();
            else
                if (const Number now = value.load(); holds(now)) value.wait(now);
        }
    }

    // Takes up to `most` of the parts that have not begun; returns how many there were. The task of a part that was taken
    // stays as it is until the part is finished; that of a ticket alone may be over.
    std::int64_t take(std::int64_t most) noexcept {
        for (std::uint64_t ticket = ticket_.load();;) {
            const std::int64_t left = parts_left(ticket);
            if (left == 0) return 0;
            if (ticket_.compare_exchange_weak(ticket, ticket - static_cast<std::uint64_t>(std::min(most, left)))) return left;
        }
    }

    void take_parts() noexcept {
        for (std::int64_t left = take(1); left > 0; left = take(1)) {
            std::int64_t finished = 1;
            try {
                call_(work_, parts_ - left);
            } catch (...) {
                if (!failed_.test_and_set()) error_ = std::current_exception();
                finished += take(parts_);
            }
            if (unfinished_.fetch_sub(finished) == finished) unfinished_.notify_one();
        }
    }

    std::vector<std::thread> others_;
    std::atomic<std::uint64_t> ticket_{0};
    std::atomic<std::int64_t> unfinished_{0};
    std::atomic_flag failed_;
    std::exception_ptr error_;  // of the first part that failed
    std::int64_t parts_ = 0;
    const void* work_ = nullptr;
    void (*call_)(const void*, std::int64_t) = nullptr;
};

}  // namespace scwlearn::SCWLEARN_SET
