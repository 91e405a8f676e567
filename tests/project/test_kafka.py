"""The Kafka recipe of the documentation learns each message exactly once, whenever it is killed.

The broker is librdkafka's mock cluster: it speaks Kafka's protocol on a local port, with 4 partitions per topic.
"""

import json
import random
import runpy
import signal
import subprocess
import sys
import threading
from itertools import count
from types import SimpleNamespace

import pytest

import scwlearn
from places import ROOT
from scwlearn import StreamClassifier
from scwlearn.files import read

kafka = pytest.importorskip("confluent_kafka")

RECIPE = ROOT / "docs" / "recipes" / "learn_from_kafka.py"
MALFORMED = {
    "not JSON": b"{",
    "not UTF-8": b'{"a": "\xff", "label": "spam"}',
    "empty": b"",
    "no value": None,
    "not an object": b"3",
    "a list": b'["label"]',
    "nested too deeply": b"[" * 200_000,
    "no label": b'{"a": 1}',
    "null as a label": b'{"a": 1, "label": null}',
    "an object as a label": b'{"a": 1, "label": {}}',
    "a label of another type": b'{"a": 1, "label": 3}',
    "not a number": b'{"a": NaN, "label": "spam"}',
    "a list of numbers": b'{"a": [1, 2], "label": "spam"}',
}
# Runs the recipe's function with other settings, and kills its process when `moment` comes for the nth time.
DRIVER = """
import json, os, runpy, signal, sys
import scwlearn
recipe, moment, nth, arguments, settings = json.loads(sys.argv[1])

def wrap(owner, name, before="", after=""):
    function = getattr(owner, name)
    def wrapped(*arguments, **keywords):
        reach(before)
        result = function(*arguments, **keywords)
        reach(after)
        return result
    setattr(owner, name, wrapped)

def reach(name):
    global nth
    if name == "learned" and moment == "announce":
        print("learned", flush=True)
    if name and name == moment:
        nth -= 1
        if not nth:
            os.kill(os.getpid(), signal.SIGKILL)

wrap(scwlearn.StreamClassifier, "learn_many", after="learned")
wrap(scwlearn, "save", before="before saving", after="saved")
wrap(os, "replace", before="written", after="replaced")
recipe = runpy.run_path(recipe)
recipe["SETTINGS"]["fetch.wait.max.ms"] = 10
recipe["learn_topic"](*arguments, **settings)
"""


class Topic:
    """A topic of the mock cluster, and the messages in it."""

    def __init__(self, producer, servers, name):
        self.producer, self.servers, self.name = producer, servers, name
        self.ids = count()
        #: Values by partition
        self.messages = {}

    def produce(self, number, partitions=(0,), *, malformed=()):
        """Append messages, each with a feature of its own, and invalid ones among them."""
        draw = random.Random(str(self.messages))
        invalid = dict(zip(draw.sample(range(number), len(malformed)), malformed, strict=True))
        for k in range(number):
            spam = draw.random() < 0.5
            words = draw.sample(["free", "offer", "now"] if spam else ["see", "you", "now"], 2)
            record = {"id": f"m{next(self.ids)}", "words": words, "size": draw.random()}
            value = json.dumps(record | {"label": "spam" if spam else "ham"}).encode()
            self.append(invalid.get(k, value), draw.choice(partitions))
        assert self.producer.flush(10) == 0

    def append(self, value, partition=0):
        self.producer.produce(self.name, value, partition=partition)
        self.messages.setdefault(partition, []).append(value)

    @property
    def ends(self):
        """The offset after the last message of each partition that has one."""
        return {str(partition): len(self.messages[partition]) for partition in sorted(self.messages)}


@pytest.fixture(scope="module")
def cluster():
    producer = kafka.Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1, "log_level": 0})
    brokers = producer.list_topics(timeout=10).brokers.values()
    return producer, ",".join(f"{broker.host}:{broker.port}" for broker in brokers)


@pytest.fixture
def topic(cluster, request):
    made = Topic(*cluster, "".join(c if c.isalnum() else "-" for c in request.node.name))
    cluster[0].list_topics(made.name, timeout=10)
    return made


