"""Limits of the number of threads."""

from threadpoolctl import threadpool_limits

from scwlearn._util.threads import allowed_threads, one_blas_thread


def test_the_limits_of_threadpoolctl_hold():
    with threadpool_limits(limits=1):
        assert allowed_threads() == 1


def test_nested_limits_of_blas_are_lifted_by_the_last_one():
    before = allowed_threads()
    with one_blas_thread():
        with one_blas_thread():
            assert allowed_threads() == before
        assert allowed_threads() == before
    assert allowed_threads() == before
