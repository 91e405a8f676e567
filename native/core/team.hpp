// Threads that share the parts of one task after another.
#pragma once

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
        work_ = nullptr;
        begin();
        for (std::thread& thread : others_) thread.join();
    }

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Whether there are no other threads.
    bool is_alone() const noexcept { return others_.empty(); }

    // The number of threads, the calling one included.
    int size() const noexcept { return static_cast<int>(others_.size()) + 1; }

    // Calls work(part) for each part from 0 to parts - 1, in this order, on whichever thread is free. After an exception no
    // further part begins, and it is thrown once all threads are done.
    template <class Work>
    void share(std::int64_t parts, const Work& work) {
        start(parts, work);
        finish();
    }

    // Starts the other threads. The work must stay alive, and nothing else may be started, until `finish` returns.
    template <class Work>
    void start(std::int64_t parts, const Work& work) {
        next_.store(0, std::memory_order_relaxed);
        parts_ = parts;
        work_ = &work;
        call_ = [](const void* what, std::int64_t part) { (*static_cast<const Work*>(what))(part); };
        if (others_.empty()) return;
        busy_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
        begin();
    }

    // Takes part in what was started until it is done.
    void finish() {
        take_parts();
        if (!others_.empty()) wait_while(busy_, [](int busy) { return busy != 0; });
        if (failed_.test()) {
            failed_.clear();
            std::rethrow_exception(std::exchange(error_, nullptr));
        }
    }

private:
    void begin() {
        round_.fetch_add(1);
        round_.notify_all();
    }

    void follow() {
        for (std::uint64_t seen = 0;; ++seen) {
            wait_while(round_, [seen](std::uint64_t round) { return round == seen; });
            if (work_ == nullptr) return;
            take_parts();
            if (busy_.fetch_sub(1) == 1) busy_.notify_one();
        }
    }

    // Sleeping and waking up takes longer than most tasks, so wait actively for a while, but yield the processor.
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

    void take_parts() noexcept {
        try {
            for (std::int64_t part = next_.fetch_add(1); part < parts_; part = next_.fetch_add(1)) call_(work_, part);
        } catch (...) {
            next_.store(parts_);
            if (!failed_.test_and_set()) error_ = std::current_exception();
        }
    }

    std::vector<std::thread> others_;
    std::atomic<std::uint64_t> round_{0};
    std::atomic<std::int64_t> next_{0};
    std::atomic<int> busy_{0};
    std::atomic_flag failed_;
    std::exception_ptr error_;  // of the first part that failed
    std::int64_t parts_ = 0;
    const void* work_ = nullptr;
    void (*call_)(const void*, std::int64_t) = nullptr;
};

}  // namespace scwlearn::SCWLEARN_SET
