// The lock of a model, as Python sees it.
#include "python/lock.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>
#if !defined(_WIN32)
#include <pthread.h>
#endif

#include "python/bindings.hpp"

using namespace nanobind::literals;

namespace scwlearn {

namespace {

PyThread_type_lock closed_gate() noexcept {
    const PyThread_type_lock gate = PyThread_allocate_lock();
    if (gate != nullptr) PyThread_acquire_lock(gate, NOWAIT_LOCK);
    return gate;
}

}  // namespace

Lock::Lock() : forks_(forks()), gate_(closed_gate()) {
    if (gate_ == nullptr) throw std::bad_alloc();
}

Lock::~Lock() { PyThread_free_lock(gate_); }

void Lock::count_forks() {
#if !defined(_WIN32)
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { fork_count_.fetch_add(1); }); });
#endif
}

void Lock::enter(bool changes) {
    while (!try_enter(changes)) {
        if (changes && is_learning_ && owner_ == PyThread_get_thread_ident()) refuse_reentry();
        // No other thread runs Python code again.
        if (is_finalizing()) forget_other_threads();
        if (is_broken_)
            throw std::runtime_error(
                "another thread was changing this model when this process was forked or began to exit, so that here it is "
                "half changed; fork or exit while no thread learns, or load or copy the model before");
        if (depth_ == 0 && !is_passed_) continue;
        if (!wait()) continue;
        take(PyThread_get_thread_ident(), changes);
        return;
    }
}

bool Lock::wait() {
    const std::uint64_t process = forks();
    ++waiting_;
    for (;;) {
        PyLockStatus status;
        {
            const ReleaseGil release_gil;
            status = PyThread_acquire_lock_timed(gate_, -1, 1);
        }
        if (status == PY_LOCK_ACQUIRED) {
            --waiting_;
            is_passed_ = false;
            return true;
        }
        // A handler of a signal may use the lock, fork this process, or both.
        const bool raised = python_code(PyErr_CheckSignals) != 0;
        if (process != forks()) {
            if (forks_ != forks()) forget_other_threads();
            if (raised) throw nb::python_error();
            return false;
        }
        if (!raised) continue;
        --waiting_;
        // No other thread is left to take it.
        if (is_passed_ && waiting_ == 0) is_passed_ = PyThread_acquire_lock(gate_, NOWAIT_LOCK) == 0;
        throw nb::python_error();
    }
}

void Lock::pass_on() noexcept {
    is_passed_ = true;
    PyThread_release_lock(gate_);
}

void Lock::forget_other_threads() noexcept {
    forks_ = forks();
    waiting_ = 0;
    is_passed_ = false;
    // The old one stays allocated: it may be in any state. Without memory, it is used as it is.
    if (const PyThread_type_lock gate = closed_gate(); gate != nullptr) gate_ = gate;
    if (depth_ == 0 || owner_ == PyThread_get_thread_ident()) return;
    is_broken_ |= changes_ > 0;
    depth_ = changes_ = 0;
    is_learning_ = false;
}

namespace {

constexpr const char* kNotEntered = "this thread does not have the lock";

// Leaves a block; Python code may try to leave one that it has not entered.
void leave_block(Lock& lock, bool changes) {
    if (!lock.is_entered(changes)) throw std::runtime_error(kNotEntered);
    lock.leave(changes);
}

// A block that has some locks, and changes what they guard or does not.
class Holding {
public:
    explicit Holding(const nb::list& locks) {
        for (const nb::handle lock : locks) add(lock);
        // In the same order everywhere, so that two threads never wait for each other.
        std::sort(locks_.begin(), locks_.end());
        locks_.erase(std::unique(locks_.begin(), locks_.end()), locks_.end());
    }
    Holding(nb::handle lock, bool changes) : changes_(changes) { add(lock); }

    void enter() const {
        std::size_t taken = 0;
        try {
            for (; taken < locks_.size(); ++taken) locks_[taken]->enter(changes_);
        } catch (...) {
            leave(taken);
            throw;
        }
    }
    void leave() const {
        for (std::size_t i = locks_.size(); i > 0; --i) leave_block(*locks_[i - 1], changes_);
    }

private:
    void add(nb::handle lock) {
        owners_.push_back(nb::borrow(lock));
        locks_.push_back(nb::cast<Lock*>(lock));
    }
    void leave(std::size_t count) const noexcept {
        while (count > 0) locks_[--count]->leave(changes_);
    }

