// The lock of a model, as Python sees it.
#include "python/lock.hpp"

#include <mutex>
#include <new>
#include <stdexcept>
#if !defined(_WIN32)
#include <pthread.h>
#endif

#include "python/bindings.hpp"

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
    for (;;) {
        if (try_enter(changes)) return;
        if (is_broken_)
            throw std::runtime_error(
                "another thread was changing this model when this process was forked, so that here it is half changed; "
                "fork while no thread learns, or load or copy the model before");
        if (!wait()) continue;
        take(PyThread_get_thread_ident(), changes);
        return;
    }
}

bool Lock::wait() {
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
        const bool raised = python_code(PyErr_CheckSignals) != 0;
        if (forks_ != forks())
            forget_other_threads();
        else if (raised)
            --waiting_;
        if (raised) {
            // No other thread is left to take it.
            if (is_passed_ && waiting_ == 0) is_passed_ = PyThread_acquire_lock(gate_, NOWAIT_LOCK) == 0;
            throw nb::python_error();
        }
        if (waiting_ == 0) return false;
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
}

namespace {

// A block in which something is changed.
struct Changing {
    nb::object owner;
    Lock* lock;
};

}  // namespace

void bind_lock(nb::module_& module) {
    Lock::count_forks();
    const char *const enter = "def __enter__(self) -> None", *const leave = "def __exit__(self, *error: object) -> None";
    nb::class_<Lock>(module, "Lock",
                     "A re-entrant lock of what threads share. In a process that is forked while another thread has it, it "
                     "is free; but if that thread was in `with lock.changing`, it raises a RuntimeError.")
        .def(nb::init<>())
        .def("__enter__", [](Lock& lock) { lock.enter(false); }, nb::sig(enter))
        .def("__exit__", [](Lock& lock, const nb::args&) { lock.leave(false); }, nb::sig(leave))
        .def_prop_ro("changing",
                     [](nb::handle_t<Lock> self) { return Changing{nb::borrow(self), nb::inst_ptr<Lock>(self)}; },
                     nb::sig("def changing(self) -> Changing"),
                     "A block that takes the lock and changes what it guards.");
    nb::class_<Changing>(module, "Changing", "A block in which something is changed that a `Lock` guards.")
        .def("__enter__", [](Changing& block) { block.lock->enter(true); }, nb::sig(enter))
        .def("__exit__", [](Changing& block, const nb::args&) { block.lock->leave(true); }, nb::sig(leave));
}

}  // namespace scwlearn
