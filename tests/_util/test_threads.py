"""Limits of the number of threads."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_info, threadpool_limits

from forks import forked, needs_fork
from scwlearn._native import MOST_THREADS
from scwlearn._util.threads import allowed_threads, job_threads, one_blas_thread, one_thread


def test_the_limits_of_threadpoolctl_hold():
    with threadpool_limits(limits=1):
        assert allowed_threads() == 1


def allowed_in_a_process(**variables):
    """Allowed threads, processors, and whether threadpoolctl is imported, with these limits in the environment."""
    code = (
        "import sys; from scwlearn._util.threads import allowed_threads, processors;"
        "print(allowed_threads(), processors(), 'threadpoolctl' in sys.modules)"
    )
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", f"import numpy; {code}"]
    done = subprocess.run(command, env=inherited | variables, capture_output=True, text=True, check=True)
    allowed, count, asked = done.stdout.split()
    return int(allowed), int(count), asked == "True"


def test_without_limits_all_processors_are_used_and_threadpoolctl_is_not_asked():
    allowed, count, asked = allowed_in_a_process()
    assert (allowed, asked) == (min(count, MOST_THREADS), False)


def test_the_limits_of_the_environment_hold():
    allowed, _, asked = allowed_in_a_process(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    assert (allowed, asked) == (1, True)


def test_nested_limits_of_blas_are_lifted_by_the_last_one():
    before = allowed_threads()
    with one_blas_thread():
        with one_blas_thread():
            assert allowed_threads() == before
        assert allowed_threads() == before
    assert allowed_threads() == before


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_any_thread_can_limit_blas_after_another_has():
    with one_blas_thread():
        pass
    before = blas_threads()

    def limited(_):
        with one_blas_thread():
            return blas_threads()

    with ThreadPoolExecutor(1) as pool:
        assert list(pool.map(limited, range(2))) == [{1}, {1}]
    assert blas_threads() == before
    with one_blas_thread():
        assert blas_threads() == {1}


def test_concurrent_blocks_keep_the_limit_until_the_last_one_ends():
    before, both, one_left = blas_threads(), Barrier(2), Barrier(2)

    def first():
        with one_thread():
            both.wait()
        one_left.wait()

    def second():
        with one_thread():
            both.wait()
            one_left.wait()
            return blas_threads(), allowed_threads()

    with ThreadPoolExecutor(2) as pool:
        pool.submit(first)
        assert pool.submit(second).result() == ({1}, 1)
    assert blas_threads() == before


@needs_fork
def test_a_forked_process_has_no_limits_of_other_threads():
    before, is_limited, may_end = (blas_threads(), allowed_threads()), Barrier(2), Barrier(2)

    def limited():
        with one_blas_thread():
            is_limited.wait()
            may_end.wait()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(limited)
        is_limited.wait()
        try:
            assert forked(lambda: (blas_threads(), allowed_threads()) == before)
        finally:
            may_end.wait()


def test_a_task_beside_others_has_one_thread_and_leaves_theirs():
    before = allowed_threads()
    with one_thread(), ThreadPoolExecutor(1) as pool:
        assert allowed_threads() == 1
        assert pool.submit(allowed_threads).result() == before
    assert allowed_threads() == before


def test_the_number_of_jobs_means_what_it_means_in_scikit_learn():
    cores = allowed_threads()
    assert [job_threads(n) for n in (None, 1, 3, -1, -2, -999)] == [1, 1, 3, cores, max(1, cores - 1), 1]
    with one_thread():
        assert job_threads(-1) == 1