    std::vector<nb::object> owners_;
    std::vector<Lock*> locks_;
    bool changes_ = false;
};

// A block in which user code may be called, within one that changes what a lock guards.
class Learning {
public:
    explicit Learning(nb::handle lock) : owner_(nb::borrow(lock)), lock_(nb::cast<Lock*>(lock)) {}

    void enter() const {
        if (!lock_->is_entered(true)) throw std::runtime_error(kNotEntered);
        if (lock_->is_learning()) refuse_reentry();
        lock_->is_learning() = true;
    }
    void leave() const noexcept { lock_->is_learning() = false; }

private:
    nb::object owner_;
    Lock* lock_;
};

// Replaces attributes of an object in one step, with the GIL: no other thread and no handler of a signal comes in between.
// Changes nothing unless those `expected` are the same objects. Retires the handles that are replaced.
bool replace_attributes(nb::dict attributes, const nb::dict& changes, const nb::dict& expected, const nb::tuple& handles) {
    const auto now = [&attributes](nb::handle name) {
        PyObject* const found = PyDict_GetItemWithError(attributes.ptr(), name.ptr());
        if (found == nullptr && PyErr_Occurred()) nb::raise_python_error();
        return found == nullptr ? Py_None : found;
    };
    for (const auto [name, value] : expected)
        if (now(name) != value.ptr()) return false;
    for (const nb::handle name : handles) {
        const nb::object handle = nb::borrow(now(name));
        if (!handle.is_none()) handle.attr("retire")();
    }
    if (PyDict_Update(attributes.ptr(), changes.ptr()) != 0) nb::raise_python_error();
    return true;
}

}  // namespace

void bind_lock(nb::module_& module) {
    Lock::count_forks();
    const char *const enter = "def __enter__(self) -> None", *const leave = "def __exit__(self, *error: object) -> None";
    // Python runs no handler of a signal between such a native `__enter__` and the block, nor between the block and
    // `__exit__`: no lock is lost.
    nb::class_<Lock>(module, "Lock",
                     "A re-entrant lock of what threads share. In a process that is forked while another thread has it, it "
                     "is free; but if that thread was in `with lock.changing`, it raises a RuntimeError.")
        .def(nb::init<>())
        .def("__enter__", [](Lock& lock) { lock.enter(false); }, nb::sig(enter))
        .def("__exit__", [](Lock& lock, const nb::args&) { leave_block(lock, false); }, nb::sig(leave))
        .def_prop_ro("changing", [](nb::handle_t<Lock> self) { return Holding(self, true); },
                     nb::sig("def changing(self) -> Holding"), "A block that takes the lock and changes what it guards.")
        .def_prop_ro("learning", [](nb::handle_t<Lock> self) { return Learning(self); },
                     nb::sig("def learning(self) -> Learning"),
                     "A block within `changing` in which code that is called, such as a rule or a number, may not change "
                     "what the lock guards: `changing` raises a RuntimeError.");
    nb::class_<Learning>(module, "Learning", "A block that calls user code.")
        .def("__enter__", &Learning::enter, nb::sig(enter))
        .def("__exit__", [](const Learning& block, const nb::args&) { block.leave(); }, nb::sig(leave));
    nb::class_<Holding>(module, "Holding", "A block that has some locks.")
        .def(nb::init<const nb::list&>(), "locks"_a, nb::sig("def __init__(self, locks: list[Lock]) -> None"))
        .def("__enter__", &Holding::enter, nb::sig(enter))
        .def("__exit__", [](const Holding& block, const nb::args&) { block.leave(); }, nb::sig(leave));
    module.def("replace_attributes", &replace_attributes, "attributes"_a, "changes"_a, "expected"_a, "handles"_a,
               nb::sig("def replace_attributes(attributes: dict, changes: dict, expected: dict, handles: tuple[str, ...]) "
                       "-> bool"),
               "Replace attributes of an object in one step: other threads, and handlers of signals, see all of it or "
               "nothing. Change nothing and return False unless those `expected` are the same objects. The `handles` that "
               "are there are retired.");
}

}  // namespace scwlearn
