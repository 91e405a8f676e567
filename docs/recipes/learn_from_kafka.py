"""Learn from a Kafka topic, each message exactly once: learn_from_kafka.py SERVERS TOPIC MODEL [PARTITION ...]."""

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

import scwlearn
from scwlearn.files import read

SETTINGS = {"group.id": "scwlearn", "enable.auto.commit": False, "auto.offset.reset": "error"}
INVALID = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


def learn(model, messages):
    """Learn from JSON messages in order, and return how many of them were malformed."""
    before, examples = model.counts.seen, []
    for message in messages:
        with suppress(*INVALID):
            record = json.loads(message.value())
            examples.append((record, record.pop("label")))
    try:
        model.learn_many([x for x, _ in examples], [y for _, y in examples])
    except INVALID:  # learn_many learns all or nothing, so leave out the invalid records one by one.
        for x, y in examples:
            with suppress(*INVALID):
                model.learn_one(x, y)
    return len(messages) - (model.counts.seen - before)


def learn_topic(servers, topic, path, partitions=(), *, batch=1000, save_seconds=10.0):
    """Learn from a topic until SIGINT or SIGTERM, from where the model file at `path` stopped."""
    model, notes = scwlearn.StreamClassifier("scw1", scale="rms"), {}
    if os.path.exists(path):
        saved = read(path)
        model, notes = saved.to_model(), saved.notes
    state = notes.setdefault("kafka", {"topic": topic, "offsets": {}, "skipped": 0})
    if state["topic"] != topic:
        sys.exit(f"{path} learns from the topic {state['topic']}; use another model file for {topic}")
    offsets, stop = state["offsets"], threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())

    consumer = Consumer({"bootstrap.servers": servers, **SETTINGS})
    partitions = partitions or sorted(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
    if not partitions:
        sys.exit(f"{servers}: no topic {topic}")
    consumer.assign([TopicPartition(topic, p, offsets.get(str(p), OFFSET_BEGINNING)) for p in partitions])

    def save():
        scwlearn.save(model, path, notes=notes)  # Model and offsets: both or, if it fails, neither.
        lag = 0
        for p in partitions:
            first, end = consumer.get_watermark_offsets(TopicPartition(topic, p), cached=True)
            lag += max(0, end - offsets.get(str(p), first))
        print(f"{model.counts.seen} learned, {state['skipped']} skipped, lag {lag}", flush=True)

    saved_at, changed = time.monotonic(), False
    while not stop.is_set():
        messages = consumer.consume(batch, timeout=1.0)
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
        if messages:
            state["skipped"] += learn(model, messages)
            offsets.update({str(message.partition()): message.offset() + 1 for message in messages})
            changed = True
        if changed and time.monotonic() - saved_at >= save_seconds:
            save()
            saved_at, changed = time.monotonic(), False
    save()
    consumer.close()


if __name__ == "__main__":
    learn_topic(*sys.argv[1:4], [int(partition) for partition in sys.argv[4:]])