class Run:
    """The recipe in a process, killed at the end of the block or after a minute, so that a lost message cannot hang."""

    def __init__(self, topic, path, partitions=(), *, moment="", nth=1, save_seconds=0.0, batch=10):
        settings = {"save_seconds": save_seconds, "batch": batch}
        task = [str(RECIPE), moment, nth, [topic.servers, topic.name, str(path), list(partitions)], settings]
        words = [sys.executable, "-c", DRIVER, json.dumps(task)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.timer = threading.Timer(60, self.process.kill)
        self.timer.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.timer.cancel()
        self.process.kill()
        self.process.communicate()

    def next_line(self):
        line = self.process.stdout.readline()
        assert line, f"the process ended: {self.process.stderr.read()}"
        return line

    def wait_for(self, number):
        """Read lines until this number of messages is learned or skipped."""
        while True:
            learned, skipped = (int(part.split()[0]) for part in self.next_line().split(",")[:2])
            assert learned + skipped <= number
            if learned + skipped == number:
                return

    def end(self, number=signal.SIGTERM):
        """Ask the process to end, and return the last line that it prints."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors
        return output.splitlines()[-1]


def simulated(topic, path, skipped):
    """Write the file of a model that learned the only partition of a topic, message by message."""
    model, (values,) = StreamClassifier("scw1", scale="rms"), topic.messages.values()
    for value in values:
        if value not in skipped:
            record = json.loads(value)
            model.learn_one(record, record.pop("label"))
    state = {"topic": topic.name, "offsets": topic.ends, "skipped": len(skipped)}
    scwlearn.save(model, path, notes={"kafka": state})
    return path.read_bytes()


@pytest.mark.slow
def test_each_message_is_learned_once_however_often_the_process_is_killed(topic, tmp_path):
    path, draw, kills = tmp_path / "model", random.Random(0), 10
    for _ in range(kills):
        topic.produce(300, partitions=(0, 1, 2))
        with Run(topic, path) as run:
            for _ in range(draw.randint(1, 20)):
                run.next_line()
            run.process.kill()
            assert run.process.wait() == -signal.SIGKILL
    with Run(topic, path) as run:
        run.wait_for(300 * kills)
        assert run.end() == "3000 learned, 0 skipped, lag 0"
    saved = read(path)
    assert saved.notes == {"kafka": {"topic": topic.name, "offsets": topic.ends, "skipped": 0}}
    model = saved.to_model()
    assert model.counts.seen == 3000
    # Each message has a feature of its own, so none was learned twice in place of another.
    assert {f"id=m{number}" for number in range(3000)} <= set(saved.learner.learner.names)


@pytest.mark.slow
def test_the_model_is_the_one_without_kills_bit_for_bit_whatever_the_moment_of_a_kill(topic, tmp_path):
    path, malformed = tmp_path / "model", (b"{", b'{"label": []}', b'{"a": NaN, "label": "ham"}')
    topic.produce(1000, malformed=malformed)
    for moment in ("learned", "before saving", "written", "replaced", "saved"):
        with Run(topic, path, [0], moment=moment, nth=7) as run:
            assert run.process.wait(60) == -signal.SIGKILL
    with Run(topic, path, [0]) as run:
        run.wait_for(1000)
        assert run.end() == "997 learned, 3 skipped, lag 0"
    assert path.read_bytes() == simulated(topic, tmp_path / "simulated", malformed)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_process_after_a_last_save(topic, tmp_path, number):
    path = tmp_path / "model"
    topic.produce(500)
    with Run(topic, path, moment="announce", save_seconds=3600.0) as run:
        for _ in range(3):
            assert run.next_line() == "learned\n"
        assert not path.exists()
        run.end(number)
    first = read(path)
    assert 30 <= first.learner.counts.seen == first.notes["kafka"]["offsets"]["0"] <= 500
    with Run(topic, path) as run:
        # A line only follows a save, and there is none before the last if nothing is left to learn.
        if first.learner.counts.seen < 500:
            run.wait_for(500)
        run.end()
    assert path.read_bytes() == simulated(topic, tmp_path / "simulated", ())


@pytest.mark.slow
def test_messages_that_the_broker_deleted_before_they_were_learned_end_the_process(topic, tmp_path):
    path = tmp_path / "model"
    topic.produce(20)
    with Run(topic, path) as run:
        run.wait_for(20)
        run.end()
    before = path.read_bytes()
    # The mock cluster keeps 5 MB of a partition.
    for _ in range(70):
        topic.append(b"x" * 100_000)
        assert topic.producer.flush(10) == 0
    with Run(topic, path) as run:
        _, errors = run.process.communicate(timeout=60)
        assert run.process.returncode == 1
    assert "_AUTO_OFFSET_RESET" in errors
    assert path.read_bytes() == before


@pytest.mark.slow
def test_a_paused_process_that_wakes_up_after_its_successor_spoils_nothing(topic, tmp_path):
    path = tmp_path / "model"
    topic.produce(100)
    with Run(topic, path) as paused:
        paused.wait_for(100)
        paused.process.send_signal(signal.SIGSTOP)
        topic.produce(100)
        with Run(topic, path) as successor:
            successor.wait_for(200)
            successor.end()
        expected = simulated(topic, tmp_path / "simulated", ())
        assert path.read_bytes() == expected
        paused.process.send_signal(signal.SIGCONT)
        paused.wait_for(200)
        paused.end()
    assert path.read_bytes() == expected


@pytest.mark.slow
@pytest.mark.usefixtures("quiet_blas")
def test_consumers_with_partitions_of_their_own_merge_to_one_model_of_the_topic(topic, tmp_path):
    paths = [tmp_path / "model-0", tmp_path / "model-1"]
    topic.produce(300, partitions=(0, 1, 2))
    shares = [(0, 1), (2,)]
    with Run(topic, paths[0], shares[0]) as one, Run(topic, paths[1], shares[1]) as other:
        for run, share in zip((one, other), shares, strict=True):
            run.wait_for(sum(topic.ends[str(partition)] for partition in share))
            run.end()
    assert {k: end for path in paths for k, end in read(path).notes["kafka"]["offsets"].items()} == topic.ends
    assert scwlearn.merge([scwlearn.load(path) for path in paths]).counts.seen == 300


def test_a_model_of_another_topic_and_a_missing_topic_are_refused(topic, tmp_path):
    path = tmp_path / "model"
    learn_topic = runpy.run_path(str(RECIPE))["learn_topic"]
    with pytest.raises(SystemExit, match="no topic missing"):
        learn_topic(topic.servers, "missing", path)
    state = {"topic": "mails", "offsets": {"0": 7}, "skipped": 0}
    scwlearn.save(StreamClassifier("scw1"), path, notes={"kafka": state})
    with pytest.raises(SystemExit, match="learns from the topic mails; use another model file"):
        learn_topic(topic.servers, topic.name, path)


@pytest.mark.parametrize("value", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_message_is_counted_and_its_neighbours_are_learned(value):
    learn = runpy.run_path(str(RECIPE))["learn"]
    model = StreamClassifier("scw1")
    values = [b'{"a": 1, "label": "ham"}', value, b'{"b": 1, "label": "spam"}']
    assert learn(model, [SimpleNamespace(value=lambda v=v: v) for v in values]) == 1
    assert (model.counts.seen, model.classes, model.n_features) == (2, ["ham", "spam"], 2)
